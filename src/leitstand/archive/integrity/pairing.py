"""Cuts two streams of ordered pages so that each pair of pieces covers the same range of keys."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from leitstand.archive.integrity.revision import Revision, RevisionPage


@dataclass(frozen=True, slots=True)
class Pair:
    """The same range of keys: its revisions, and the objects of the store."""

    page: RevisionPage
    objects: list[bytes]


async def paired(
    pages: AsyncIterator[RevisionPage], listing: AsyncIterator[list[bytes]]
) -> AsyncIterator[Pair]:
    """Both streams to their ends; holds one page of each.

    Nothing is assumed of the order beyond what Comparison checks of every piece.
    """
    revisions, objects = _Revisions(pages), _Objects(listing)
    while True:
        await revisions.fill()
        await objects.fill()
        if not revisions.keys or not objects.keys:
            break
        bound = min(revisions.keys[-1], objects.keys[-1])
        yield Pair(revisions.up_to(bound), objects.up_to(bound))
    while revisions.keys:
        yield Pair(revisions.take(len(revisions.keys)), [])
        await revisions.fill()
    while objects.keys:
        yield Pair(EMPTY, objects.take(len(objects.keys)))
        await objects.fill()


EMPTY = RevisionPage([], ())


class _Revisions:
    def __init__(self, pages: AsyncIterator[RevisionPage]) -> None:
        self._pages = pages
        self.keys: list[bytes] = []
        self._revisions: Sequence[Revision] = ()

    async def fill(self) -> None:
        while not self.keys:
            page = await anext(self._pages, None)
            if page is None:
                return
            self.keys, self._revisions = page.keys, page.revisions

    def up_to(self, bound: bytes) -> RevisionPage:
        # 0 only where the order is broken; then, too, the loop has to get on.
        return self.take(bisect_right(self.keys, bound) or len(self.keys))

    def take(self, cut: int) -> RevisionPage:
        taken = RevisionPage(self.keys[:cut], self._revisions[:cut])
        self.keys, self._revisions = self.keys[cut:], self._revisions[cut:]
        return taken


class _Objects:
    def __init__(self, listing: AsyncIterator[list[bytes]]) -> None:
        self._listing = listing
        self.keys: list[bytes] = []

    async def fill(self) -> None:
        while not self.keys:
            page = await anext(self._listing, None)
            if page is None:
                return
            self.keys = page

    def up_to(self, bound: bytes) -> list[bytes]:
        return self.take(bisect_right(self.keys, bound))

    def take(self, cut: int) -> list[bytes]:
        taken, self.keys = self.keys[:cut], self.keys[cut:]
        return taken
