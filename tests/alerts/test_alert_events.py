"""Alerts as events: what jobs are told of them, in the same transaction as people are."""

from pathlib import Path

from leitstand.alerts import RuleLedger, SilenceLedger, SilenceSpec, alert_entries, parse_rule
from leitstand.events import Catalogue
from leitstand.store.database import Database
from tests.alerts.scene import METRIC, Scene, one
from tests.jobs.scene import scene_on
from tests.web.scene import controls_on

ALL = {"alert.firing", "alert.firing:disk", "alert.resolved", "alert.resolved:disk"}


async def test_the_begin_and_the_end_of_an_episode(scene: Scene) -> None:
    """What goes on firing is told to people again, and to jobs once."""
    scene.listened = ALL
    await scene.rule(description="make room", debounce="15m")
    for value in (95, 96, 5):
        await scene.look(one(value, host="a"))
        scene.pass_by(3600)
    assert await scene.told() == ["firing", "firing", "resolved"]
    events = await scene.events()
    assert [each.name for each in events] == [
        *("alert.firing", "alert.firing:disk"),
        *("alert.resolved", "alert.resolved:disk"),
    ]
    begin, end = events[0], events[2]
    assert begin.payload == {
        **{"rule": "disk", "state": "firing", "description": "make room", "metric": METRIC},
        **{"value": 95, "comparison": "gt", "threshold": 90, "labels": {"host": "a"}},
        **{"since": begin.occurred_at.isoformat(), "ended": None, "reason": None},
        "fingerprint": begin.payload["fingerprint"],
    }
    assert end.payload["since"] == begin.payload["since"]
    assert (end.payload["ended"], end.source) == (end.occurred_at.isoformat(), "alerts")


async def test_only_what_somebody_listens_to(scene: Scene) -> None:
    scene.listened = {"alert.resolved:disk", "alert.firing:other"}
    await scene.rule()
    for value in (95, 5):
        await scene.look(one(value))
    assert [each.name for each in await scene.events()] == ["alert.resolved:disk"]


async def test_what_is_silent_is_silent_for_jobs_too(scene: Scene) -> None:
    """They hear of it when people do: here, when the silence is over."""
    scene.listened = {"alert.firing"}
    await scene.rule()
    silence = SilenceSpec("disk", {})
    await SilenceLedger(scene.database).add(silence, 3600, starts_at=scene.now)
    await scene.look(one(95))
    assert await scene.events() == []
    scene.pass_by(7200)
    await scene.look(one(95))
    assert [each.name for each in await scene.events()] == ["alert.firing"]


async def test_no_alert_is_lost_for_the_sake_of_its_event(scene: Scene) -> None:
    """Labels and descriptions may be longer than an event."""
    scene.listened = {"alert.firing"}
    await scene.rule(description="\x01" * 20_000)
    await scene.look(one(95, path="/" * 100_000))
    assert await scene.told() == ["firing"]
    (event,) = await scene.events()
    assert (event.payload["labels"], len(event.payload["description"])) == ({}, 4000)


async def test_an_installation_asks_its_jobs(database: Database, short_dir: Path) -> None:
    await scene_on(database, short_dir / "spool").job("mend", event="alert.firing:disk")
    given = {"name": "disk", "metric_name": METRIC, "comparison": "gt", "threshold": 90}
    await RuleLedger(database).save(parse_rule({**given, "recipient": "log"}))
    controls = controls_on(database, short_dir)
    await controls.evaluator.evaluate(one(95))
    (event,) = await controls.events.list_events()
    assert (event.name, event.payload["value"]) == ("alert.firing:disk", 95)


def test_the_catalogue_knows_them() -> None:
    catalogue = Catalogue(alert_entries())
    assert all(catalogue.knows(name) for name in ALL)
    assert not any(catalogue.knows(name) for name in ("alert.firing:", "alert.pending", "alert"))
