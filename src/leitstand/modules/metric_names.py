"""Keeps names of modules apart in the names of their metrics, where ``-`` becomes ``_``."""

from collections.abc import Iterable

from leitstand.errors import ConflictError

OURS = "scrape"
"""What stands in the place of a module's name in metrics about scraping modules."""


class AmbiguousModuleError(ConflictError):
    """Metrics of the module could have the names of another one's."""

    code = "MODULE_AMBIGUOUS"


def check_distinct(name: str, others: Iterable[str]) -> None:
    """Raise AmbiguousModuleError if metrics of the module could be called like those of another.

    Those of ``a`` and ``a-b`` could: ``b_c`` of the first is ``a_b_c``, and so is ``c`` of the
    second. ``others`` may hold ``name`` itself.
    """
    own = _beginning(name)
    for other in {*others, OURS} - {name}:
        theirs = _beginning(other)
        if own.startswith(theirs) or theirs.startswith(own):
            raise AmbiguousModuleError(
                f"metrics of {name} could be taken for those of {other}",
                remedy="Choose a name of which neither is the beginning of the other up to a '-'.",
            )
    if name == OURS:
        raise AmbiguousModuleError(f"{name} is taken for metrics about modules")


def _beginning(name: str) -> str:
    return name.replace("-", "_") + "_"
