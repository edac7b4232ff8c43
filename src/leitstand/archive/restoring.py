"""Restores a generation by its name, as people ask for it."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.postgres.catalogue import list_generations, newest_of
from leitstand.archive.postgres.generation_lock import in_use
from leitstand.archive.postgres.layout import generation_path
from leitstand.archive.postgres.materialise import Materialised, Report
from leitstand.archive.postgres.restore import KIND, Restore, restore_database
from leitstand.archive.restore_log import logged_restore
from leitstand.archive.settings import ArchiveSettings, no_generation
from leitstand.archive.verification import NEWEST
from leitstand.errors import LeitstandError
from leitstand.store.account import Account


@dataclass(frozen=True)
class RestoreRequest:
    """``generation`` is an id or ``newest``; ``upto`` ``full`` or an increment's id (all: None).

    ``protected`` are further directories that no restore may replace, whatever ``force`` says.
    """

    generation: str
    target: Path
    force: bool = False
    upto: str | None = None
    tablespace_root: Path | None = None
    protected: tuple[Path, ...] = ()


def restore_generation(
    request: RestoreRequest, archive: ArchiveSettings, owner: Account, report: Report | None = None
) -> Materialised:
    """Restore to ``request.target``, which then belongs to ``owner``; see ``restore_database``.

    Each call, whatever its end, adds one line to the restore log.
    """
    with ExitStack() as stack:
        try:
            programs = archive.server_programs(owner)
            chosen = _chosen(archive.directory, request.generation)
            generation = stack.enter_context(in_use(chosen))
        except LeitstandError:
            with logged_restore(archive.restore_log, KIND, request.generation, request.target):
                raise
        restore = Restore(
            generation=generation,
            target=request.target,
            log=archive.restore_log,
            force=request.force,
            upto=request.upto,
            tablespace_root=request.tablespace_root,
            protected=(*request.protected, archive.drill.directory),
        )
        return restore_database(restore, programs, owner, report)


def _chosen(directory: Path, name: str) -> Path:
    if name != NEWEST:
        return generation_path(directory, name)
    newest = newest_of(list_generations(directory))
    if newest is None:
        raise no_generation(directory)
    return newest.path
