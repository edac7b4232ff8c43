"""What is told, and what is not, over the life of alerts; on a real database."""

import math
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import pytest

from leitstand.alerts import (
    AlertLedger,
    MetricPage,
    Phase,
    Place,
    RuleLedger,
    Series,
    SilenceLedger,
    SilenceSpec,
    parse_page,
    parse_weekly,
)
from leitstand.alerts.transition import GONE_AFTER
from leitstand.errors import NotFoundError, UsageError
from tests.alerts.scene import METRIC, NOTHING, Scene, one, page

DAY = 86400


async def test_strictly_and_only_what_passes_the_filters(scene: Scene) -> None:
    """Case 10: labels are compared unescaped; and the threshold itself is well."""
    strange = 'a "b" \\ c\nd'
    await scene.rule(label_filters={"mount": strange})
    found = await scene.look(
        page(
            (91, {"mount": strange, "n": "1"}),
            (90, {"mount": strange, "n": "2"}),
            (99, {"mount": "/"}),
        )
    )
    assert [dict(verdict.labels) for verdict in found.fired] == [{"mount": strange, "n": "1"}]
    (told,) = await scene.notifications()
    assert (told.channel, told.recipient) == ("alert", "ops@x")
    wanted = {"metric": METRIC, "value": 91.0, "threshold": 90.0, "comparison": "gt"}
    assert wanted.items() <= dict(told.payload).items()
    assert told.payload["labels"] == {"mount": strange, "n": "1"}


async def test_the_second_time_is_suppressed_until_the_debounce_is_over(scene: Scene) -> None:
    await scene.rule()
    await scene.look(one(95))
    scene.pass_by(899)
    again = await scene.look(one(95))
    assert not again.fired
    assert [verdict.suppressed for verdict in again.verdicts] == [True]
    scene.pass_by(1)
    assert len((await scene.look(one(95))).fired) == 1


async def test_a_longer_repeat_interval_wins(scene: Scene) -> None:
    await scene.rule(repeat="4h")
    await scene.look(one(95))
    scene.pass_by(3600)
    assert not (await scene.look(one(95))).fired
    scene.pass_by(4 * 3600)
    assert len((await scene.look(one(95))).fired) == 1


async def test_nan_neither_fires_nor_resolves_and_infinities_are_numbers(scene: Scene) -> None:
    """Case 16."""
    await scene.rule(name="over", threshold=0)
    await scene.rule(name="under", comparison="lt", threshold=0)
    assert (await scene.look(one(math.nan))).verdicts == ()
    assert [v.rule.name for v in (await scene.look(one(math.inf, n="1"))).fired] == ["over"]
    assert [v.rule.name for v in (await scene.look(one(-math.inf, n="2"))).fired] == ["under"]
    kept = await scene.look(page((math.nan, {"n": "1"}), (math.nan, {"n": "2"})))
    assert {verdict.phase for verdict in kept.verdicts} == {Phase.FIRING}
    assert await scene.told() == ["firing", "firing"]
    assert (await scene.notifications())[0].payload["value"] == "+inf"


async def test_a_target_that_is_down_is_not_a_resolved_alert(scene: Scene) -> None:
    """Case 17: two looks without the metric: nothing resolved, nothing told twice."""
    await scene.rule()
    await scene.look(one(95))
    for _ in range(2):
        scene.pass_by(60)
        assert not (await scene.look(NOTHING)).resolved
    scene.pass_by(60)
    await scene.look(one(95))
    assert await scene.told() == ["firing"]


async def test_a_series_that_its_metric_no_longer_has_is_gone_in_the_end(scene: Scene) -> None:
    await scene.rule()
    await scene.look(one(95, host="a"))
    await scene.look(page((1, {"host": "b"})))
    scene.pass_by(299)
    assert not (await scene.look(page())).resolved
    scene.pass_by(1)
    assert [v.reason for v in (await scene.look(page())).resolved] == ["the series is gone"]
    assert await scene.told() == ["firing", "resolved"]


