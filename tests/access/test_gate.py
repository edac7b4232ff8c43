"""The gate: one answer for all that is not valid, and patience with nobody who guesses."""

import pytest

from leitstand.access import (
    AccessLedger,
    Caller,
    Gate,
    Role,
    UnauthenticatedError,
)
from leitstand.access.gate import LIMIT
from leitstand.failed_attempts import WINDOW, FailedAttempts, TooManyFailuresError
from leitstand.store.database import Database


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(database: Database, clock: Clock) -> Gate:
    return Gate(AccessLedger(database), 3600.0, FailedAttempts(LIMIT, clock))


async def refused(gate: Gate, header: bytes | None, address: str = "10.0.0.1") -> str:
    with pytest.raises(UnauthenticatedError) as caught:
        await gate.caller(header, None, address)
    return caught.value.message


async def test_whatever_is_not_valid_gets_one_answer(gate: Gate, database: Database) -> None:
    ledger = AccessLedger(database)
    _, revoked = await ledger.create_token("old", Role.ADMIN, "root")
    await ledger.revoke_token("old")
    headers = [
        b"Bearer " + revoked.encode(),
        b"Bearer lst_unknown",
        b"Bearer \xff\xfe\x00",
        b"Bearer",
        b"",
        b"Basic cm9vdDpyb290",
        revoked.encode(),
    ]
    assert len({await refused(gate, header) for header in headers}) == 1


async def test_a_valid_token(gate: Gate, database: Database) -> None:
    _, secret = await AccessLedger(database).create_token("ci", Role.VIEWER, "root")
    for scheme in (b"Bearer ", b"bearer ", b"BEARER  "):
        found = await gate.caller(scheme + secret.encode(), None, "10.0.0.1")
        assert found == Caller("ci", Role.VIEWER)


async def test_who_guesses_has_to_wait(gate: Gate, database: Database, clock: Clock) -> None:
    _, secret = await AccessLedger(database).create_token("ci", Role.VIEWER, "root")
    valid = b"Bearer " + secret.encode()
    for _ in range(LIMIT):
        await refused(gate, b"Bearer lst_guess")
    with pytest.raises(TooManyFailuresError) as caught:
        await gate.caller(valid, None, "10.0.0.1")
    assert caught.value.retry_after == WINDOW
    await gate.caller(valid, None, "10.0.0.2")
    clock.now = WINDOW
    await gate.caller(valid, None, "10.0.0.1")


async def test_who_sends_nothing_is_not_guessing(gate: Gate) -> None:
    for _ in range(LIMIT + 1):
        await refused(gate, None)
