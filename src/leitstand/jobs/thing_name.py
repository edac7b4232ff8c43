"""What jobs, groups and windows may be called: names that need no quotes anywhere."""

import re
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,99}")


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            "a name has 1 to 100 letters (a-z), digits and : . _ -, "
            "and begins with a letter or a digit"
        )
    return name


ThingName = Annotated[str, AfterValidator(_checked)]
