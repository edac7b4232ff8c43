"""Checks the control database: whether it answers, and with the schema of this Leitstand."""

import psycopg

from leitstand.doctor.finding import Finding, sound, wrong
from leitstand.masking import mask_url
from leitstand.store.schema import current_version, newest_version

NAME = "control database"


def control_database(conninfo: str) -> Finding:
    """Ask it for its schema's version; changes nothing. Blocks for 10 s at most."""
    try:
        with psycopg.connect(conninfo, connect_timeout=10) as connection:
            version = current_version(connection)
    except psycopg.Error as error:
        return wrong(
            NAME,
            f"it does not answer: {mask_url(str(error).strip())}",
            "See that it runs, and that database.url is right.",
        )
    return _schema(version, newest_version())


def _schema(version: str | None, newest: str) -> Finding:
    if version is None:
        return wrong(NAME, "it is empty", "leitstand serve fills it at its first start.")
    if version > newest:
        return wrong(
            NAME,
            f"its schema is version {version}, and this Leitstand knows {newest}",
            "Start the newer Leitstand that migrated it, or restore an older backup.",
        )
    if version < newest:
        return wrong(
            NAME,
            f"its schema is version {version}, and {newest} is needed",
            "leitstand serve migrates it when it starts.",
        )
    return sound(NAME)
