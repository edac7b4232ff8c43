"""Keeps a generation from being removed while it is verified, drilled or restored.

Those who read share the lock of its directory, who removes has it alone. Where directories cannot
be locked nobody is kept from anything, and a reader of what is removed reports missing files.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leitstand.archive.directory_lock import (
    Hold,
    lock_directory,
    open_directory,
    still_there,
)
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.layout import no_such_generation
from leitstand.errors import ConflictError


class GenerationInUseError(ConflictError):
    """Somebody reads the generation, so it cannot be removed now."""

    code = "GENERATION_IN_USE"


@contextmanager
def in_use(generation: Path) -> Iterator[Path]:
    """Keep ``generation`` from being removed for the block, and give it back.

    Raises NotFoundError when it is gone or being removed. What cannot be opened (a link, closed to
    us) is not locked; who reads it finds out why.
    """
    with ExitStack() as stack:
        try:
            descriptor = open_directory(generation)
            stack.callback(os.close, descriptor)
        except FileNotFoundError:
            raise no_such_generation(generation.parent, generation.name) from None
        except OSError:
            descriptor = None
        if descriptor is not None:
            _share(descriptor, generation)
        yield generation


def _share(descriptor: int, generation: Path) -> None:
    if not (lock_directory(descriptor, Hold.SHARED) and still_there(descriptor, generation)):
        removed = Finding("", "", "it is being removed", FindingKind.UNEXPECTED)
        raise no_such_generation(generation.parent, generation.name, removed)


@contextmanager
def kept_from_readers(generation: Path) -> Iterator[None]:
    """Have ``generation`` alone for the block, to remove it.

    Never waits: raises GenerationInUseError while somebody reads it, OSError when it cannot be
    opened.
    """
    descriptor = open_directory(generation)
    try:
        if not lock_directory(descriptor, Hold.ALONE):
            raise GenerationInUseError(
                f"the generation {generation.name} is being verified, drilled or restored"
            )
        yield
    finally:
        os.close(descriptor)
