"""Checks PostgreSQL's programs, and restic."""

import subprocess

from leitstand.archive import ObjectRepository, Restic
from leitstand.doctor.finding import Finding, from_error, sound, wrong
from leitstand.errors import LeitstandError
from leitstand.store.binaries import find_binaries

OLDEST_MAJOR = 17
SETTING = "backup.postgres.bin_dir"


def postgres_programs(bin_dir: str) -> Finding:
    """The programs in ``bin_dir`` (empty: those that came along) are all there and new enough."""
    name = "postgres programs"
    try:
        major = find_binaries(bin_dir).major
    except LeitstandError as error:
        return from_error(name, error)
    except (OSError, subprocess.SubprocessError) as error:
        return wrong(
            name,
            f"pg_basebackup cannot be run: {error}",
            f"Look at the directory that {SETTING} names, or leave it empty.",
        )
    if major >= OLDEST_MAJOR:
        return sound(name)
    return wrong(
        name,
        f"they are of version {major}, and incremental backup needs {OLDEST_MAJOR}",
        f"Set {SETTING} to newer ones, or leave it empty.",
    )


async def restic_program(repository: ObjectRepository) -> Finding:
    """The restic that object backups are made with is there, and new enough."""
    name = "restic"
    try:
        await Restic(repository).version()
    except LeitstandError as error:
        return from_error(name, error)
    return sound(name)
