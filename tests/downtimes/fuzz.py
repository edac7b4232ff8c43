"""Random and mutated messages: none may crash anything, and each is used or rejected with a reason.

``python -m tests.downtimes.fuzz [COUNT]``: a million through decoding and the rule alone, and a
fifth of that through the whole intake, into the tables or the dead letters.
"""

import asyncio
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import structlog

from leitstand.downtimes import Applier, Counts, DeadLetters, Intake, open_target
from leitstand.downtimes.downtime import Event, Key
from leitstand.downtimes.message import Rejected, decode
from leitstand.downtimes.transition import Facts, transition
from leitstand.store.database import Database
from leitstand.store.jsonb import json_text
from tests.campaign_server import campaign_server
from tests.downtimes.core import body, play
from tests.mariadb_server import mariadb_server

AT_ONCE = 1000
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, -1, 2**31, 2**32, 2**63, 2**64, 10**400, 1.5, 7200.0),
    *("", "x", "2", "a" * 300, "🔧" * 2000, "\0", "\ud800", [], {}, [[]], {"type": 1103}),
]


def mutated(chance: random.Random, count: int) -> Iterator[bytes]:
    """Messages that were damaged in some way, or never were any."""
    good = [body(one) for one in play(chance, 200)]
    for _ in range(count):
        yield _damaged(chance, chance.choice(good))


def _damaged(chance: random.Random, good: bytes) -> bytes:
    match chance.randrange(8):
        case 0:
            return chance.randbytes(chance.randrange(200))
        case 1:
            return good[: chance.randrange(len(good))]
        case 2 | 3:
            return _bytes_changed(chance, good)
        case 4 | 5:
            return _value_changed(chance, good)
        case 6:
            parts = [_value_changed(chance, good) for _ in range(chance.randrange(4))]
            return b'{"messages": [' + b",".join(parts) + b"]}"
        case _:
            return good


def _bytes_changed(chance: random.Random, good: bytes) -> bytes:
    changed = bytearray(good)
    for _ in range(chance.randrange(1, 6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _value_changed(chance: random.Random, good: bytes) -> bytes:
    document = json.loads(good)
    fields = chance.choice([document, document["downtime"]])
    name = chance.choice(list(fields))
    if chance.random() < 0.2:
        del fields[name]
    else:
        fields[name] = chance.choice(VALUES)
    return json.dumps(document).encode()


async def fuzz(intake: Intake, count: int, seed: int) -> tuple[Counts, int, set[bytes]]:
    """Take ``count`` messages in; the counts, how many parts there were, the bad ones' bodies."""
    counts, parts, bad = Counts(), 0, set[bytes]()
    messages = mutated(random.Random(seed), count)
    while batch := list(islice(messages, AT_ONCE)):
        counts.add(await intake.take(batch))
        found = [one for raw in batch for one in decode(raw)]
        parts += len(found)
        bad |= {one.body for one in found if isinstance(one, Rejected)}
    return counts, parts, bad


def ruled(count: int, seed: int) -> Counter[str]:
    """Decode ``count`` messages and decide about their events, each twice; what came of them.

    What is decided again changes nothing, and every event can be handed on.
    """
    found, facts = Counter[str](), dict[Key, Facts]()
    for number, raw in enumerate(mutated(random.Random(seed), count)):
        if number % AT_ONCE == 0:
            facts.clear()
        for one in decode(raw):
            if isinstance(one, Rejected):
                assert one.detail
                found[one.problem] += 1
            else:
                found[_decided(one, facts)] += 1
    return found


def _decided(event: Event, facts: dict[Key, Facts]) -> str:
    json_text(event.document)
    key = event.downtime.key("fuzz")
    decision = transition(event, facts.get(key, Facts()))
    again = transition(event, decision.facts)
    assert (again.facts, again.applied) == (decision.facts, False), event
    facts[key] = decision.facts
    return decision.why


async def long_fuzz(count: int, seed: int) -> bool:
    """On servers of its own; whether every message is accounted for."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with campaign_server() as (_, conninfo), mariadb_server(on_disk=True) as mariadb:
        url = mariadb.create_database("fuzz")
        async with open_target(url) as target, Database(conninfo) as database:
            await target.create_tables()
            letters = DeadLetters(database)
            intake = Intake(Applier(target, "fuzz"), letters, "fuzz")
            counts, parts, bad = await fuzz(intake, count, seed)
            kept = await letters.count()
    accounted = counts.applied + counts.ignored.total() + counts.rejected.total()
    print(f"{count} messages of {parts} parts: {counts}; {kept} distinct dead letters")
    return accounted == parts and kept == len(bad) and not counts.rejected["refused_by_database"]


def main() -> int:
    """Run it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    print(f"{count} messages: {ruled(count, seed)}")
    return 0 if asyncio.run(long_fuzz(count // 5, seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
