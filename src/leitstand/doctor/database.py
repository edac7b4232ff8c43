"""Checks the control database: whether it answers, and with the schema of this Leitstand."""

import psycopg

from leitstand.doctor.finding import Finding, sound, wrong
from leitstand.errors import UnavailableError
from leitstand.masking import mask_url
from leitstand.store.schema import newest_version, version_of

NAME = "control database"


async def control_database(conninfo: str) -> Finding:
    """Ask it for its schema's version, for 10 s at most; changes nothing."""
    try:
        version = await version_of(conninfo)
    except (UnavailableError, psycopg.Error) as error:
        said = getattr(error, "detail", None) or str(error).strip()
        return wrong(
            NAME,
            f"it does not answer: {mask_url(said)}",
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