async def test_resolved_is_told_once_also_while_the_debounce_runs(scene: Scene) -> None:
    """Case 19."""
    await scene.rule()
    await scene.look(one(95))
    for _ in range(3):
        scene.pass_by(60)
        await scene.look(one(10))
    assert await scene.told() == ["firing", "resolved"]


async def test_what_was_never_told_is_not_resolved(scene: Scene) -> None:
    """Case 20: pending that passes; a message that reached nobody."""
    await scene.rule(**{"for": "5m"})
    assert [v.phase for v in (await scene.look(one(95))).verdicts] == [Phase.PENDING]
    scene.pass_by(60)
    await scene.look(one(10))
    assert await scene.told() == []

    await scene.rule(**{"for": 0})
    await scene.look(one(95))
    await scene.fail_all()
    await scene.look(one(10))
    assert await scene.told() == ["firing"]


async def test_for_has_to_hold_without_a_break(scene: Scene) -> None:
    await scene.rule(**{"for": "5m"})
    for value in (95, 95, 10, 95, 95, 95):
        await scene.look(one(value))
        scene.pass_by(120)
    assert await scene.told() == []
    await scene.look(one(95))
    assert await scene.told() == ["firing"]


async def test_a_restart_changes_nothing(scene: Scene) -> None:
    """Case 21: all that is known is in the database."""
    await scene.rule()
    await scene.look(one(95))
    other = Scene(scene.database, scene.now)
    other.pass_by(3600 * 3)
    await other.look(one(10))
    await other.look(one(10))
    assert await other.told() == ["firing", "resolved"]


async def test_edits_tell_nobody_anything(scene: Scene) -> None:
    """Case 23: another rule, another recipient, while 20 alerts fire."""
    await scene.rule()
    firing = page(*((95, {"n": str(n)}) for n in range(20)))
    await scene.look(firing)
    await scene.rule(recipient="new@x", description="changed")
    await scene.rule(name="other", threshold=1000)
    scene.pass_by(60)
    await scene.look(firing)
    assert len(await scene.notifications()) == 20


async def test_a_value_that_flaps_tells_little(scene: Scene) -> None:
    """Case 27: an hour of 9 and 11 around 10: at most four; with a clear threshold one."""
    await scene.rule(name="flaps", threshold=10)
    await scene.rule(name="damped", threshold=10, clear_threshold=8, repeat="1d")
    for minute in range(60):
        await scene.look(one(11 if minute % 2 == 0 else 9))
        scene.pass_by(60)
    told = [(n.payload["rule"], n.payload["state"]) for n in await scene.notifications()]
    assert told.count(("flaps", "firing")) <= 4
    assert told.count(("flaps", "resolved")) <= told.count(("flaps", "firing"))
    assert [state for rule, state in told if rule == "damped"] == ["firing"]
    await scene.look(one(7))
    told = [(n.payload["rule"], n.payload["state"]) for n in await scene.notifications()]
    assert ("damped", "resolved") in told


async def test_absence_fires_and_presence_resolves(scene: Scene) -> None:
    await scene.rule(absent=True, label_filters={"host": "a"})
    assert (await scene.look(one(1, host="a"))).verdicts == ()
    assert len((await scene.look(one(1, host="b"))).fired) == 1
    scene.pass_by(60)
    assert not (await scene.look(NOTHING)).fired
    await scene.look(one(1, host="a"))
    assert await scene.told() == ["firing", "resolved"]


async def test_absence_of_something_else_is_another_alert(scene: Scene) -> None:
    """Once its filters were changed, what had fired before went on for ever."""
    await scene.rule(absent=True, label_filters={"disk": "a"})
    await scene.look(NOTHING)
    await scene.rule(absent=True, label_filters={"disk": "b"})
    await scene.look(one(5, disk="b"))
    scene.pass_by(GONE_AFTER.total_seconds())
    assert [v.labels for v in (await scene.look(one(5, disk="b"))).resolved] == [{"disk": "a"}]
    assert await scene.told() == ["firing", "resolved"]


