"""The long campaign: ``python -m tests.chaos``; DURATION in seconds and SEED from the environment.

All faults in random order, round after round; exit status 1 when a number is not what it should be.
With PEER=procrastinate the same faults then strike procrastinate, for comparison.
"""

import asyncio
import os
import random
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tests.chaos.arena import Arena
from tests.chaos.campaign import campaign, for_seconds, leitstand_on, procrastinate_on
from tests.chaos.contestant import GROUP_LIMIT, RESCUE_LIMIT, Contestant
from tests.chaos.faults import FAULTS, WITHOUT_AGENTS
from tests.chaos.verdict import Verdict, table
from tests.conftest import postgres_with_schema, temporary_short_dir

CONTESTANTS: dict[str, Callable[..., AbstractAsyncContextManager[tuple[Contestant, Arena]]]] = {
    "leitstand": leitstand_on,
    "procrastinate": procrastinate_on,
}


async def long_campaign(name: str, seconds: float, seed: int) -> Verdict:
    """A contestant on a server of the campaign's own, which is gone afterwards."""
    chance = random.Random(seed)
    with (
        temporary_short_dir(on_disk=True) as directory,
        postgres_with_schema(directory) as postgres,
    ):
        async with CONTESTANTS[name](postgres, directory, chance) as (contestant, arena):
            faults = WITHOUT_AGENTS if arena.hire_agent is None else FAULTS
            return await campaign(contestant, arena, for_seconds(faults, chance, seconds), print)


def main() -> int:
    """Run it, and print the table, after each contestant."""
    seconds = float(os.environ.get("DURATION", "600"))
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"{seconds:g} s, SEED={seed}")
    names = ["leitstand", *os.environ.get("PEER", "").split()]
    verdicts: dict[str, Verdict] = {}
    for name in names:
        verdicts[name] = asyncio.run(long_campaign(name, seconds, seed))
        print(table(verdicts), flush=True)
    return 0 if verdicts["leitstand"].clean(GROUP_LIMIT, RESCUE_LIMIT) else 1


if __name__ == "__main__":
    sys.exit(main())
