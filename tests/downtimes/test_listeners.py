"""Who is told of what: subscribers at all servers, jobs that wait for a host, the announcer."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from leitstand.downtimes import (
    DeadLetters,
    DowntimeMetrics,
    Happened,
    Herald,
    MonitoredHosts,
    WaitingJobs,
)
from leitstand.downtimes.consumer import ConsumerState
from leitstand.downtimes.intake import Listeners
from leitstand.live import DOWNTIMES, Broadcast, MessageLedger
from leitstand.store.database import Database
from tests.downtimes.conftest import Scene
from tests.downtimes.core import ADD, FLEXIBLE, SERVICE, START, T, body, life, message
from tests.jobs.scene import scene_on


class Notes:
    """Takes events and notes them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.hosts: list[str] = []

    async def announce(self, happenings: Sequence[Happened]) -> None:
        """Note them."""
        self.names += [f"{one.name} {one.payload['host']}" for one in happenings]

    async def hosts_changed(self, hosts: Collection[str]) -> None:
        """Note them."""
        self.hosts += sorted(hosts)


async def test_every_valid_message_is_published_as_it_came(
    scene: Scene, database: Database
) -> None:
    messages = [*life("cancelled", T), message(START, T, extra="\N{BANANA}")]
    ledger = MessageLedger(database)
    intake = scene.intake(Listeners(broadcast=Broadcast(database, ledger)))
    await intake.take([*(body(one) for one in messages), b"nonsense"])
    published = await ledger.after(0)
    assert {one.topic for one in published} == {DOWNTIMES}
    assert [one.data for one in published] == messages


async def test_events_are_announced_once(scene: Scene) -> None:
    notes = Notes()
    intake = scene.intake(Listeners(herald=Herald(scene.target, notes), jobs=notes))
    bodies = [body(one) for one in life("cancelled", T)]
    await intake.take(bodies)
    await intake.take([*bodies, body(message(ADD, T, **SERVICE))])
    names = ("scheduled", "started", "cancelled", "scheduled")
    assert notes.names == [f"downtime.{name} web01" for name in names]
    assert notes.hosts == ["web01"]
    await intake.take(bodies, again=True)
    assert notes.hosts == ["web01"] * 2


async def test_downtimes_of_hosts_are_windows(scene: Scene) -> None:
    await scene.apply(
        message(ADD, T - 10),
        message(ADD, T - 10, host_name="web02", **FLEXIBLE),
        message(START, T + 5, host_name="web03", **FLEXIBLE),
        message(ADD, T - 10, host_name="web04", **SERVICE),
    )
    hosts = ["web01", "web02", "web03", "web04"]
    windows = await MonitoredHosts(scene.views).windows_for(hosts)
    found = {window.name: window.opening for window in windows}
    assert {name: (o.start, o.end) for name, o in found.items()} == {
        "downtime 42 of web01": (moment(T), moment(T + 7200)),
        "downtime 42 of web03": (moment(T + 5), moment(T + 605)),
    }


async def test_jobs_that_wait_are_found_however_their_host_is_spelt(
    database: Database, tmp_path: Path
) -> None:
    """As the downtimes themselves are: MariaDB's tables do not tell web01 from WEB01."""
    jobs = scene_on(database, tmp_path / "spool")
    for name, host in (("patch", "WEB01"), ("other", "web02")):
        await jobs.job(name, every="1h", host=host)
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE jobs SET postponed_from = now(), next_run_at = now() + interval '1 h'"
        )
    await WaitingJobs(database).hosts_changed({"Web01"})
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT name FROM jobs WHERE next_run_at <= now()")
        assert [row["name"] for row in await cursor.fetchall()] == ["patch"]


async def test_running_downtimes_silence_places(scene: Scene) -> None:
    """A host's downtime covers its services; a service's covers nothing else."""
    await scene.apply(
        message(START, T), message(START, T, host_name="web02", **SERVICE), message(ADD, T - 9)
    )
    places = [
        *(("web01", None), ("web01", "HTTP"), ("web02", "HTTP")),
        *(("web02", None), ("web02", "SSH"), ("web03", None)),
    ]
    monitored = MonitoredHosts(scene.views)
    covered = await monitored.covering(places, T + 1)
    assert covered == {
        ("web01", None): "downtime 42 of web01",
        ("web01", "HTTP"): "downtime 42 of web01",
        ("web02", "HTTP"): "downtime 42 of HTTP on web02",
    }
    assert await monitored.covering(places, T + 7200) == {}


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def test_metrics(database: Database) -> None:
    state = ConsumerState(connected=True, retries=2)
    state.counts.ignored["stale"] = 3
    families = await DowntimeMetrics(state, DeadLetters(database)).collect()
    samples = {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}
    assert samples[("leitstand_core_downtime_messages_total", "ignored")] == 3
    assert samples[("leitstand_core_downtime_connected",)] == 1
    assert samples[("leitstand_core_downtime_dead_letters",)] == 0
