"""The queue and its dispatchers on a real database."""

import asyncio
import contextlib

import pytest

from leitstand.errors import ConflictError, NotFoundError, UsageError
from leitstand.notifications import Claimed, DeliveryError, Draft, Outbox, Status, Tally
from leitstand.store.database import Database
from tests.jobs.scene import eventually
from tests.notifications.scene import Mailbox, dispatcher


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


async def test_what_is_stored_is_sent_in_order_of_creation(
    outbox: Outbox, mailbox: Mailbox
) -> None:
    ids = [await outbox.enqueue("log", "log", {"n": n}) for n in range(5)]
    assert (await outbox.get(ids[0])).status is Status.PENDING
    tally = await dispatcher(outbox, mailbox, concurrency=1).process_due(3)
    assert tally == Tally(sent=3)
    assert await dispatcher(outbox, mailbox, concurrency=1).process_due() == Tally(sent=2)
    assert mailbox.order == ids
    assert (await outbox.get(ids[0])).status is Status.SENT


async def test_it_exists_when_the_callers_transaction_does(
    outbox: Outbox, database: Database
) -> None:
    async with database.transaction() as connection:
        kept = await outbox.enqueue_in(connection, [Draft("log", "log")])
    with contextlib.suppress(ZeroDivisionError):
        async with database.transaction() as connection:
            lost = await outbox.enqueue_in(connection, [Draft("log", "log")])
            raise ZeroDivisionError
    assert [each.id for each in await outbox.list_all()] == list(kept.values())
    assert set(lost) != set(kept)


async def test_nobody_is_no_recipient(outbox: Outbox) -> None:
    for channel, recipient in (("", "log"), ("log", " ")):
        with pytest.raises(UsageError):
            await outbox.enqueue(channel, recipient)


async def test_a_failure_is_tried_again_until_it_is_dead(outbox: Outbox, mailbox: Mailbox) -> None:
    """Dead rows stay dead, until an operator has them tried anew under the same message id."""
    mailbox.refusal = lambda _: DeliveryError("busy")
    one = await outbox.enqueue("log", "log")
    worker = dispatcher(outbox, mailbox)

    async def dead() -> bool | None:
        await worker.process_due()
        return (await outbox.get(one)).status is Status.FAILED or None

    await eventually(dead)
    found = await outbox.get(one)
    assert (found.attempts, found.last_error) == (5, "busy")
    assert await worker.process_due() == Tally()

    mailbox.refusal = lambda _: None
    again = await outbox.retry(one)
    assert (again.status, again.attempts) == (Status.PENDING, 0)
    assert await worker.process_due() == Tally(sent=1)
    assert mailbox.taken == {str(found.message_id): 1}
    with pytest.raises(ConflictError, match="sent"):
        await outbox.retry(one)
    with pytest.raises(NotFoundError):
        await outbox.retry(one + 1)


async def test_one_bad_row_holds_up_no_other(outbox: Outbox, mailbox: Mailbox) -> None:
    """Case 35: what is refused for good is dead at once, the other 19 are sent."""
    ids = [await outbox.enqueue("log", "log", {"n": n}) for n in range(20)]
    refused = DeliveryError("550 no such user", permanent=True)
    mailbox.refusal = lambda claimed: refused if claimed.notification.id == ids[6] else None
    assert await dispatcher(outbox, mailbox).process_due() == Tally(sent=19, failed=1)
    dead = await outbox.get(ids[6])
    assert (dead.status, dead.attempts) == (Status.FAILED, 1)


async def test_a_sender_that_hangs_is_cut_off_while_others_flow(
    outbox: Outbox, mailbox: Mailbox
) -> None:
    """Case 33: the total deadline ends it, and nothing of the database is held meanwhile."""
    ids = [await outbox.enqueue("log", "log", {"n": n}) for n in range(12)]
    mailbox.hanging = {ids[0]}
    worker = dispatcher(outbox, mailbox, deadline=1.0, concurrency=2)
    assert await worker.process_due() == Tally(sent=11, retried=1)
    hung = await outbox.get(ids[0])
    assert hung.last_error == "it was not taken within 1 s"


