"""Applying a file to a real database: all or nothing, and apply wins over the hand."""

import asyncio
import tomllib
from typing import Any

import pytest

from leitstand.errors import ConflictError
from leitstand.jobs import (
    Action,
    Applier,
    JobFileError,
    JobSpec,
    Plan,
    Thing,
    WindowLedger,
    Written,
    read_entries,
    to_toml,
)
from tests.jobs.scene import Scene

FILE = """
[[group]]
name = "store"
limit = 2

[[window]]
name = "night"
from = "22:00"
to = "04:00"

[[job]]
name = "child"
kind = "noop"
depends_on = ["parent"]

[[job]]
name = "parent"
kind = "nap"
params = { seconds = 1.5 }
schedule = "0 2 * * *"
timezone = "Europe/Berlin"
group = "store"
"""


@pytest.fixture
def applier(scene: Scene) -> Applier:
    return Applier(scene.database, scene.jobs, WindowLedger(scene.database))


def written(scene: Scene, text: str = FILE) -> Written:
    return read_entries(tomllib.loads(text), scene.kinds)


def counts(plan: Plan) -> tuple[int, ...]:
    return tuple(plan.count(action) for action in Action)


async def test_a_file_is_applied_in_any_order_and_then_nothing_differs(
    scene: Scene, applier: Applier
) -> None:
    assert counts(await applier.preview(written(scene))) == (4, 0, 0, 0)
    assert await scene.jobs.list_all() == []
    assert counts(await applier.apply(written(scene))) == (4, 0, 0, 0)
    assert counts(await applier.apply(written(scene))) == (0, 0, 4, 0)
    parent = await scene.jobs.get("parent")
    assert (parent.managed, parent.group, parent.params) == (True, "store", {"seconds": 1.5})
    (group,) = await scene.jobs.list_groups()
    assert group.as_dict() == {"name": "store", "limit": 2, "running": 0, "waiting": 0}
    (window,) = await WindowLedger(scene.database).list_all()
    assert (window.name, window.managed) == ("night", True)


async def test_apply_wins_over_the_hand_and_says_so(scene: Scene, applier: Applier) -> None:
    await applier.apply(written(scene))
    await scene.jobs.save((await scene.jobs.get("child")).spec.model_copy(update={"priority": 5}))
    await scene.jobs.set_enabled("parent", False)
    plan = await applier.apply(written(scene))
    child, parent = plan.differences
    assert (child.name, child.taken_over) == ("child", True)
    assert [(f.field, f.before, f.after) for f in child.fields] == [("priority", 5, 0)]
    assert [(f.field, f.before, f.after) for f in parent.fields] == [("enabled", False, True)]
    assert (await scene.jobs.get("child")).managed
    assert (await scene.jobs.get("parent")).enabled


async def test_at_a_start_a_disabled_job_stays_disabled(scene: Scene, applier: Applier) -> None:
    await applier.apply(written(scene))
    await scene.jobs.set_enabled("parent", False)
    plan = await applier.apply(written(scene), keep_switched=True)
    assert plan.differences == []
    says = FILE.replace('kind = "nap"', 'kind = "nap"\nenabled = true')
    await applier.apply(written(scene, says), keep_switched=True)
    assert (await scene.jobs.get("parent")).enabled


async def test_pruning_removes_what_files_wrote_and_nothing_else(
    scene: Scene, applier: Applier
) -> None:
    await applier.apply(written(scene))
    await scene.job("by-hand")
    claims = {(Thing.JOB, "child"): "it stays"}
    plan = await applier.apply(written(scene, ""), prune=True, claims=claims)
    assert [(c.thing, c.name) for c in plan.differences] == [
        (Thing.WINDOW, "night"),
        (Thing.JOB, "parent"),
    ]
    assert [job.name for job in await scene.jobs.list_all()] == ["by-hand", "child"]
    assert await WindowLedger(scene.database).list_all() == []
    assert len(await scene.jobs.list_groups()) == 1


