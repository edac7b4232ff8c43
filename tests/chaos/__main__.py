"""The long campaign: ``python -m tests.chaos``; DURATION in seconds and SEED from the environment.

All faults in random order, round after round; exit status 1 when a number is not what it should be.
"""

import asyncio
import os
import random
import shutil
import sys

from leitstand.store.schema import upgrade
from tests.chaos.campaign import campaign, for_seconds, leitstand_on
from tests.chaos.contestant import GROUP_LIMIT, STALE_AFTER, TICK
from tests.chaos.faults import FAULTS
from tests.chaos.verdict import Verdict, table
from tests.conftest import TEMPLATE, make_short_dir, start_postgres


async def long_campaign(seconds: float, seed: int) -> Verdict:
    """Leitstand on a server of the campaign's own, which is gone afterwards."""
    directory, chance = make_short_dir(), random.Random(seed)
    postgres = start_postgres(directory)
    try:
        postgres.create_database(TEMPLATE)
        upgrade(postgres.conninfo(TEMPLATE))
        async with leitstand_on(postgres, directory, chance) as (contestant, arena):
            return await campaign(contestant, arena, for_seconds(FAULTS, chance, seconds), print)
    finally:
        postgres.stop()
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    """Run it, and print the table."""
    seconds = float(os.environ.get("DURATION", "600"))
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"{seconds:g} s, SEED={seed}")
    verdict = asyncio.run(long_campaign(seconds, seed))
    print(table({"leitstand": verdict}))
    return 0 if verdict.clean(GROUP_LIMIT, STALE_AFTER + 2 * TICK) else 1


if __name__ == "__main__":
    sys.exit(main())
