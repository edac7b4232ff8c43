"""What a check of the installation came to."""

from dataclasses import dataclass
from typing import Any

from leitstand.errors import LeitstandError
from leitstand.masking import mask_url


@dataclass(frozen=True)
class Finding:
    """One check; ``problem`` and ``remedy`` are sentences, None where all is well."""

    name: str
    ok: bool
    problem: str | None = None
    remedy: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The finding's JSON shape."""
        return dict(vars(self))


def sound(name: str) -> Finding:
    """Nothing is wrong there."""
    return Finding(name, ok=True)


def wrong(name: str, problem: str, remedy: str | None) -> Finding:
    """Something is wrong there."""
    return Finding(name, ok=False, problem=problem, remedy=remedy)


def from_error(name: str, error: LeitstandError) -> Finding:
    """An error as a finding, with the password of any URL in it masked."""
    return wrong(name, mask_url(error.sentence), error.remedy)
