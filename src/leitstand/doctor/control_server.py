"""Checks the control servers and the jobs as the control database knows them."""

from collections.abc import Sequence

from leitstand.doctor.finding import Finding, sound, wrong
from leitstand.jobs import Job, ServerInfo

SKEW = 5.0
"""Seconds by which a server's clock may differ from the database's."""


def server_running(servers: Sequence[ServerInfo], stale_after: float) -> Finding:
    """One of them gave a sign within ``stale_after`` seconds, and is not draining."""
    name = "control server"
    start = "Start one: leitstand serve"
    if not servers:
        return wrong(name, "none is running", start)
    newest = min(server.silent_for for server in servers)
    if newest > stale_after:
        return wrong(name, f"the last sign of one came {newest:.0f} s ago", start)
    alive = [server for server in servers if server.silent_for <= stale_after]
    if all(server.draining for server in alive):
        return wrong(name, "all are draining and start no runs", "Stop and start them again.")
    return sound(name)


def clock_skew(servers: Sequence[ServerInfo]) -> Finding:
    """No server's clock differs much from that of the database."""
    name = "clocks"
    skewed = [s for s in servers if abs(s.clock_skew) > SKEW]
    if not skewed:
        return sound(name)
    told = ", ".join(f"{s.instance} on {s.host} by {s.clock_skew:+.1f} s" for s in skewed)
    return wrong(
        name, f"differing from the database's: {told}", "Let NTP set the clocks of these machines."
    )


def schedules(jobs: Sequence[Job]) -> Finding:
    """Every job's next time can be computed."""
    name = "job schedules"
    broken = [f"{job.name}: {job.schedule_error}" for job in jobs if job.schedule_error]
    if not broken:
        return sound(name)
    return wrong(name, "; ".join(broken), "Mend the schedule of these jobs.")
