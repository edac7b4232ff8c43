"""Reads one object whole and says what its SHA-256 is."""

from dataclasses import dataclass

from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.store import ObjectMissingError, ObjectUnreadableError, Store
from leitstand.archive.integrity.tree_hashing import RunningHash, Spend


@dataclass(frozen=True, slots=True)
class Hashed:
    """What reading one object gave: its SHA-256 and size, or why it could not be read."""

    revision: Revision
    actual: str | None
    size: int
    missing: bool = False
    error: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether the content is what the database says."""
        return self.actual is not None and self.actual == self.revision.checksum

    @classmethod
    def failed(cls, revision: Revision, size: int, error: ObjectUnreadableError) -> "Hashed":
        """An object that could not be read, or only ``size`` bytes of it."""
        missing = isinstance(error, ObjectMissingError)
        return cls(revision, None, size, missing=missing, error=error.message)


def hash_object(store: Store, revision: Revision, spend: Spend = lambda _: None) -> Hashed:
    """Read one object piece by piece; ``spend`` hears of each, and what it raises ends it."""
    running = RunningHash()
    try:
        running.take_in(store.read(revision.storage_key), spend)
    except ObjectUnreadableError as error:
        return Hashed.failed(revision, running.size, error)
    return Hashed(revision, running.hexdigest(), running.size)
