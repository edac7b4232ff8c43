"""What is kept and proven, over HTTP."""

from datetime import UTC, datetime

from leitstand.archive import (
    ListedSnapshot,
    ProofFinding,
    SectionReport,
    SnapshotState,
    broken_seals,
)
from leitstand.web.api.archive_shapes import ProofFindingShape, ProofSectionShape, SnapshotShape
from tests.web.scene import Web

API = "/api/v1"


async def test_a_repository_that_cannot_be_opened_says_what_to_do(web: Web) -> None:
    answer = await web.get(f"{API}/backups/objects")
    assert (answer.status_code, answer.json()["code"]) == (400, "OBJECT_PASSWORD_MISSING")
    assert "password_file" in answer.json()["remedy"]


async def test_the_proof_is_sealed(web: Web) -> None:
    proof = (await web.get(f"{API}/proof")).json()
    assert proof["clean"] is True
    assert broken_seals(proof) == []
    assert broken_seals({**proof, "clean": False})


def test_snapshots_and_findings_are_described_as_they_are() -> None:
    snapshot = ListedSnapshot("id", SnapshotState.COMPLETE, datetime.now(UTC))
    assert set(snapshot.as_dict()) == set(SnapshotShape.model_fields)
    assert set(SectionReport("n", "t").as_dict()) == set(ProofSectionShape.model_fields)
    assert set(ProofFinding("s", "p").as_dict()) == set(ProofFindingShape.model_fields)


async def test_drills_come_in_pages(web: Web) -> None:
    for number in range(3):
        await web.scene.rows(
            "INSERT INTO drills (kind, source, success, detail, phases)"
            " VALUES (%s, %s, TRUE, 'd', '{}') RETURNING id",
            "objects" if number == 1 else "database",
            str(number),
        )
    first = (await web.get(f"{API}/drills?limit=2")).json()
    assert [each["source"] for each in first["items"]] == ["2", "1"]
    rest = (await web.get(f"{API}/drills?limit=2&cursor={first['next']}")).json()
    assert ([each["source"] for each in rest["items"]], rest["next"]) == (["0"], None)
    only = (await web.get(f"{API}/drills?kind=objects")).json()["items"]
    assert [each["source"] for each in only] == ["1"]
