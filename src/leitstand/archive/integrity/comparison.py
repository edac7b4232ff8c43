"""Compares two ordered listings of keys page by page: what is in one only, what in the other.

The speed of reconciliation is decided here. Nearly all keys are in both listings, so stretches that
are equal are told by comparing lists, which Python does in C; a stretch with a difference is halved
until it is short, and there sets decide.
"""

from bisect import bisect_left
from itertools import islice
from operator import lt

from leitstand.errors import LeitstandError

SHORT = 64
"""Keys below which halving costs more than sets do."""


class KeyOrderError(LeitstandError):
    """A listing is not in byte order, so nothing that a merge says about it could be trusted."""

    code = "KEY_ORDER"


class Side:
    """One of the two listings: checks that its keys come in strictly ascending byte order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._last: bytes | None = None

    def check(self, keys: list[bytes]) -> None:
        """The next keys of the listing; raises KeyOrderError."""
        if not keys:
            return
        first_fits = self._last is None or self._last < keys[0]
        if not (first_fits and all(map(lt, keys, islice(keys, 1, None)))):
            raise KeyOrderError(
                f"{self.name} did not come in byte order of the keys",
                remedy="Reconciliation needs that order: report which database or store it is.",
            )
        self._last = keys[-1]


class Comparison:
    """Takes the same range of keys of both listings at a time, and tells them apart."""

    def __init__(self, left: str, right: str) -> None:
        self._left = Side(left)
        self._right = Side(right)

    def compare(self, left: list[bytes], right: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The keys that are only in ``left``, and those only in ``right``, both ordered.

        Ranges must follow one another from call to call. Raises KeyOrderError.
        """
        only_left: list[bytes] = []
        only_right: list[bytes] = []
        self._descend(left, right, only_left, only_right)
        return only_left, only_right

    def _descend(
        self,
        left: list[bytes],
        right: list[bytes],
        only_left: list[bytes],
        only_right: list[bytes],
    ) -> None:
        if left == right:
            self._left.check(left)
            self._right.check(right[:1] + right[-1:] if len(right) > 1 else right)
        elif len(left) <= SHORT or len(right) <= SHORT:
            self._left.check(left)
            self._right.check(right)
            in_left, in_right = set(left), set(right)
            only_left += [key for key in left if key not in in_right]
            only_right += [key for key in right if key not in in_left]
        else:
            middle = len(left) // 2
            cut = bisect_left(right, left[middle])
            self._descend(left[:middle], right[:cut], only_left, only_right)
            self._descend(left[middle:], right[cut:], only_left, only_right)
