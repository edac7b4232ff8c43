"""Which answers are known of a database that goes on working while it is backed up."""

import json
from dataclasses import replace

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.canary import (
    CHANGED,
    SHRANK,
    Canaries,
    CanaryChoice,
    Mark,
    Reading,
    TableChoice,
    TableValues,
    difference,
    settle,
)
from leitstand.archive.postgres.canary_mark import KEPT, mark_differs
from leitstand.archive.postgres.canary_taking import MARK, CanaryTaking
from leitstand.archive.postgres.connection import Source
from tests.conftest import Postgres

DATABASE = "canary"
TABLE = TableChoice("d", "public.t", "id")
LOG = TableChoice("d", "public.log", "id", append_only=True)
numbers = st.integers(0, 50)


def settled(choice: TableChoice, first: TableValues, second: TableValues | None) -> Canaries:
    after = Reading(values={} if second is None else {choice: second})
    return settle(Reading("0/1", {choice: first}), after)


@given(numbers, numbers, numbers)
def test_what_grows_may_come_back_as_it_was_anywhere_between(
    least: int, grown: int, at: int
) -> None:
    """No state between the two readings fails a drill."""
    before, after = (TableValues(n, n or None, str(n), n) for n in (least, least + grown))
    (canary,) = settled(LOG, before, after).tables
    between = min(least + at, least + grown)
    assert difference(canary, TableValues(between, between or None, str(between))) is None
    assert difference(canary, TableValues(least + grown + 1, 1, "")) is not None
    if least:
        assert difference(canary, TableValues(least - 1, least, "")) is not None


def test_no_answer_is_known_of_what_changed_to_and_fro() -> None:
    """The same values before and after prove nothing, where rows were changed between."""
    before, after = TableValues(0, None, None, 7), TableValues(0, None, None, 9)
    found = settled(TABLE, before, after)
    assert (found.tables, found.left_out) == ((), {"d.public.t": CHANGED})
    assert settled(TABLE, before, None).left_out == {"d.public.t": "it could not be read again"}
    (canary,) = settled(TABLE, before, before).tables
    assert difference(canary, TableValues(0, None, None)) is None


def test_what_is_called_append_only_and_shrinks_has_no_answer() -> None:
    found = settled(LOG, TableValues(5, 5, "1", 5), TableValues(4, 5, "2", 6))
    assert (found.tables, found.left_out) == ((), {"d.public.log": SHRANK})


def test_a_greatest_key_that_is_lost_differs() -> None:
    (canary,) = settled(TABLE, TableValues(2, 9, "5"), TableValues(2, 9, "5")).tables
    assert difference(canary, TableValues(2, 8, "5")) == "its greatest id is 8, not 9"
    assert difference(canary, TableValues(2, None, "5")) == "its greatest id is None, not 9"


def test_the_record_keeps_them() -> None:
    mark = Mark("d", "i", "t", "s")
    found = settle(
        Reading("0/1", {LOG: TableValues(1, 1, "1")}, {"x": "y"}, mark),
        Reading(values={LOG: TableValues(2, 2, "3")}),
    )
    assert Canaries.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    with pytest.raises(ValueError, match="canaries cannot be read"):
        Canaries.from_dict({"lsn": "0/1"})


@pytest.fixture
def source(postgres: Postgres) -> Source:
    postgres.drop_database(DATABASE)
    postgres.create_database(DATABASE)
    return Source.parse(postgres.conninfo(DATABASE))


def taking(source: Source) -> CanaryTaking:
    return CanaryTaking(source, CanaryChoice(automatic=9), "20260101T000000Z")


def test_marks_are_few(source: Source, postgres: Postgres) -> None:
    with psycopg.connect(postgres.conninfo(DATABASE), autocommit=True) as connection:
        assert taking(source).before().mark is not None
        connection.execute(
            "INSERT INTO leitstand_canary.marks SELECT g::text, '', '0/0', '',"
            " now() - interval '1 day' FROM generate_series(1, 200) g"
        )
        last = taking(source).before().mark
        assert last is not None
        rows = connection.execute("SELECT id FROM leitstand_canary.marks").fetchall()
        assert len(rows) == KEPT
        assert (last.id,) in rows


def test_a_mark_must_be_as_it_was_written(source: Source, postgres: Postgres) -> None:
    mark = taking(source).before().mark
    assert mark is not None
    with psycopg.connect(postgres.conninfo(DATABASE)) as connection:
        assert mark_differs(connection, mark) is None
        changed = "holds something else than what was written"
        assert changed in str(mark_differs(connection, replace(mark, token="0")))
        assert changed in str(mark_differs(connection, replace(mark, answers_sha256="0")))
        assert "is not in the copy" in str(mark_differs(connection, replace(mark, id="0")))


def test_marks_of_somebody_else_are_left_alone(source: Source, postgres: Postgres) -> None:
    """A trigger on them would run with the rights of who backs up."""
    with psycopg.connect(postgres.conninfo(DATABASE), autocommit=True) as connection:
        connection.execute("CREATE ROLE marks_thief")
        try:
            connection.execute("CREATE SCHEMA leitstand_canary AUTHORIZATION marks_thief")
            found = taking(source)
            canaries = found.settled(found.before())
            assert canaries is not None
            assert canaries.mark is None
            assert "belongs to another role" in canaries.left_out[MARK]
        finally:
            connection.execute("DROP SCHEMA leitstand_canary; DROP OWNED BY marks_thief")
            connection.execute("DROP ROLE marks_thief")


def test_a_role_that_may_only_replicate_is_no_obstacle(source: Source, postgres: Postgres) -> None:
    with psycopg.connect(postgres.conninfo(DATABASE), autocommit=True) as connection:
        connection.execute("CREATE ROLE only_replicates LOGIN REPLICATION")
        try:
            poor = Source.parse(f"{postgres.conninfo(DATABASE)} user=only_replicates")
            found = taking(poor)
            canaries = found.settled(found.before())
            assert canaries is not None
            assert canaries.tables == ()
            assert "permission denied" in canaries.left_out[MARK]
        finally:
            connection.execute("DROP ROLE only_replicates")


def test_a_table_that_is_locked_is_left_out(source: Source, postgres: Postgres) -> None:
    with psycopg.connect(postgres.conninfo(DATABASE)) as other:
        other.execute("CREATE TABLE busy (id int PRIMARY KEY)")
        other.execute("CREATE TABLE idle (id int PRIMARY KEY)")
        other.commit()
        other.execute("LOCK TABLE busy")
        before = taking(source).before()
    assert [choice.table for choice in before.values] == ["public.idle"]
    assert "lock timeout" in before.problems[f"{DATABASE}.public.busy"]
