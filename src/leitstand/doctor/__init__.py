"""Finds what is wrong with an installation, and names the remedy for each."""

from leitstand.doctor.control_server import clock_skew, schedules, server_running
from leitstand.doctor.database import control_database
from leitstand.doctor.finding import Finding, from_error, sound
from leitstand.doctor.machine import directory_writable, python_version, room
from leitstand.doctor.programs import postgres_programs, restic_program
from leitstand.doctor.proof import last_drill, newest_verified, recovery_objectives
from leitstand.doctor.source import backup_source

__all__ = [
    "Finding",
    "backup_source",
    "clock_skew",
    "control_database",
    "directory_writable",
    "from_error",
    "last_drill",
    "newest_verified",
    "postgres_programs",
    "python_version",
    "recovery_objectives",
    "restic_program",
    "room",
    "schedules",
    "server_running",
    "sound",
]