async def test_a_fault_in_a_sender_is_one_messages_alone(
    outbox: Outbox, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    await outbox.enqueue("log", "log")

    def faulty(_: Claimed) -> DeliveryError:
        raise ZeroDivisionError

    mailbox.refusal = faulty
    assert await dispatcher(outbox, mailbox).process_due() == Tally(retried=1)


async def test_two_dispatchers_share_the_rows(outbox: Outbox, mailbox: Mailbox) -> None:
    await _enqueue(outbox, 300)
    workers = [dispatcher(outbox, mailbox) for _ in range(2)]
    tallies = await asyncio.gather(*(worker.process_due() for worker in workers))
    assert sum(tally.sent for tally in tallies) == 300
    assert len(mailbox.taken) == 300
    assert set(mailbox.taken.values()) == {1}


async def test_a_worker_that_lost_its_lease_records_nothing(outbox: Outbox) -> None:
    """Case 41: reclaimed after the lease, the attempt counted, the doubt flagged."""
    one = await outbox.enqueue("log", "log")
    (first,) = await outbox.claim(10, lease_seconds=0.0)
    (second,) = await outbox.claim(10, lease_seconds=60.0)
    assert second.notification.attempts == 2
    assert second.notification.in_doubt
    assert second.notification.message_id == first.notification.message_id
    assert not await outbox.record_sent(first.held)
    assert not await outbox.record_failure(first.held, "late", None)
    assert (await outbox.get(one)).status is Status.SENDING
    assert await outbox.record_sent(second.held)


async def test_a_lease_that_expires_in_the_last_attempt_ends_as_failed(database: Database) -> None:
    outbox = Outbox(database, max_attempts=1)
    one = await outbox.enqueue("log", "log")
    await outbox.claim(1, lease_seconds=0.0)
    assert await outbox.claim(1, lease_seconds=60.0) == []
    found = await outbox.get(one)
    assert (found.status, found.in_doubt) == (Status.FAILED, True)


async def test_a_duty_sends_what_comes_at_once(
    outbox: Outbox, mailbox: Mailbox, conninfo: str
) -> None:
    """Woken by the database, and by itself for what waits for a further attempt."""
    refusals = iter([DeliveryError("busy"), None])
    mailbox.refusal = lambda _: next(refusals, None)
    duty = asyncio.create_task(dispatcher(outbox, mailbox).run(conninfo))
    try:
        one = await outbox.enqueue("log", "log")

        async def sent() -> bool | None:
            return (await outbox.get(one)).status is Status.SENT or None

        await eventually(sent)
        assert (await outbox.get(one)).attempts == 2
    finally:
        duty.cancel()
        await asyncio.gather(duty, return_exceptions=True)


async def test_a_group_shares_a_message(
    outbox: Outbox, mailbox: Mailbox, database: Database
) -> None:
    """Case 46: two alerts of one group at the same time are one message; others stay apart."""
    async with database.transaction() as connection:
        drafts = [Draft("alert", "a@b", {"n": n}, group="disk") for n in range(3)]
        other = [Draft("alert", "c@d", {"n": 9}, group="disk"), Draft("alert", "a@b", {"n": 8})]
        await outbox.enqueue_in(connection, [*drafts, *other])
    assert await dispatcher(outbox, mailbox).process_due() == Tally(sent=3)
    together = next(claimed for claimed in mailbox.claims if claimed.bundled)
    assert together.notification.payload == {"n": 0}
    assert [payload["n"] for payload in together.bundled] == [1, 2]
    assert {each.status for each in await outbox.list_all()} == {Status.SENT}


async def test_what_was_sent_before_gets_no_company(outbox: Outbox, mailbox: Mailbox) -> None:
    """Receivers know a message by its id: what joined one that they have would be lost to them."""
    mailbox.refusal = lambda _: DeliveryError("no", permanent=True)
    first = await outbox.enqueue_all([Draft("alert", "a@b", {"n": 1}, group="disk")])
    await dispatcher(outbox, mailbox).process_due()
    mailbox.refusal = lambda _: None
    await outbox.retry(*first)
    await outbox.enqueue_all([Draft("alert", "a@b", {"n": 2}, group="disk")])
    assert await dispatcher(outbox, mailbox).process_due() == Tally(sent=2)
    assert not any(claimed.bundled for claimed in mailbox.claims)


async def test_old_ones_are_pruned(outbox: Outbox, mailbox: Mailbox) -> None:
    await _enqueue(outbox, 3)
    await dispatcher(outbox, mailbox).process_due(2)
    assert await outbox.prune(3600.0) == 0
    assert await outbox.prune(0.0) == 2
    backlog = await outbox.backlog()
    assert (backlog.pending, backlog.failed) == (1, 0)
    assert backlog.oldest is not None


async def _enqueue(outbox: Outbox, count: int) -> None:
    async with outbox._database.transaction() as connection:
        await outbox.enqueue_in(connection, [Draft("log", "log", {"n": n}) for n in range(count)])
