"""How stages follow one another: each from exactly the one before, whatever it is called."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from leitstand.archive.postgres.chain import StageFacts, check_chain
from leitstand.archive.postgres.finding import FindingKind
from leitstand.archive.postgres.label import BackupLabel, Position
from leitstand.archive.postgres.lsn import format_lsn
from leitstand.archive.postgres.stage import Parent, StageKind, StageRecord

NOW = datetime(2026, 12, 1, 17, tzinfo=UTC)


def facts(number: int) -> StageFacts:
    """The stage ``number`` of a sound chain; 0 is the full backup."""
    before = Position(1, (number - 1) << 24 | 0x28) if number else None
    ident = f"20261201T17000{number}Z"
    parent = Parent(f"20261201T17000{number - 1}Z", f"{number - 1:064x}") if number else None
    record = StageRecord(
        id=ident,
        kind=StageKind.INCREMENTAL if number else StageKind.FULL,
        generation="20261201T170000Z",
        parent=parent,
        system_identifier="75",
        timeline=1,
        start_lsn=format_lsn(number << 24 | 0x28),
        end_lsn=format_lsn(number << 24 | 0x9999),
        started_at=NOW,
        finished_at=NOW,
        postgres_version="18.6",
        manifest_sha256=f"{number:064x}",
        files={},
        tablespaces=(),
    )
    return StageFacts(
        name=f"incremental/{ident}" if number else "full",
        id=ident if number else "full",
        label=BackupLabel(Position(1, number << 24 | 0x28), before),
        system_identifier="75",
        manifest_sha256=record.manifest_sha256,
        record=record,
    )


CHAIN = [facts(number) for number in range(4)]


def without_record(stage: StageFacts) -> StageFacts:
    return replace(stage, record=None)


def test_sound_chains() -> None:
    assert check_chain([]) == ()
    assert check_chain(CHAIN) == ()
    assert check_chain([without_record(stage) for stage in CHAIN]) == ()


def test_what_could_not_be_learnt_is_no_chain_finding() -> None:
    """An unreadable stage has findings of its own."""
    blank = replace(CHAIN[1], label=None, system_identifier=None, manifest_sha256=None, record=None)
    assert check_chain([CHAIN[0], blank, CHAIN[2], CHAIN[3]]) == ()


@pytest.mark.parametrize(
    "order", [(0, 2, 3), (0, 1, 3), (0, 2, 1, 3), (1, 2), (0, 1, 0), (0, 1, 1), (0, 0)]
)
@pytest.mark.parametrize("records", [True, False], ids=["records", "no records"])
def test_gaps_exchanges_and_repetitions(order: tuple[int, ...], records: bool) -> None:
    """Case 6; also without any record, from the labels in the archives alone."""
    stages = [CHAIN[number] if records else without_record(CHAIN[number]) for number in order]
    found = check_chain(stages)
    assert found
    assert {f.kind for f in found} == {FindingKind.CHAIN}


def test_increments_that_all_refer_to_the_full_backup() -> None:
    """The set that pg_combinebackup refuses."""
    origin = CHAIN[1].label
    assert origin is not None
    second = replace(CHAIN[2], record=None, label=replace(origin, start=Position(1, 2 << 24)))
    (finding,) = check_chain([CHAIN[0], CHAIN[1], second])
    assert finding.stage == second.name
    assert "the one before it, incremental/20261201T170001Z" in finding.problem


def test_another_time_line_or_system_breaks_the_chain() -> None:
    """Case 33."""
    label = replace(CHAIN[1].label or pytest.fail(), incremental_from=Position(2, 0x28))
    (finding,) = check_chain([CHAIN[0], replace(CHAIN[1], record=None, label=label)])
    assert "0/28 on time line 2" in finding.problem
    (finding,) = check_chain([CHAIN[0], replace(CHAIN[1], system_identifier="76")])
    assert finding.problem == "it comes from the system 76, full from 75"


def test_a_parent_is_known_by_its_manifest() -> None:
    """Case 2: the same name with another manifest is another backup."""
    (finding,) = check_chain([replace(CHAIN[0], manifest_sha256="f" * 64), CHAIN[1]])
    assert finding.problem == "the backup_manifest of full is not that of its parent"
