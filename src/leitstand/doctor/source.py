"""Checks the server that backups are taken from."""

from leitstand.archive import Source
from leitstand.doctor.finding import Finding, from_error, sound, wrong
from leitstand.errors import LeitstandError

NAME = "backup source"
OLDEST_VERSION = 170000


def backup_source(conninfo: str) -> Finding:
    """It answers, is new enough, lets the role replicate and summarises its WAL."""
    try:
        facts = Source.parse(conninfo).facts()
    except LeitstandError as error:
        return from_error(NAME, error)
    if facts.version_num < OLDEST_VERSION:
        return wrong(
            NAME,
            f"it is PostgreSQL {facts.version}, and incremental backup needs 17",
            "Upgrade it, or back it up by other means until then.",
        )
    if not facts.may_replicate:
        return wrong(
            NAME,
            "the role of the backup may not replicate",
            "ALTER ROLE … REPLICATION, and a replication line in pg_hba.conf.",
        )
    if not facts.summarize_wal:
        return wrong(
            NAME,
            "it does not summarise its WAL, which incremental backups need",
            "ALTER SYSTEM SET summarize_wal = on; SELECT pg_reload_conf(); then a full backup.",
        )
    return sound(NAME)