async def test_parts_of_distributions_are_no_values(scene: Scene) -> None:
    text = '# TYPE disk_used summary\ndisk_used{quantile="1"} 99\ndisk_used_sum 99\n'
    await scene.rule()
    await scene.rule(name="sum", metric_name="disk_used_sum")
    assert (await scene.look(parse_page(text))).verdicts == ()


async def test_a_silence_keeps_quiet_and_then_tells(scene: Scene) -> None:
    await scene.rule()
    silences = SilenceLedger(scene.database)
    silence = await silences.add(
        SilenceSpec(None, {"host": "a"}), 3600, reason="rack moved", starts_at=scene.now
    )
    muted = await scene.look(page((95, {"host": "a"}), (95, {"host": "b"})))
    assert [dict(v.labels) for v in muted.fired] == [{"host": "b"}]
    assert [v.reason for v in muted.suppressed] == [f"silenced by {silence.id}: rack moved"]
    scene.pass_by(3600)
    assert [dict(v.labels) for v in (await scene.look(one(95, host="a"))).fired] == [{"host": "a"}]


@pytest.mark.parametrize(
    ("night", "silent"),
    [
        # Local times of the looks; in March 02:00 to 03:00 is left out, in October it comes twice.
        ("2026-03-29", ["03:00+02", "03:59+02"]),
        ("2026-10-25", ["02:00+02", "02:59+02", "02:00+01", "02:59+01", "03:59+01"]),
    ],
)
async def test_a_silence_that_comes_again_goes_by_the_wall_clock(
    scene: Scene, night: str, silent: list[str]
) -> None:
    """Case 28: 02:00 to 04:00 in Berlin, on both days on which clocks change there."""
    silences = SilenceLedger(scene.database)
    weekly = {"from": "02:00", "to": "04:00", "days": "sun", "timezone": "Europe/Berlin"}
    begin = datetime.fromisoformat("2026-01-01T00:00:00Z")
    what = SilenceSpec("disk", {}, parse_weekly(weekly))
    added = await silences.add(what, 366 * DAY, starts_at=begin)
    assert added.as_dict()["weekly"] == {**weekly, "days": ["sun"]}
    loud = {"2026-03-29": ["01:59+01", "04:00+02"], "2026-10-25": ["01:59+02", "04:00+01"]}[night]
    await scene.rule(debounce=0)
    looks = {datetime.fromisoformat(f"{night}T{when}:00"): when for when in (*silent, *loud)}
    for moment, when in sorted(looks.items()):
        scene.now = moment
        found = await scene.look(one(95))
        assert (len(found.fired), len(found.suppressed)) == ((0, 1) if when in silent else (1, 0))
    scene.now = datetime.fromisoformat(f"{night}T03:30:00Z") + timedelta(days=1)
    assert len((await scene.look(one(95))).fired) == 1


