"""The API: what each path does, with pages, problems and names as documented."""

from datetime import UTC, datetime
from typing import Any

import pytest

from leitstand.access import Role
from leitstand.archive import Generation, GenerationState
from leitstand.jobs import RunStatus
from leitstand.protection import VERIFY
from leitstand.web.api.shapes import GenerationShape
from tests.web.scene import Web

API = "/api/v1"
NOOP = {"kind": "noop"}


def problem(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


async def test_a_job_is_made_changed_and_deleted(web: Web) -> None:
    made = await web.call("PUT", f"{API}/jobs/job", json={**NOOP, "every": "1h"})
    assert (made.status_code, made.json()["trigger"]["expression"]) == (201, "1h")
    changed = await web.call("PUT", f"{API}/jobs/job", json={**NOOP, "every": "2h", "name": "job"})
    assert (changed.status_code, changed.json()["trigger"]["expression"]) == (200, "2h")
    shown = await web.get(f"{API}/jobs/job")
    assert shown.json() == changed.json()
    assert shown.json()["next_run_at"].endswith("Z")
    assert (await web.call("DELETE", f"{API}/jobs/job")).status_code == 204
    assert problem(await web.get(f"{API}/jobs/job")) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"kind": "noop", "every": "soon"}, "every"),
        ({"kind": "nop"}, "did you mean noop"),
        ({"kind": "noop", "evry": "1h"}, "did you mean every"),
        ({"kind": "command", "params": {"argv": 5}}, "params.argv"),
        ({"kind": "noop", "name": "other"}, "another name"),
        ({"kind": "noop", "host": "a\x00b"}, "host"),
        ([], "no JSON object"),
    ],
)
async def test_a_job_that_cannot_be_is_refused(web: Web, body: Any, said: str) -> None:
    answer = await web.call("PUT", f"{API}/jobs/job", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["detail"], answer.text


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
async def test_what_is_no_json_is_refused(web: Web, body: bytes) -> None:
    async with web.client(Role.ADMIN) as client:
        answer = await client.put(f"{API}/jobs/job", content=body)
        assert problem(answer) == (400, "USAGE")


async def test_a_body_has_a_limit(web: Web) -> None:
    async with web.client(Role.ADMIN) as client:
        answer = await client.put(f"{API}/jobs/job", content=b" " * (1 << 20) + b"{}")
        assert problem(answer) == (413, "BODY_TOO_LARGE")


async def test_lists_come_in_pages(web: Web) -> None:
    for number in range(5):
        await web.scene.job(f"job-{number}", overlap="allow")
        await web.scene.queue.request(f"job-{number}")
    assert await walk(web, f"{API}/jobs", "name") == [f"job-{n}" for n in range(5)]
    runs = await walk(web, f"{API}/runs", "id")
    assert runs == sorted(runs, reverse=True)
    assert len(runs) == 5
    only = await web.get(f"{API}/runs?job=job-3&status=queued")
    assert [run["job"] for run in only.json()["items"]] == ["job-3"]
    for wrong in ("limit=0", "limit=501", "limit=x", "status=odd", "cursor=x", "cursor=٣"):
        assert problem(await web.get(f"{API}/runs?{wrong}")) == (400, "USAGE"), wrong
    assert problem(await web.get(f"{API}/runs?job=job-9"))[0] == 404


async def walk(web: Web, path: str, key: str) -> list[Any]:
    """The whole list, two at a time."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = (await web.get(f"{path}?limit=2{cursor}")).json()
        found += [item[key] for item in page["items"]]
        if page["next"] is None:
            return found
        assert len(page["items"]) == 2
        cursor = f"&cursor={page['next']}"


async def test_a_run_is_asked_for_cancelled_and_retried(web: Web) -> None:
    await web.scene.job("job")
    asked = await web.call("POST", f"{API}/jobs/job/run", Role.OPERATOR)
    run = asked.json()
    assert (asked.status_code, run["status"]) == (202, "queued")
    assert run["trigger"] == {"by": "user", "user": "operator", "event": None}
    assert problem(await web.call("POST", f"{API}/jobs/job/run"))[0] == 409
    cancelled = await web.call("POST", f"{API}/runs/{run['id']}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    assert problem(await web.call("POST", f"{API}/runs/{run['id']}/cancel"))[0] == 409
    again = await web.call("POST", f"{API}/runs/{run['id']}/retry")
    assert again.json()["attempt"] == 2
    assert (await web.get(f"{API}/runs/{run['id']}")).json()["late_results"] == []
    for wrong in ("0", "x", str(2**63)):
        assert problem(await web.get(f"{API}/runs/{wrong}"))[0] == 400
    assert problem(await web.get(f"{API}/runs/999"))[0] == 404


async def test_a_log_is_followed_to_its_end(web: Web) -> None:
    await web.scene.job("job")
    run = await web.scene.queue.request("job")
    path = f"{API}/runs/{run.id}/logs"
    assert (await web.get(path)).json() == {"items": [], "next": 0, "status": "queued"}
    await write(web, run.id, "first", "second")
    piece = (await web.get(path)).json()
    assert [item["text"] for item in piece["items"]] == ["first", "second"]
    assert (await web.get(f"{path}?after={piece['next']}")).json()["items"] == []
    await write(web, run.id, "third")
    await web.scene.queue.cancel(run.id)
    rest = (await web.get(f"{path}?after={piece['next']}")).json()
    assert ([item["text"] for item in rest["items"]], rest["status"]) == (["third"], "cancelled")
    assert (await web.get(f"{path}?after={rest['next']}")).json()["next"] is None


async def write(web: Web, run_id: int, *lines: str) -> None:
    for line in lines:
        await web.scene.rows(
            "INSERT INTO run_logs (run_id, text) VALUES (%s, %s) RETURNING id", run_id, line
        )


async def test_jobs_are_switched_and_explained(web: Web) -> None:
    await web.scene.job("job", every="1h")
    times = (await web.get(f"{API}/jobs/job/next?n=3")).json()["items"]
    assert len(times) == 3
    off = await web.call("POST", f"{API}/jobs/job/disable", Role.OPERATOR)
    assert off.json()["enabled"] is False
    why = (await web.get(f"{API}/jobs/job/why")).json()
    assert "The job is disabled; nothing is planned." in why["answer"]
    on = await web.call("POST", f"{API}/jobs/job/enable", Role.OPERATOR)
    assert on.json()["enabled"] is True
    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat().replace("+", "%2B")
    assert (await web.get(f"{API}/jobs/job/why?at={at}")).json()["at"] is not None
    assert problem(await web.get(f"{API}/jobs/job/why?at=later")) == (400, "USAGE")


async def test_groups_and_windows(web: Web) -> None:
    group = await web.call("PUT", f"{API}/groups/disk", json={"limit": 2})
    assert group.json() == {"name": "disk", "limit": 2, "running": 0, "waiting": 0}
    assert problem(await web.call("PUT", f"{API}/groups/disk", json={"limit": 0}))[0] == 400
    window = {"from": "22:00", "to": "04:00", "days": ["sat"], "tags": ["db"]}
    made = await web.call("PUT", f"{API}/windows/night", json=window)
    assert window.items() <= made.json().items()
    assert (await web.get(f"{API}/windows/night")).json() == made.json()
    assert (await web.call("DELETE", f"{API}/windows/night")).status_code == 204
    assert problem(await web.call("DELETE", f"{API}/windows/night"))[0] == 404
    assert problem(await web.get(f"{API}/windows/night"))[0] == 404


async def test_a_server_is_drained(web: Web) -> None:
    await web.scene.rows(
        "INSERT INTO servers (instance, host, pid, version, max_concurrent_runs)"
        " VALUES ('control-1', 'h', 1, '1', 4) RETURNING instance"
    )
    answer = await web.call("POST", f"{API}/servers/control-1/drain", Role.OPERATOR)
    assert answer.json() == {"draining": ["control-1"], "running": 0}
    (server,) = (await web.get(f"{API}/servers")).json()["items"]
    assert server["state"] == "draining"
    assert problem(await web.call("POST", f"{API}/servers/control-2/drain"))[0] == 404


async def test_backups_are_made_by_runs_of_jobs(web: Web) -> None:
    assert (await web.get(f"{API}/backups/postgres")).json() == {"items": [], "next": None}
    assert problem(await web.get(f"{API}/backups/postgres/20260101T000000Z"))[0] == 404
    assert problem(await web.call("POST", f"{API}/backups/postgres/verify"))[0] == 404
    await web.scene.job(VERIFY)
    run = (await web.call("POST", f"{API}/backups/postgres/verify", Role.OPERATOR)).json()
    assert run["job"] == VERIFY
    assert problem(await web.call("POST", f"{API}/backups/postgres/fly"))[0] == 400


def test_generations_are_described_as_they_are(tmp_path: Any) -> None:
    empty = Generation(tmp_path, None, (), (), None, None)
    assert empty.state is not GenerationState.COMPLETE
    assert set(empty.as_dict()) == set(GenerationShape.model_fields)


async def test_tokens_are_made_listed_and_revoked(web: Web) -> None:
    body = {"name": "ci", "role": "operator", "expires_in": 3600}
    made = await web.call("POST", f"{API}/tokens", json=body)
    assert made.status_code == 201
    secret = made.json()["token"]
    listed = await web.get(f"{API}/tokens", Role.ADMIN)
    assert "ci" in [token["name"] for token in listed.json()["items"]]
    assert not any(value in listed.text for value in (secret, *web.tokens.values()))
    async with web.client(headers={"Authorization": f"Bearer {secret}"}) as client:
        assert (await client.get(f"{API}/jobs")).status_code == 200
        assert (await web.call("DELETE", f"{API}/tokens/ci")).json()["revoked_at"] is not None
        refused = await client.get(f"{API}/jobs")
    assert problem(refused) == (401, "UNAUTHENTICATED")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert problem(await web.call("POST", f"{API}/tokens", json={"name": "x"}))[0] == 400


async def test_secrets_of_jobs_show_nowhere(web: Web) -> None:
    headers = {"Authorization": "Bearer hidden-value"}
    params = {"argv": ["true"], "env": {"API_TOKEN": "hidden-value", **headers}}
    made = await web.call("PUT", f"{API}/jobs/job", json={"kind": "command", "params": params})
    assert made.status_code == 201
    run = (await web.call("POST", f"{API}/jobs/job/run")).json()
    for path in ("jobs", "jobs/job", "jobs/job/why", "runs", f"runs/{run['id']}"):
        answer = await web.get(f"{API}/{path}", Role.ADMIN)
        assert answer.status_code == 200
        assert "hidden-value" not in answer.text, path
    assert (await web.scene.queue.get(run["id"])).status is RunStatus.QUEUED


async def test_health_is_a_document(web: Web) -> None:
    assert (await web.get(f"{API}/health")).json() == {"status": "ready", "checks": {}}
