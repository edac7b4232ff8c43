"""The short campaign: every fault once, in a fixed order, on real servers."""

import random
from pathlib import Path

from tests.chaos.campaign import campaign, each_once, leitstand_on
from tests.chaos.contestant import GROUP_LIMIT
from tests.chaos.faults import FAULTS
from tests.chaos.verdict import table
from tests.conftest import Postgres

RESCUED_WITHIN = 30.0
"""Seconds: that a rescue comes at all. How fast it comes, the long campaign judges."""


async def test_every_fault_once(own_postgres: Postgres, short_dir: Path) -> None:
    """Cases 1, 3, 11, 17, 42 to 50, 53, 62 and 68: nothing doubled, nothing lost, all rescued,
    on servers and on agents."""
    chance = random.Random(1)
    async with leitstand_on(own_postgres, short_dir, chance) as (contestant, arena):
        verdict = await campaign(contestant, arena, each_once(FAULTS, chance), print)
    print(table({"leitstand": verdict}))
    assert verdict.runs > verdict.by_agents > 0
    assert verdict.rescues
    assert verdict.clean(GROUP_LIMIT, RESCUED_WITHIN)
