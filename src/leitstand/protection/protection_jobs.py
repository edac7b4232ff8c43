"""The self-protection jobs as Leitstand writes them at its first start."""

from dataclasses import dataclass

from leitstand.errors import ConflictError
from leitstand.jobs import JobSpec, Overlap

GROUP = "self-backup"
"""Only one of them works on the backup directory at a time, over all servers."""

FULL = "self-full"
INCREMENTAL = "self-incremental"
VERIFY = "self-verify"
ROTATE = "self-rotate"
DRILL = "self-drill"
SELFTEST = "self-test"
PRUNE = "self-prune"

OWN_JOBS = (FULL, INCREMENTAL, VERIFY, ROTATE, DRILL, SELFTEST, PRUNE)


@dataclass(frozen=True)
class ProtectionTimes:
    """Cron expressions in UTC; what verifies has none, since it follows each backup."""

    full: str
    incremental: str
    rotate: str
    drill: str
    selftest: str
    prune: str


def protection_specs(times: ProtectionTimes, older_drills: int = 1) -> list[JobSpec]:
    """All self-protection jobs; each drill has a turn of ``older_drills`` others, too."""
    return [
        _spec(FULL, "postgres-backup", times.full, {"mode": "full"}, priority=20),
        _spec(INCREMENTAL, "postgres-backup", times.incremental, {"mode": "incremental"}, 10),
        _spec(VERIFY, "postgres-verify", None, {}),
        _spec(ROTATE, "postgres-rotate", times.rotate, {}),
        _spec(DRILL, "restore-drill", times.drill, {"older": older_drills}),
        _spec(SELFTEST, "checker-selftest", times.selftest, {}),
        JobSpec(name=PRUNE, kind="prune-history", schedule=times.prune, tags=("self-protection",)),
    ]


def refuse_deletion(name: str) -> None:
    """Raise ConflictError for one of these jobs: the next start would bring it back."""
    if name in OWN_JOBS:
        raise ConflictError(
            f"{name} is one of the jobs by which Leitstand protects its own database",
            remedy=f"To stop it: leitstand job disable {name}. To do without all of them, set "
            "protection.enabled = false; then they can be deleted.",
        )


def _spec(
    name: str, kind: str, schedule: str | None, params: dict[str, object], priority: int = 0
) -> JobSpec:
    return JobSpec(
        name=name,
        kind=kind,
        schedule=schedule,
        params=params,
        priority=priority,
        group=GROUP,
        # One that comes while another works must wait for it, not be dropped.
        overlap=Overlap.QUEUE,
        # A restart of the server is no reason to wait for the next time.
        resume=True,
        tags=("self-protection",),
    )
