"""Reconcile, scrub and the demonstration as people, jobs and Prometheus meet them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leitstand.archive import IntegrityMetrics
from leitstand.errors import LeitstandError
from leitstand.execution import Result, run_in_worker
from leitstand.store.database import Database
from tests import console
from tests.execution.run_scene import Recorded, facts

FACTORY = "leitstand.app.worker:make_executor"
SETTINGS = {"LEITSTAND_OBJECTS__GRACE": "0s"}


class Installation:
    """A data directory with the demonstration in it, on the test's own database."""

    def __init__(self, directory: Path, conninfo: str) -> None:
        self.directory = directory
        self.objects = directory / "var/demo/objects"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("LEITSTAND_")},
            **SETTINGS,
            "LEITSTAND_DATABASE__URL": conninfo,
            "LEITSTAND_SERVER__DATA_DIR": str(directory / "var"),
        }

    def leitstand(self, *arguments: str, **more: str) -> tuple[int, Any, str]:
        """Exit code, the JSON document, and what was said beside it."""
        environment = {**self.environment, **more}
        done = console.leitstand([*arguments, "--json"], self.directory, environment)
        return done.code, json.loads(done.out or "null"), done.err

    async def run(self, kind: str, told: Recorded | None = None, **params: Any) -> Result:
        """The kind on the demonstration's objects, in a worker."""
        configured = {
            "LEITSTAND_OBJECTS__STORE": str(self.objects),
            "LEITSTAND_OBJECTS__TABLE": "leitstand_demo.file_revisions",
        }
        return await run_in_worker(
            kind,
            params,
            facts(kind),
            told or Recorded(),
            FACTORY,
            environment={**self.environment, **configured},
        )


@pytest.fixture
def installation(short_dir: Path, conninfo: str) -> Installation:
    return Installation(short_dir, conninfo)


def keys(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["storage_key"] for entry in entries]


async def test_a_newcomer_finds_what_was_planted(
    installation: Installation, database: Database
) -> None:
    code, made, _ = installation.leitstand("demo", "archive")
    assert (code, made["revisions"]) == (0, 24)
    assert made["try"] == ["leitstand reconcile", "leitstand scrub --sample 100"]
    planted = made["planted"]

    code, report, said = installation.leitstand("reconcile")
    assert code == 1
    assert "demonstration" in said
    assert keys(report["missing_in_storage"]) == planted["missing"]
    assert keys(report["orphaned_in_storage"]) == planted["orphaned"]
    assert len(report["existing_in_storage"]) == report["counts"]["existing_in_storage"] == 22
    assert (report["clean"], report["incomplete"]) == (False, False)

    code, report, _ = installation.leitstand("scrub", "--sample", "100", "--cooldown", "1h")
    assert (code, keys(report["findings"])) == (1, planted["corrupted"])
    assert installation.leitstand("scrub")[0] == 0  # all of it within the cool-down

    metrics = {
        (sample.name, sample.labels.get("sort")): sample.value
        for family in await IntegrityMetrics(database).collect()
        for sample in family.samples
    }
    assert metrics["storage_integrity_failures_total", None] == 2
    assert metrics["storage_reconcile_objects", "missing"] == 2
    assert metrics["storage_scrub_never_checked", None] == 2

    assert installation.leitstand("demo", "archive")[:2] == (0, made)  # as new
    assert installation.leitstand("demo", "archive", "--remove")[:2] == (0, {"removed": True})
    assert not (installation.directory / "var/demo").exists()
    assert installation.leitstand("demo", "archive", "--remove")[:2] == (0, {"removed": False})
    code, _, error = installation.leitstand("reconcile")
    assert code == 2
    assert json.loads(error)["code"] == "OBJECTS_NOT_CONFIGURED"


def test_the_demonstration_touches_nothing_of_others(installation: Installation) -> None:
    precious = installation.directory / "var/demo/precious"
    precious.parent.mkdir(parents=True)
    precious.touch()
    for option in ([], ["--remove"]):
        code, _, error = installation.leitstand("demo", "archive", *option)
        assert (code, json.loads(error)["code"]) == (1, "CONFLICT")
    assert precious.exists()


async def test_jobs_fail_with_the_findings(installation: Installation) -> None:
    _, made, _ = installation.leitstand("demo", "archive")
    told = Recorded()
    with pytest.raises(LeitstandError) as caught:
        await installation.run("reconcile", told)
    assert caught.value.code == "RECONCILE_FINDINGS"
    assert f"missing: {made['planted']['missing'][0]} of document 4" in str(caught.value.detail)
    assert any("2 missing_in_storage" in line for line in told.lines)
    with pytest.raises(LeitstandError) as caught:
        await installation.run("scrub", sample="100")
    assert caught.value.code == "SCRUB_FINDINGS"
    assert made["planted"]["corrupted"][0] in str(caught.value.detail)
    done = await installation.run("scrub", sample="100")
    assert (done.objects_processed, done.result["sampled"]) == (0, 0)


async def test_a_job_that_finds_nothing_succeeds(installation: Installation) -> None:
    _, made, _ = installation.leitstand("demo", "archive")
    for key in made["planted"]["orphaned"]:
        (installation.objects / key).unlink()
    for key in made["planted"]["missing"]:
        (installation.objects / key).write_bytes(b"restored, but wrongly")
    done = await installation.run("reconcile")
    assert (done.objects_processed, done.objects_skipped) == (24, 0)
    assert done.result["clean"] is True


async def test_a_wrong_password_is_not_shown(installation: Installation) -> None:
    secret = "hidden-word"
    installation.environment["LEITSTAND_OBJECTS__DATABASE_URL"] = (
        f"mysql://user:{secret}@127.0.0.1:1/app"
    )
    with pytest.raises(LeitstandError) as caught:
        await installation.run("reconcile")
    assert caught.value.code == "REVISIONS_UNAVAILABLE"
    assert secret not in str(caught.value.as_dict())
    code, _, said = installation.leitstand("reconcile", LEITSTAND_OBJECTS__STORE="/nowhere")
    assert code == 1
    assert secret not in said
