"""Makes a restored copy harmless before anybody can log in to it, and finds out how to.

What ALTER DATABASE and ALTER ROLE … SET have left in the catalog outweighs a server's command line
in the sessions that it names. It could load libraries, enable login event triggers, forbid writing
or end statements early, so that a sound backup fails; and ``zero_damaged_pages`` or
``ignore_checksum_failure`` would let a damaged one pass. No list of such settings could be
complete, so all of them go.

That happens in single-user mode, the only one in which PostgreSQL does not read them first. It
replays the backup's WAL on this occasion: the server that comes after it finds nothing to recover.
"""

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leitstand.store.cluster import Cluster, ClusterError, NoSuchDatabaseError

SIGNAL_FILES = ("standby.signal", "recovery.signal")
LIVE_SETTINGS = "postgresql.auto.conf"

MAINTENANCE_DATABASES = ("template0", "template1", "postgres")
"""Those of initdb; in the first one nobody can have put anything by accident."""

STATEMENTS = (
    "DELETE FROM pg_db_role_setting",
    "UPDATE pg_authid SET rolcanlogin = true WHERE oid = 10 AND NOT rolcanlogin",
    "CREATE ROLE {reader} LOGIN BYPASSRLS IN ROLE pg_read_all_data, pg_monitor",
    "UPDATE pg_database SET datacl = datacl || makeaclitem(to_regrole('{reader}'), datdba,"
    " 'CONNECT', false) WHERE datacl IS NOT NULL",
    "SELECT encode(namesend(rolname), 'hex') AS superuser FROM pg_authid WHERE oid = 10",
    "SELECT encode(namesend(datname), 'hex') AS database FROM pg_database"
    " WHERE datallowconn AND datconnlimit <> -2 ORDER BY datname <> 'postgres', oid LIMIT 1",
)
"""The bootstrap superuser has the oid 10 (pg_authid.dat) and may have any name; a connection limit
of -2 marks a database that was half dropped. PUBLIC may have lost the right to connect."""


@dataclass(frozen=True)
class WaysIn:
    """Who may log in to the copy, and to which database at least.

    ``superuser`` is the copy's own. ``reader`` was made for the drill: it may read everything, and
    neither write nor run programs.
    """

    superuser: str
    reader: str
    database: str


def disarm(cluster: Cluster, options: Mapping[str, str], log_file: Path, deadline: float) -> WaysIn:
    """Take from the stopped copy whatever would outweigh ``options``; recovers it on the way.

    The whole gets ``deadline`` seconds. Of the copy's catalog it changes this: no settings of
    databases and roles, one more role, which may connect everywhere, and a bootstrap superuser that
    may log in. Raises ClusterError with PostgreSQL's last words.
    """
    for name in (*SIGNAL_FILES, LIVE_SETTINGS):
        (cluster.data / name).unlink(missing_ok=True)
    reader = f"leitstand_drill_{secrets.token_hex(4)}"
    statements = [statement.format(reader=reader) for statement in STATEMENTS]
    # An operator of somebody's public schema could fit better than PostgreSQL's own.
    options = {**options, "search_path": "pg_catalog"}
    until = time.monotonic() + deadline
    for database in MAINTENANCE_DATABASES:
        left = max(0.1, until - time.monotonic())
        try:
            printed = cluster.single_user(database, statements, log_file, options, left)
        except NoSuchDatabaseError:
            continue
        return _ways_in(cluster, printed, reader)
    raise ClusterError(
        f"the restored copy {cluster.data} has none of the databases "
        + ", ".join(MAINTENANCE_DATABASES)
    )


def _ways_in(cluster: Cluster, printed: str, reader: str) -> WaysIn:
    found = {
        name: bytes.fromhex(value).decode(errors="surrogateescape")
        for name, value in re.findall(r' 1: (\w+) = "([0-9a-f]+)"\t', printed)
    }
    if "database" not in found:
        raise ClusterError(f"no database of the restored copy {cluster.data} allows connections")
    return WaysIn(found["superuser"], reader, found["database"])
