"""What a client gets first: what it has missed since an id."""

from collections.abc import AsyncIterator, Collection

from leitstand.live.message import GAP, Message, notice
from leitstand.live.message_ledger import Bounds, MessageLedger


async def replay(
    ledger: MessageLedger, topics: Collection[str], after: int | None, position: int
) -> AsyncIterator[Message]:
    """The messages after ``after`` up to ``position``, the end of what there is; None: no message.

    The ids never fall, so that the last one is always what to ask for the next time. Where messages
    are no longer there, or ``after`` is from another database, one with the topic ``gap`` says so.
    """
    begin = position if after is None else after
    if begin > position:
        yield notice(position, GAP, {"after": begin})
    while begin < position:
        missed = await ledger.missed(begin, position, topics)
        # Looked at afterwards, since old messages may go away at any time.
        if is_gap(begin, await ledger.bounds()):
            yield notice(begin, GAP, {"after": begin})
        for message in missed:
            yield message
        begin = missed[-1].id if missed else position


def is_gap(after: int, bounds: Bounds) -> bool:
    """Whether messages after this one may be gone."""
    return bounds.oldest is None or bounds.oldest > after + 1