@pytest.mark.parametrize(
    "weekly",
    [
        {"from": "02:00"},
        {"from": "02:00", "to": "02:00"},
        {"from": "2026-01-01 02:00", "to": "2026-01-01 04:00"},
        {"from": "02:00", "to": "04:00", "timezone": "Mars"},
    ],
)
def test_times_of_the_week_that_cannot_be(weekly: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        parse_weekly(weekly)


async def test_silences_are_ended_and_never_for_everything(scene: Scene) -> None:
    silences = SilenceLedger(scene.database)
    with pytest.raises(UsageError):
        await silences.add(SilenceSpec(None, {}), 3600)
    silence = await silences.add(SilenceSpec("disk", {}), 3600)
    await silences.end(silence.id)
    assert await silences.list_all() == []
    assert len(await silences.list_all(ended=True)) == 1
    with pytest.raises(NotFoundError):
        await silences.end(silence.id)


class Downtimes:
    """Says that host ``a`` and one service of ``b`` are in downtime, or fails."""

    broken = False

    async def covering(self, places: Collection[Place]) -> Mapping[Place, str]:
        if self.broken:
            raise OSError("no answer")
        return {p: "patch day" for p in places if p.host == "a" or p == Place("b", "http")}


async def test_a_monitored_downtime_is_a_silence(scene: Scene) -> None:
    await scene.rule()
    scene.downtimes = downtimes = Downtimes()
    firing = page(
        (95, {"host": "a", "service": "x"}),
        (95, {"host": "b", "service": "http"}),
        (95, {"host": "b"}),
    )
    found = await scene.look(firing)
    assert [dict(verdict.labels) for verdict in found.fired] == [{"host": "b"}]
    assert {verdict.reason for verdict in found.suppressed} == {"in downtime: patch day"}
    downtimes.broken = True  # an alert too many is better than none
    assert len((await scene.look(firing)).fired) == 2


async def test_who_knows_is_not_told_again(scene: Scene) -> None:
    await scene.rule(debounce=60)
    await scene.look(one(95))
    alerts = AlertLedger(scene.database)
    (alert,) = await alerts.active()
    await alerts.acknowledge(alert.id, "anna")
    scene.pass_by(3600)
    again = await scene.look(one(95))
    assert [verdict.reason for verdict in again.suppressed] == ["acknowledged by anna"]
    await scene.look(one(10))
    scene.pass_by(60)
    await scene.look(one(95))
    assert await scene.told() == ["firing", "resolved", "firing"]
    with pytest.raises(NotFoundError):
        await alerts.acknowledge(alert.id + 1, "anna")


async def test_a_preview_writes_and_tells_nothing(scene: Scene) -> None:
    await scene.rule()
    assert len((await scene.look(one(95), dry_run=True)).fired) == 1
    assert await AlertLedger(scene.database).active() == []
    assert await scene.notifications() == []


async def test_everybody_of_an_audience_gets_a_row(scene: Scene) -> None:
    scene.audience = {"default": ("a@x", "b@x", "a@x")}
    await scene.rule(recipient="default")
    await scene.look(one(95))
    assert [each.recipient for each in await scene.notifications()] == ["a@x", "b@x"]


async def test_each_of_many_people_hears_of_the_end(scene: Scene) -> None:
    """Of more than twenty only the last twenty did."""
    scene.audience = {"default": tuple(f"{n}@x" for n in range(30))}
    await scene.rule(recipient="default")
    await scene.look(one(95))
    await scene.look(one(5))
    assert await scene.told() == ["firing"] * 30 + ["resolved"] * 30


async def test_rules_that_are_off_or_gone_do_nothing(scene: Scene) -> None:
    await scene.rule(enabled=False)
    assert (await scene.look(one(95))).verdicts == ()
    await scene.rule()
    await scene.look(one(95))
    assert await RuleLedger(scene.database).delete("disk") == "disk"
    assert await AlertLedger(scene.database).active() == []
    with pytest.raises(NotFoundError):
        await RuleLedger(scene.database).delete("disk")


async def test_a_name_that_is_the_number_of_another_rule(scene: Scene) -> None:
    """Two rules were switched off, or deleted, by one word."""
    ledger = RuleLedger(scene.database)
    other = await scene.rule()
    named = await scene.rule(name=str(other.id))
    assert (await ledger.enable(named.name, enabled=False)).id == named.id
    assert (await ledger.get(named.name)).id == named.id
    await ledger.delete(named.name)
    assert [rule.id for rule in await ledger.list_all() if rule.spec.enabled] == [other.id]
    assert (await ledger.get(str(other.id))).id == other.id


async def test_old_alerts_are_pruned_when_they_are_over(scene: Scene) -> None:
    await scene.rule()
    await scene.look(page((95, {"n": "1"}), (95, {"n": "2"})))
    await scene.look(page((95, {"n": "1"}), (5, {"n": "2"})))
    assert await AlertLedger(scene.database).prune(0.0) == 1


async def test_a_counter_is_found_by_both_of_its_names(scene: Scene) -> None:
    counted = MetricPage()
    counted.declare("errors", "counter")
    counted.add("errors_total", Series({}, 95))
    for name in ("errors", "errors_total"):
        await scene.rule(name=name, metric_name=name)
    assert len((await scene.look(counted)).fired) == 2
