"""Where a backup is taken from: a connection whose password is seen by nobody.

All connection data reach PostgreSQL's programs through their environment, never as arguments, which
every user of the machine can read.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from leitstand.address import conninfo_parts, secret_keywords
from leitstand.errors import LeitstandError, UnavailableError, UsageError
from leitstand.masking import mask_url

DEADLINE = 10.0
"""Seconds that the server may take to answer a question about itself."""

OLDEST_VERSION = 170000

_INHERITED = ("PATH", "LD_LIBRARY_PATH", "HOME")
_SUMMARY_GAPS = """
SELECT count(*) FROM (
    SELECT start_lsn, lag(end_lsn) OVER (ORDER BY start_lsn) AS reached
    FROM pg_available_wal_summaries() WHERE tli = %(timeline)s AND end_lsn > %(lsn)s::pg_lsn
) AS summary WHERE start_lsn > coalesce(reached, %(lsn)s::pg_lsn)
"""
_FACTS = """
SELECT current_setting('server_version_num')::int,
       current_setting('server_version'),
       (SELECT system_identifier::text FROM pg_control_system()),
       (SELECT timeline_id FROM pg_control_checkpoint()),
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
            ELSE pg_current_wal_lsn() END::text,
       coalesce(current_setting('summarize_wal', true), 'off') = 'on',
       (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),
       (SELECT min(slot_name) FROM pg_replication_slots
        WHERE slot_type = 'physical' AND starts_with(slot_name, 'leitstand_history_'))
"""

HISTORY_MARK = "leitstand_history_"
"""Prefix of a physical replication slot that reserves no WAL and that nobody streams from.

