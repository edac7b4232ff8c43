"""Which directories of a backup directory are generations, and of a generation are stages.

Only real directories whose name is an id. A link may lead anywhere, so what it leads to is nobody's
backup: it is reported, never followed, never removed. The backup directory itself may be one.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.postgres.backup_id import is_backup_id, is_last_year
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.stage import FULL_DIR, INCREMENTAL_DIR, MANIFEST, SIDECAR
from leitstand.errors import NotFoundError


@dataclass(frozen=True)
class Stages:
    """The stages of one generation: directories in the order of the chain, the full one first.

    ``findings`` are what is missing, or stands in the place of a stage and is none.
    """

    paths: tuple[Path, ...]
    findings: tuple[Finding, ...]


def id_names(directory: Path) -> list[str]:
    """The names in ``directory`` that are ids, in order, whatever they name; raises OSError."""
    return sorted(name for name in os.listdir(directory) if is_backup_id(name))


def not_a_directory(path: Path, stage: str = "", what: str = "it") -> Finding | None:
    """Why ``path`` cannot be a generation or stage, as a finding about ``stage``; None if it can.

    The sentence speaks of ``what``. A directory that may not be entered is one all the same.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return Finding(stage, "", f"{what} does not exist", FindingKind.MISSING)
    except OSError as error:
        problem = f"{what} cannot be looked at: {error.strerror}"
        return Finding(stage, "", problem, FindingKind.UNREADABLE)
    if stat.S_ISDIR(mode):
        return None
    found = "a link, which is not followed" if stat.S_ISLNK(mode) else "no directory"
    return Finding(stage, "", f"{what} is {found}", FindingKind.UNREADABLE)


def generation_path(directory: Path, name: str) -> Path:
    """Where the generation called ``name`` lies; raises NotFoundError, also for a link."""
    path = directory / name
    if not is_backup_id(name):
        raise no_such_generation(directory, name)
    wrong = not_a_directory(path)
    if wrong is not None:
        raise no_such_generation(directory, name, wrong)
    return path


def no_such_generation(directory: Path, name: str, wrong: Finding | None = None) -> NotFoundError:
    """The error for a generation that does not exist, or whose name something else has."""
    message = f"there is no generation {name!r} in {directory}"
    if wrong is not None and wrong.kind is not FindingKind.MISSING:
        message += f": {wrong.problem}"
    return NotFoundError(message, remedy="leitstand backup postgres list shows those that exist.")


def stages_of(generation: Path) -> Stages:
    """The stages in ``generation``; nothing that lies there raises."""
    full = generation / FULL_DIR
    wrong = not_a_directory(full, FULL_DIR, "the full backup")
    increments = _increments(generation / INCREMENTAL_DIR)
    if wrong is None:
        return Stages((full, *increments.paths), increments.findings)
    return Stages(increments.paths, (wrong, *increments.findings))


def holds_backup(generation: Path) -> bool:
    """Whether ``generation`` is a directory with a full backup that was once complete.

    It may be damaged by now. What may not be looked into is taken for one.
    """
    return not os.path.islink(generation) and _was_complete(generation / FULL_DIR)


def ids_taken(directory: Path) -> list[str]:
    """The ids in ``directory`` that the next one has to follow; raises OSError.

    All of them, whatever lies there, but of the last year that an id can state only those of
    backups: behind an empty directory called so, there would soon be no id left for anybody.
    """
    taken = []
    for name in id_names(directory):
        if not is_last_year(name) or holds_backup(directory / name):
            taken.append(name)
        if not os.path.islink(directory / name):
            taken += _increment_ids_taken(directory / name / INCREMENTAL_DIR)
    return taken


def _increment_ids_taken(directory: Path) -> list[str]:
    try:
        names = [] if os.path.islink(directory) else id_names(directory)
    except OSError:
        return []
    return [name for name in names if not is_last_year(name) or _was_complete(directory / name)]


def _was_complete(stage: Path) -> bool:
    """PostgreSQL writes the manifest last, and Leitstand the record."""
    if os.path.islink(stage):
        return False
    try:
        names = os.listdir(stage)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return MANIFEST in names or SIDECAR in names


def _increments(directory: Path) -> Stages:
    wrong = not_a_directory(directory, INCREMENTAL_DIR, "the directory of the increments")
    if wrong is not None:
        return Stages((), () if wrong.kind is FindingKind.MISSING else (wrong,))
    try:
        names = id_names(directory)
    except OSError as error:
        problem = f"the directory cannot be listed: {error.strerror}"
        return Stages((), (Finding(INCREMENTAL_DIR, "", problem, FindingKind.UNREADABLE),))
    wrongs = [not_a_directory(directory / name, f"{INCREMENTAL_DIR}/{name}") for name in names]
    return Stages(
        paths=tuple(directory / name for name, w in zip(names, wrongs, strict=True) if w is None),
        findings=tuple(w for w in wrongs if w is not None),
    )
