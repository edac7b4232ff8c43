"""PostgreSQL's configuration files that lie outside the data directory, in a backup and out of it.

Debian and Ubuntu keep them in ``/etc/postgresql``, so no base backup has them. They are kept beside
the archives in one file, ``config_files.json``, whose SHA-256 stands in the stage's record. A
restore writes them to a directory of their own: never over files that a running server may read.
"""

import base64
import hashlib
import json
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

import psycopg
import structlog

from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.regular_file import ArchiveUnreadableError, read_small
from leitstand.errors import LeitstandError

CONFIG_FILES = "config_files.json"
AUTO = "auto"
"""In the place of a path: the files that the server itself reads."""
FILE_LIMIT = 1 << 20
"""Bytes that one of them may have; Debian's longest has 30 KiB."""
DOCUMENT_LIMIT = 64 << 20
MOST = 200
DEFAULT_MODE = 0o640
"""Of files that the server handed over; it does not say which modes they have."""

_READ_BY_SERVER = """
WITH file AS (
    SELECT setting AS path FROM pg_settings WHERE name IN ('config_file', 'hba_file', 'ident_file')
    UNION SELECT sourcefile FROM pg_file_settings
    UNION SELECT file_name FROM pg_hba_file_rules
    UNION SELECT file_name FROM pg_ident_file_mappings
)
SELECT path, pg_read_binary_file(path) FROM file
WHERE path LIKE '/%%' AND NOT starts_with(path, current_setting('data_directory') || '/')
    AND (pg_stat_file(path, true)).size <= %(limit)s
ORDER BY path
LIMIT %(most)s
"""
"""With every file that another one includes. All this is for superusers, unless granted."""

log = structlog.get_logger(__name__)


class ConfigFilesError(LeitstandError):
    """``config_files.json`` is not what Leitstand wrote."""

    code = "BACKUP_CONFIG_FILES"


@dataclass(frozen=True)
class ConfigFile:
    """One file as it was: an absolute path, permissions, content."""

    path: str
    mode: int
    content: bytes

    def as_dict(self) -> dict[str, Any]:
        """Its shape in the document."""
        content = base64.b64encode(self.content).decode()
        return {"path": self.path, "mode": self.mode, "content": content}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """From the document; raises KeyError, TypeError, ValueError."""
        path = PurePosixPath(str(found["path"]))
        if not path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{path} is no absolute path")
        return cls(str(path), int(found["mode"]) & 0o777, base64.b64decode(found["content"]))


def collect(source: Source, wanted: Sequence[str]) -> list[ConfigFile]:
    """The files of ``wanted``: paths on this machine, and ``auto`` for what the server reads.

    Those that cannot be had are told in the log, and are no reason not to take the backup.
    """
    found = {file.path: file for file in (_local(path) for path in wanted if path != AUTO) if file}
    if AUTO in wanted:
        found = {file.path: file for file in _of_server(source)} | found
    return list(found.values())


def to_document(files: Iterable[ConfigFile]) -> str:
    """The text of ``config_files.json``."""
    return json.dumps({"files": [file.as_dict() for file in files]}, indent=1) + "\n"


def digest_of(document: bytes) -> str:
    """The SHA-256 (hex) that the record holds."""
    return hashlib.sha256(document).hexdigest()


def read_document(stage: Path) -> bytes:
    """The document of a stage; raises ArchiveMissingError, ArchiveUnreadableError."""
    return read_small(stage / CONFIG_FILES, DOCUMENT_LIMIT)


def from_document(document: bytes) -> list[ConfigFile]:
    """What the document holds; raises ConfigFilesError."""
    try:
        return [ConfigFile.from_dict(file) for file in json.loads(document)["files"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigFilesError(f"{CONFIG_FILES} cannot be read: {error}") from error


def write_files(files: Iterable[ConfigFile], directory: Path) -> None:
    """Write ``files`` to their paths below ``directory``, which is made; raises OSError."""
    directory.mkdir(mode=0o700)
    for file in files:
        path = directory / PurePosixPath(file.path).relative_to("/")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)


def _local(path: str) -> ConfigFile | None:
    try:
        content = read_small(Path(path), FILE_LIMIT)
        return ConfigFile(path, stat.S_IMODE(Path(path).stat().st_mode), content)
    except (ArchiveUnreadableError, OSError) as error:
        log.warning("configuration file not kept", path=path, problem=str(error))
        return None


def _of_server(source: Source) -> list[ConfigFile]:
    try:
        with source.connect(source.database) as connection:
            parameters = {"limit": FILE_LIMIT, "most": MOST}
            rows = connection.execute(_READ_BY_SERVER, parameters).fetchall()
    except (LeitstandError, psycopg.Error) as error:
        problem = getattr(error, "detail", None) or str(error).strip()
        log.info("configuration files not kept", problem=problem)
        return []
    return [
        ConfigFile(path, DEFAULT_MODE, content) for path, content in rows if content is not None
    ]
