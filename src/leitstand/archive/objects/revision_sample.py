"""Draws the objects that a drill compares from the application's table of revisions."""

import os
import random
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from leitstand.archive.integrity.settings import IntegritySettings
from leitstand.archive.objects.object_drill import KnownObject


@dataclass(frozen=True)
class RevisionSample:
    """Any of the revisions that have a checksum, each as likely as another.

    ``control`` is the connection string that stands for an empty ``objects.database_url``.
    """

    settings: IntegritySettings
    control: str = field(repr=False)

    async def sample(self, size: int) -> Sequence[KnownObject]:
        """See SampleSource. Goes once through the table; memory depends on ``size`` alone."""
        drawn: list[KnownObject] = []
        seen = 0
        async with (
            self.settings.open_table(self.control) as table,
            aclosing(table.pages(checksums=True)) as pages,
        ):
            async for page in pages:
                for revision in page.revisions:
                    if revision.checksum is None:
                        continue
                    place = seen if seen < size else random.randint(0, seen)  # noqa: S311 - no secret
                    seen += 1
                    if place < size:
                        known = KnownObject(os.fsdecode(revision.storage_key), revision.checksum)
                        drawn[place : place + 1] = [known]
        return drawn
