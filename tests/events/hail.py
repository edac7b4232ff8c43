"""A hail of webhook calls at several servers, some repeated, some signed wrongly, one killed."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import httpx

from tests.events.hook_scene import OTHER_SECRET, Sender

AT_ONCE = 16


@dataclass(frozen=True)
class Planned:
    """A call: the sender's id, and whether it is signed as it has to be."""

    number: str
    right: bool = True


@dataclass
class Answers:
    """How calls were answered: ids by status, and how often no answer came."""

    taken: Counter[str] = field(default_factory=Counter)
    """Ids with the answers 202."""
    repeated: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    broken: int = 0


def plan(name: str, calls: int, repeated: int, wrong: int) -> list[Planned]:
    """So many calls, of which some repeat the id of others, and some are signed wrongly."""
    dice = random.Random(name)
    numbers = [f"{name}_{number}" for number in range(calls - repeated - wrong)]
    planned = [Planned(number) for number in (*numbers, *dice.sample(numbers, repeated))]
    planned += [Planned(f"{name}_wrong_{number}", right=False) for number in range(wrong)]
    dice.shuffle(planned)
    return planned


async def hail(
    addresses: Sequence[str], planned: Sequence[Planned], amid: Callable[[], None] = lambda: None
) -> Answers:
    """Send all calls; one without an answer is sent again elsewhere, as senders do.

    ``amid`` is called when half of them have been sent.
    """
    answers = Answers()
    left = list(reversed(planned))
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=address, timeout=30))
            for address in addresses
        ]

        async def send_on() -> None:
            while left:
                call = left.pop()
                if len(left) == len(planned) // 2:
                    amid()
                await _send(clients, call, answers)

        await asyncio.gather(*(send_on() for _ in range(AT_ONCE)))
    return answers


async def _send(clients: Sequence[httpx.AsyncClient], call: Planned, answers: Answers) -> None:
    """At any of the servers; the next one if that does not answer."""
    first = random.randrange(len(clients))
    for client in [*clients[first:], *clients[:first]]:
        sender = Sender(client)
        sender.secret = sender.secret if call.right else OTHER_SECRET
        try:
            answer = await sender.send(call.number, {"number": call.number})
        except httpx.TransportError:
            answers.broken += 1
            continue
        if answer.status_code == 202:
            answers.taken[call.number] += 1
            answers.repeated += answer.json()["repeated"]
        else:
            answers.refused[answer.status_code] += 1
        return
    raise AssertionError("no server answers")
