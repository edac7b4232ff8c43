"""Reads one object whole and says what its SHA-256 is."""

from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Handful:
    """What reading several objects gave: those that are right, each with its size, and the others.

    Nearly all are right in nearly all stores, so that there is no object for each of those.
    """

    right: list[Revision] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    wrong: list[Hashed] = field(default_factory=list)

    def __len__(self) -> int:
        """How many objects were read, or could not be."""
        return len(self.right) + len(self.wrong)

    @property
    def bytes_read(self) -> int:
        """Bytes of all of them."""
        return sum(self.sizes) + sum(hashed.size for hashed in self.wrong)

    def add(self, hashed: Hashed) -> None:
        """Put an object where it belongs."""
        if hashed.is_right:
            self.add_right(hashed.revision, hashed.size)
        else:
            self.wrong.append(hashed)

    def add_right(self, revision: Revision, size: int) -> None:
        """Add an object whose content is what the database says."""
        self.right.append(revision)
        self.sizes.append(size)


def hash_object(store: Store, revision: Revision, spend: Spend = lambda _: None) -> Hashed:
    """Read one object piece by piece; ``spend`` hears of each, and what it raises ends it."""
    running = RunningHash()
    try:
        running.take_in(store.read(revision.storage_key), spend)
    except ObjectUnreadableError as error:
        return Hashed.failed(revision, running.size, error)
    return Hashed(revision, running.hexdigest(), running.size)
