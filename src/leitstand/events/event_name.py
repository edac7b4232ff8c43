"""What events may be called."""

import re
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._/-]{0,199}")


def checked_name(name: str) -> str:
    """The name; raises ValueError for one that no event can have."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            "an event's name has 1 to 200 letters (a-z), digits and : . _ / -, "
            "and begins with a letter or a digit"
        )
    return name


EventName = Annotated[str, AfterValidator(checked_name)]
