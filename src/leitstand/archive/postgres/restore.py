"""Restores a database: into a fresh directory, which takes the target's place when it is done.

Tablespaces go below ``<target>.tablespaces`` unless another directory is named for them: never into
the data directory, where PostgreSQL does not want them, and never where the original has them.
Configuration files that were kept go to ``<target>.config``: what becomes of them is for people.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import structlog

from leitstand.archive.atomic import take_over_all
from leitstand.archive.fresh_directory import fresh_directory
from leitstand.archive.postgres.config_files import (
    CONFIG_FILES,
    from_document,
    read_document,
    write_files,
)
from leitstand.archive.postgres.durable import sync_path, sync_tree
from leitstand.archive.postgres.materialise import (
    Materialised,
    Report,
    materialise,
    source_name,
    stages_upto,
)
from leitstand.archive.postgres.tablespace_home import laid_beside, new_place
from leitstand.archive.restore_call import restore_call
from leitstand.archive.restore_target import TargetRefusedError, checked_target
from leitstand.execution import Interruptions
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries
from leitstand.store.cluster import Cluster

KIND = "database"
TABLESPACES_SUFFIX = ".tablespaces"
CONFIG_SUFFIX = ".config"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Restore:
    """What to restore and where to. ``upto`` is ``full`` or an increment's id (default: newest).

    ``force`` replaces a target that is not empty. ``protected`` are directories that no restore may
    replace; that of the generation's repository and the working directory are always among them.
    """

    generation: Path
    target: Path
    log: Path
    force: bool = False
    upto: str | None = None
    tablespace_root: Path | None = None
    protected: tuple[Path, ...] = ()


def restore_database(
    restore: Restore, binaries: Binaries, account: Account, report: Report | None = None
) -> Materialised:
    """Restore, and write one line to the restore log however it ends.

    The target is refused (TargetRefusedError) before anything is run; on any failure and
    interruption it is byte for byte as it was, and nothing is left beside it. Old content is
    removed when the new has taken its place; from then on nothing interrupts. Raises what
    ``materialise`` raises, RestoreError, RestoreLogError.
    """
    name = restore.generation.name if restore.upto is None else _named(restore)
    with restore_call(restore.log, KIND, name, restore.target) as interruptions:
        return _restore(restore, binaries, account, report, interruptions)


def _named(restore: Restore) -> str:
    return f"{restore.generation.name}/{restore.upto}"


def _restore(
    restore: Restore,
    binaries: Binaries,
    account: Account,
    report: Report | None,
    interruptions: Interruptions,
) -> Materialised:
    stages = stages_upto(restore.generation, restore.upto)
    target = _checked(restore, binaries, account)
    spaces = _checked_tablespaces(restore, target, stages)
    config = _checked_config(restore, target, stages[-1])
    with ExitStack() as stack:
        room = stack.enter_context(fresh_directory(target))
        space_room = stack.enter_context(fresh_directory(spaces))
        # A directory that was named for them is new or empty: no old data leads into it.
        place = spaces if restore.tablespace_root else new_place(spaces)
        made = materialise(
            restore.generation,
            room / "data",
            binaries,
            account,
            space_room / "tablespaces",
            upto=restore.upto,
            tablespace_links=place,
            report=report,
            durable=True,
        )
        moves = [(room / "data", target)]
        if config is not None:
            config_room = stack.enter_context(fresh_directory(config))
            moves.append((_kept_config(stages[-1], config_room, account), config))
        _refuse_running(target, binaries, account)  # hours may have passed
        interruptions.no_return()
        if made.tablespaces:
            fresh = space_room / "tablespaces"
            named = restore.tablespace_root is not None
            moves[:0] = _first_tablespaces(fresh, place, account, stack, named=named)
        take_over_all(moves, replace=restore.force)
    log.info("database restored", source=made.source, target=str(target))
    return Materialised(
        data=target,
        tablespaces={oid: place / str(oid) for oid in made.tablespaces},
        recovery_point=made.recovery_point,
        source=source_name(restore.generation, stages),
        phases=made.phases,
        config=config,
    )


def _first_tablespaces(
    fresh: Path, place: Path, account: Account, stack: ExitStack, *, named: bool
) -> list[tuple[Path, Path]]:
    """They are there before the data directory that leads to them is: what is to be moved first."""
    account.own(fresh)
    sync_path(fresh)
    if named:
        return [(fresh, place)]
    stack.enter_context(laid_beside(fresh, place, account))
    return []


def _checked_config(restore: Restore, target: Path, last: Path) -> Path | None:
    """The directory for configuration files; None if the backup has none."""
    if not (last / CONFIG_FILES).exists():
        return None
    beside = target.with_name(target.name + CONFIG_SUFFIX)
    return checked_target(beside, force=restore.force, protected=(*_protected(restore), target))


def _kept_config(stage: Path, room: Path, account: Account) -> Path:
    """The files in a new directory; they were verified with the stage."""
    directory = room / "config"
    write_files(from_document(read_document(stage)), directory)
    account.own_tree(directory)
    sync_tree(directory)
    return directory


def _checked(restore: Restore, binaries: Binaries, account: Account) -> Path:
    protected = _protected(restore)
    target = checked_target(restore.target, force=restore.force, protected=protected)
    _refuse_running(target, binaries, account)
    return target


def _refuse_running(target: Path, binaries: Binaries, account: Account) -> None:
    if target.is_dir() and Cluster(target, binaries, account).running_pid() is not None:
        raise TargetRefusedError(
            f"a PostgreSQL server is running on {target}", remedy="Stop it, or restore elsewhere."
        )


def _protected(restore: Restore) -> Iterable[Path]:
    return (restore.generation.absolute().parent, Path.cwd(), *restore.protected)


def _checked_tablespaces(restore: Restore, target: Path, stages: list[Path]) -> Path:
    """The directory for tablespaces; only judged if the backup has any."""
    default = target.with_name(target.name + TABLESPACES_SUFFIX)
    chosen = restore.tablespace_root or default
    if not any(path.name[0].isdigit() for path in stages[-1].glob("*.tar.gz")):
        return default
    # Those of another directory may belong to anybody; --force speaks of the target.
    force = restore.force and restore.tablespace_root is None
    return checked_target(chosen, force=force, protected=(*_protected(restore), target))
