"""A snapshot as it stands in the repository, and how the ones of Leitstand are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leitstand.archive.objects.restic import Restic
from leitstand.errors import NotFoundError

HOST = "leitstand"
"""The host of all our snapshots, wherever they are taken: restic groups by it."""
TAG = "leitstand"
PARTIAL = "leitstand-partial"
"""Tag of a snapshot that lacks something; it never counts."""
NEWEST = ("newest", "latest")
SHOWN = 8
"""Characters of an id that people see; restic takes them for the whole."""


@dataclass(frozen=True)
class Snapshot:
    """One snapshot; ``original`` is its first id if its tags were changed since."""

    id: str
    taken_at: datetime
    paths: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    original: str | None = None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "Snapshot":
        """From one element of ``restic snapshots --json``."""
        return cls(
            id=document["id"],
            taken_at=datetime.fromisoformat(document["time"]).astimezone(UTC),
            paths=tuple(document.get("paths") or ()),
            tags=frozenset(document.get("tags") or ()),
            original=document.get("original"),
        )

    @property
    def is_ours(self) -> bool:
        """Whether Leitstand took it."""
        return TAG in self.tags

    @property
    def is_partial(self) -> bool:
        """Whether something was left out when it was taken."""
        return PARTIAL in self.tags


async def snapshots_in(restic: Restic) -> list[Snapshot]:
    """All snapshots, the oldest first; takes no lock."""
    listed = [Snapshot.parse(each) for each in await restic.look_up("snapshots")]
    return sorted(listed, key=lambda snapshot: (snapshot.taken_at, snapshot.id))


def chosen(snapshots: Sequence[Snapshot], choice: str) -> Snapshot:
    """The one that an id, the beginning of one, or ``newest`` means; raises NotFoundError.

    The newest is that of Leitstand's whole ones, or of all others where there is none.
    """
    if choice in NEWEST:
        whole = [each for each in snapshots if each.is_ours and not each.is_partial]
        if not snapshots:
            raise NotFoundError(
                "there is no snapshot in the repository",
                remedy="Take one: leitstand backup objects backup DIR",
            )
        return (whole or snapshots)[-1]
    found = [each for each in snapshots if choice and each.id.startswith(choice)]
    if len(found) != 1:
        problem = f"{len(found)} snapshots begin with" if found else "no snapshot begins with"
        raise NotFoundError(
            f"{problem} {choice!r}", remedy="leitstand backup objects list shows those that exist."
        )
    return found[0]
