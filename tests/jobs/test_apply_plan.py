"""What applying a file changes, decided without a database."""

from typing import Any

from leitstand.jobs import Action, GroupSpec, JobSpec, Plan, Thing, Written
from leitstand.jobs.apply_plan import Inventory, Stored, field_changes, plan_changes


def job(name: str = "a", **fields: Any) -> JobSpec:
    return JobSpec.model_validate({"name": name, "kind": "command", **fields})


def wanted(*jobs: JobSpec) -> Written:
    return Written({Thing.JOB: {spec.name: spec for spec in jobs}})


def kept(*jobs: JobSpec, managed: bool = True) -> Inventory:
    return {Thing.JOB: {spec.name: Stored(spec, managed) for spec in jobs}}


def actions(plan: Plan) -> dict[str, Action]:
    return {change.name: change.action for change in plan.changes}


def test_created_changed_unchanged_removed() -> None:
    stored = kept(job("same"), job("other"), job("gone"))
    file = wanted(job("same"), job("other", priority=3), job("new"))
    assert actions(plan_changes(file, stored, prune=True)) == {
        "new": Action.CREATED,
        "other": Action.CHANGED,
        "same": Action.UNCHANGED,
        "gone": Action.REMOVED,
    }
    assert "gone" not in actions(plan_changes(file, stored))


def test_only_what_a_file_wrote_is_removed() -> None:
    assert actions(plan_changes(wanted(), kept(job("hand"), managed=False), prune=True)) == {}
    claims = {(Thing.JOB, "own"): "it is not yours"}
    assert actions(plan_changes(wanted(), kept(job("own")), prune=True, claims=claims)) == {}
    groups = {Thing.GROUP: {"g": Stored(GroupSpec(name="g", limit=2), managed=True)}}
    assert actions(plan_changes(wanted(), groups, prune=True)) == {}


def test_what_was_edited_by_hand_is_taken_over_also_when_nothing_differs() -> None:
    (change,) = plan_changes(wanted(job()), kept(job(), managed=False)).changes
    assert (change.action, change.taken_over, change.fields) == (Action.CHANGED, True, ())
    (change,) = plan_changes(wanted(job()), kept(job())).changes
    assert not change.taken_over


def differences(before: JobSpec, after: JobSpec) -> dict[str, tuple[object, object]]:
    return {each.field: (each.before, each.after) for each in field_changes(before, after)}


def test_fields_differ_one_by_one_in_the_words_of_the_file() -> None:
    before = job(schedule="0 2 * * *", timeout=60, params={"argv": ["a"], "cwd": "/x"})
    after = job(every="1h", timeout="5m", retry={"max_attempts": 5}, params={"argv": ["a", "b"]})
    assert differences(before, after) == {
        "schedule": ("0 2 * * *", None),
        "every": (None, "1h"),
        "timeout": ("1m", "5m"),
        "retry.max_attempts": (3, 5),
        "params.argv": (["a"], ["a", "b"]),
        "params.cwd": ("/x", None),
    }


def test_secrets_are_masked() -> None:
    before = job(
        kind="http",
        params={
            "url": "http://u:opensesame@h/",
            "password": "opensesame",
            "headers": {"X-Anything": "opensesame"},
            "env": {"KEY": "opensesame"},
        },
    )
    after = before.model_copy(update={"params": {"url": "http://u:sesame@h/"}})
    changed = differences(before, after)
    assert set(changed) == {
        "params.url",
        "params.password",
        "params.headers.X-Anything",
        "params.env.KEY",
    }
    assert changed["params.url"] == ("http://u:***@h/", "http://u:***@h/")
    assert "sesame" not in str(changed)


def test_a_dependency_that_will_not_exist_is_a_warning() -> None:
    stored = kept(job("b"), job("c", depends_on=["b"]))
    file = wanted(job("a", depends_on=["c", "typo"]), job("c", depends_on=["b"]))
    assert plan_changes(file, stored).warnings == (
        'job "a" depends on "typo", which does not exist',
    )
    assert len(plan_changes(file, stored, prune=True).warnings) == 2


def test_the_shape_for_scripts() -> None:
    document = plan_changes(wanted(job("a", priority=1)), kept(job("a"))).as_dict()
    assert document == {
        "changes": [
            {
                "thing": "job",
                "name": "a",
                "action": "changed",
                "fields": [{"field": "priority", "before": 0, "after": 1}],
                "taken_over": False,
            }
        ],
        "counts": {"created": 0, "changed": 1, "unchanged": 0, "removed": 0},
        "warnings": [],
    }
