"""Goes once through all revisions, and puts those on the list that are to be read."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from leitstand.archive.integrity.choice import Choice
from leitstand.archive.integrity.revision import Revision, RevisionPage, Revisions
from leitstand.archive.integrity.scrub_ledger import ScrubLedger

LONGEST_KEY = 2_048
"""Bytes of a key whose state can be kept: longer ones do not fit into PostgreSQL's indexes."""


@dataclass
class Survey:
    """What was seen: how many objects can be checked, and how many cannot."""

    checkable: int = 0
    uncheckable: int = 0
    """Without a checksum in the database, or with a key that is too long."""

    def take_in(self, page: RevisionPage, state: Mapping[bytes, float], choice: Choice) -> None:
        """Offer a page's objects to the choice."""
        checkable = [revision for revision in page.revisions if _is_checkable(revision)]
        self.checkable += len(checkable)
        self.uncheckable += len(page.keys) - len(checkable)
        choice.offer(checkable, state)


def _is_checkable(revision: Revision) -> bool:
    return revision.checksum is not None and len(revision.storage_key) <= LONGEST_KEY


async def survey_objects(table: Revisions, ledger: ScrubLedger, choice: Choice) -> Survey:
    """Read table and state side by side; state of keys that are in no row any more is dropped."""
    survey = Survey()
    before: bytes | None = None
    async with aclosing(table.pages(checksums=True)) as pages:
        async for page in pages:
            state = await ledger.state(before, page.keys[-1])
            survey.take_in(page, state, choice)
            await _forget(ledger, state.keys() - set(page.keys))
            before = page.keys[-1]
    choice.survey_ends(survey.checkable)
    await _forget(ledger, set(await ledger.state(before, None)))
    return survey


async def _forget(ledger: ScrubLedger, keys: set[bytes]) -> None:
    if keys:
        await ledger.forget(sorted(keys))