async def test_a_job_that_works_is_not_removed_and_then_nothing_is(
    scene: Scene, applier: Applier
) -> None:
    await applier.apply(written(scene))
    run = await scene.queue.request("parent")
    with pytest.raises(ConflictError, match=f"run {run.id} of 'parent' is queued"):
        await applier.apply(written(scene, '[[job]]\nname="new"\nkind="noop"'), prune=True)
    assert [job.name for job in await scene.jobs.list_all()] == ["child", "parent"]


async def test_what_somebody_else_claims_may_stand_in_the_file_but_not_change(
    scene: Scene, applier: Applier
) -> None:
    claims = {(Thing.JOB, "child"): "it is not yours"}
    with pytest.raises(JobFileError, match='job "child": name: it is not yours'):
        await applier.apply(written(scene), claims=claims)
    assert await scene.jobs.list_all() == []
    await applier.apply(written(scene))
    await applier.apply(written(scene), claims=claims)


def two(a: list[str], b: list[str]) -> str:
    head = '[[job]]\nkind = "noop"\nname ='
    return f'{head} "a"\ndepends_on = {a}\n{head} "b"\ndepends_on = {b}\n'


async def test_cycles_are_refused_and_turning_an_arrow_is_none(
    scene: Scene, applier: Applier
) -> None:
    with pytest.raises(JobFileError, match="a cycle: a -> b -> a"):
        await applier.preview(written(scene, two(["b"], ["a"])))
    await applier.apply(written(scene, two(["b"], [])))
    await applier.apply(written(scene, two([], ["a"])))
    await scene.job("c", depends_on=("b",))
    with pytest.raises(JobFileError, match="a cycle: a -> c -> b -> a"):
        await applier.apply(written(scene, two(["c"], ["a"])))


async def test_several_appliers_take_turns(scene: Scene, applier: Applier) -> None:
    plans = await asyncio.gather(*(applier.apply(written(scene)) for _ in range(4)))
    assert sorted(counts(plan) for plan in plans) == [(0, 0, 4, 0)] * 3 + [(4, 0, 0, 0)]


async def test_what_is_exported_applies_without_a_difference(
    scene: Scene, applier: Applier
) -> None:
    await applier.apply(written(scene))
    fields: dict[str, Any] = {
        "kind": "command",
        "params": {"argv": ["/bin/echo", 'quote" \\ \t \x7f\u2028ü'], "env": {"A": ""}},
        "every": "90m",
        "timezone": "Pacific/Apia",
        "enabled": False,
        "tags": ("a", "b c"),
        "host": "db1",
        "priority": -3,
        "timeout": 0.123456,
        "depends_on": ("nowhere",),
        "retry": {"max_attempts": 7, "backoff": "1h1m1s"},
        "misfire": "all",
        "misfire_limit": 3,
        "overlap": "queue",
        "window_policy": "only",
        "splay": "10m",
        "resume": True,
    }
    await scene.jobs.save(JobSpec(name="everything", **fields), managed=True)
    await scene.job("event", event="login-failed")
    await scene.job("once", at="2030-01-01 10:00")
    text = to_toml(await applier.inventory())
    plan = await applier.preview(written(scene, text))
    assert counts(plan) == (0, 2, 5, 0)
    assert [(c.name, c.fields, c.taken_over) for c in plan.differences] == [
        ("event", (), True),
        ("once", (), True),
    ]
    await applier.apply(written(scene, text))
    assert counts(await applier.preview(written(scene, text))) == (0, 0, 7, 0)


async def test_a_few_hundred_jobs(scene: Scene, applier: Applier) -> None:
    text = "".join(
        f'[[job]]\nname = "j{n}"\nkind = "noop"\nschedule = "{n % 60} 2 * * *"\n'
        for n in range(300)
    )
    assert counts(await applier.apply(written(scene, text)))[0] == 300
    assert counts(await applier.apply(written(scene, text))) == (0, 0, 300, 0)
