"""Messages that people hand in: files of them, and dead letters that are tried again."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from leitstand.downtimes.backoff import patiently
from leitstand.downtimes.dead_letters import DeadLetters
from leitstand.downtimes.intake import Counts, Intake

AT_ONCE = 500
"""Lines of one transaction."""


async def ingest(lines: Iterable[bytes], intake: Intake) -> Counts:
    """Take messages in, one a line, in order; empty lines do not count.

    What fails for a transient reason is tried again for some seconds. If it raises, what came
    before the failed 500 lines is in the tables, and the same file may be handed in again.
    """
    counts = Counts()
    bodies = (body for line in lines if (body := line.rstrip(b"\r\n")).strip())
    for batch in _batches(bodies):
        counts.add(await patiently(partial(intake.take, batch)))
    return counts


async def replay(
    dead_letters: DeadLetters, letter_ids: Iterable[int], intake_of: Callable[[str], Intake]
) -> Counts:
    """Take dead letters in again, in the order given; what is accepted now is no letter any more.

    ``intake_of`` makes the intake for a letter's source. Raises NotFoundError for an unknown one.
    """
    counts = Counts()
    for letter_id in letter_ids:
        letter = await dead_letters.get(letter_id)
        intake = intake_of(letter.source)
        taken = await patiently(partial(intake.take, [letter.body or b""]))
        if not taken.rejected:
            await dead_letters.forget(letter_id)
        counts.add(taken)
    return counts


def _batches(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    remaining = iter(bodies)
    while batch := list(islice(remaining, AT_ONCE)):
        yield batch
