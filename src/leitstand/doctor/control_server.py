"""Checks the control servers and the jobs as the control database knows them."""

from collections.abc import Sequence

from leitstand.doctor.finding import Finding, sound, wrong
from leitstand.jobs import Job, ServerInfo, ServerState, why_nothing_starts

SKEW = 5.0
"""Seconds by which a server's clock may differ from the database's."""


def server_running(servers: Sequence[ServerInfo]) -> Finding:
    """One of them takes runs."""
    name = "control server"
    why = why_nothing_starts(servers)
    if why is None:
        return sound(name)
    if any(server.state is ServerState.DRAINING for server in servers):
        return wrong(name, why, "Stop those that are draining and start them again.")
    return wrong(name, why, "Start one: leitstand serve")


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