Slots are not part of a base backup, so a server that was restored has lost it: the one mark that
every restore removes. Time line and system identifier stay the same after a plain crash recovery,
and an increment across a restore would verify, combine and start, with wrong data.
"""


class SourceUnreachableError(UnavailableError):
    """The server to be backed up does not answer, or does not let us in."""

    code = "BACKUP_SOURCE_UNREACHABLE"


class SourceUnfitError(LeitstandError):
    """The server cannot be backed up as it is set up; the remedy says what to change."""

    code = "BACKUP_SOURCE_UNFIT"


@dataclass(frozen=True)
class ServerFacts:
    """What a server says about itself; ``lsn`` is where its WAL stands, as text.

    ``history`` names its present life: it changes when the server is restored; None before the
    first full backup.
    """

    version_num: int
    version: str
    system_identifier: str
    timeline: int
    lsn: str
    summarize_wal: bool
    may_replicate: bool
    history: str | None


@dataclass(frozen=True)
class Source:
    """A server, from a libpq URL or connection string; shows no secret in any of its texts.

    ``parameters`` are libpq's, without the password. What is missing comes from the environment
    (PGHOST, PGPASSFILE, a service file) as with every libpq program.
    """

    parameters: Mapping[str, str]
    password: str | None = field(default=None, repr=False)
    passfile: Path | None = None

    @classmethod
    def parse(cls, conninfo: str, passfile: Path | None = None) -> Self:
        """From a URL or ``key=value`` text; raises UsageError, without repeating the text."""
        found = conninfo_parts(conninfo)
        if found is None:
            raise UsageError(
                "the connection of the backup is not a PostgreSQL URL or connection string",
                remedy="Write backup.postgres.url like postgresql://user@host:5432/database.",
            )
        password = found.pop("password", None)
        for keyword in found:
            if keyword in secret_keywords():
                raise UsageError(
                    f"{keyword} cannot be handed to pg_basebackup without showing it to others",
                    remedy="Use a key without a passphrase, readable by Leitstand's user alone.",
                )
        return cls(found, password, passfile)

    def __str__(self) -> str:
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or "the local host"
        port = self.parameters.get("port", "5432")
        return f"PostgreSQL at {host}, port {port}"

    def environment(self) -> dict[str, str]:
        """The complete environment for a program that connects there; holds the password."""
        names = _environment_names()
        own = {names[k]: v for k, v in self.parameters.items() if k in names and k != "dbname"}
        if self.password is not None:
            own["PGPASSWORD"] = self.password
        if self.passfile is not None:
            own["PGPASSFILE"] = str(self.passfile)
        inherited = {k: v for k, v in os.environ.items() if k in _INHERITED or k.startswith("PG")}
        inherited.pop("PGDATABASE", None)
        return inherited | own | {"LC_ALL": "C", "PGAPPNAME": "leitstand backup"}

    def arguments(self) -> list[str]:
        """What has no environment variable (keepalives), as arguments; never a secret."""
        names = _environment_names()
        rest = {k: v for k, v in self.parameters.items() if k not in names}
        return ["-d", make_conninfo("", **rest)] if rest else []

    def facts(self, deadline: float = DEADLINE) -> ServerFacts:
        """Ask the server about itself; raises SourceUnreachableError."""
        with self._connect(deadline) as connection:
            row = connection.execute(_FACTS).fetchone()
        assert row is not None  # noqa: S101 - a SELECT without FROM has one row
        return ServerFacts(*row)

    def mark_history(self, deadline: float = DEADLINE) -> str:
        """Give the server's present life a name that a restore takes away; see HISTORY_MARK.

        Raises SourceUnfitError when the server has no room for a further replication slot.
        """
        name = HISTORY_MARK + secrets.token_hex(8)
        with self._connect(deadline) as connection:
            try:
                connection.execute("SELECT pg_create_physical_replication_slot(%s)", (name,))
            except (
                psycopg.errors.ConfigurationLimitExceeded,
                psycopg.errors.ObjectNotInPrerequisiteState,
            ) as error:
                raise SourceUnfitError(
                    "the server has no room for the replication slot that marks its history",
                    detail=str(error).strip(),
                    remedy="Raise max_replication_slots by one (and keep wal_level at replica).",
                ) from None
        return name

    def summaries_missing(self, timeline: int, lsn: str, deadline: float = DEADLINE) -> bool:
        """Whether WAL since ``lsn`` was left out of the summaries, or is not in them any more.

        False also when there are none at all yet: the server itself waits for the summariser.
        """
        with self._connect(deadline) as connection:
            row = connection.execute(_SUMMARY_GAPS, {"timeline": timeline, "lsn": lsn}).fetchone()
        return row is not None and row[0] > 0

    @property
    def database(self) -> str:
        """The database that an ordinary connection goes to."""
        return self.parameters.get("dbname") or os.environ.get("PGDATABASE") or "postgres"

    def connect(self, database: str, deadline: float = DEADLINE) -> "_Session":
        """A connection to ``database`` as a context, each statement within ``deadline`` seconds.

        What PostgreSQL raises in it becomes SourceUnreachableError.
        """
        other = {**self.parameters, "dbname": database}
        return _Session(replace(self, parameters=other), deadline)

    def _connect(self, deadline: float) -> "_Session":
        return _Session(self, deadline)


class _Session:
    """A connection for a few questions, each of which has to be answered within the deadline."""

    def __init__(self, source: Source, deadline: float) -> None:
        self._source = source
        self._deadline = deadline
        self._connection: psycopg.Connection | None = None

    def __enter__(self) -> psycopg.Connection:
        try:
            self._connection = psycopg.connect(self._conninfo(), autocommit=True)
            milliseconds = int(self._deadline * 1000)
            self._connection.execute(f"SET statement_timeout = {milliseconds}".encode())
        except psycopg.Error as error:
            raise self._unreachable(error) from None  # its traceback could show the conninfo
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._connection is not None:
            self._connection.close()
        if isinstance(error, psycopg.Error):
            raise self._unreachable(error) from None

    def _conninfo(self) -> str:
        source, given = self._source, dict(self._source.parameters)
        given["dbname"] = source.database
        given.setdefault("connect_timeout", str(max(2, round(self._deadline))))
        given.setdefault("tcp_user_timeout", str(int(self._deadline * 1000)))
        if source.password is not None:
            given["password"] = source.password
        if source.passfile is not None:
            given["passfile"] = str(source.passfile)
        return make_conninfo("", **given)

    def _unreachable(self, error: psycopg.Error) -> SourceUnreachableError:
        detail = mask_url(str(error).strip())
        if self._source.password:
            detail = detail.replace(self._source.password, "***")
        return SourceUnreachableError(
            f"{self._source} does not answer",
            detail=detail,
            remedy="See that the server runs, and that backup.postgres.url and its pg_hba.conf fit"
            " together (a normal connection and one for replication).",
        )


def require_backup(facts: ServerFacts) -> None:
    """Raise SourceUnfitError unless a full backup can be taken from such a server."""
    if facts.version_num < OLDEST_VERSION:
        raise SourceUnfitError(
            f"the server is PostgreSQL {facts.version}; incremental backup needs 17 or newer",
            remedy="Upgrade the server, or back it up by other means until then.",
        )
    if not facts.may_replicate:
        raise SourceUnfitError(
            "the role of the backup may not replicate",
            remedy="ALTER ROLE … REPLICATION, and a replication line in pg_hba.conf.",
        )


def require_increments(facts: ServerFacts) -> None:
    """Raise SourceUnfitError unless the server also keeps what increments need."""
    require_backup(facts)
    if not facts.summarize_wal:
        raise SourceUnfitError(
            "the server does not summarise its WAL, which incremental backups need",
            remedy="ALTER SYSTEM SET summarize_wal = on; SELECT pg_reload_conf();"
            " then take a full backup.",
        )


def _environment_names() -> dict[str, str]:
    """libpq's environment variable for each of its keywords that has one."""
    known = pq.Conninfo.get_defaults()
    return {o.keyword.decode(): o.envvar.decode() for o in known if o.envvar is not None}
