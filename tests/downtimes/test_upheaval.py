"""Kill -9 and restarts in the middle of a stream leave the rows of a calm run."""

from tests.downtimes.conftest import Scene
from tests.downtimes.fuzz import fuzz
from tests.downtimes.queue_servers import RabbitMq
from tests.downtimes.upheaval import upheaval
from tests.mariadb_server import MariaDb


async def test_upheaval(mariadb: MariaDb, rabbitmq: RabbitMq, conninfo: str) -> None:
    """Case 2."""
    core = rabbitmq.fresh()
    found = await upheaval(mariadb, conninfo, core, downtimes=300, seed=5, share=0.4)
    assert found.clean, found
    assert found.messages > 1200


async def test_fuzz(scene: Scene) -> None:
    """Each message is accounted for; a million by ``python -m tests.downtimes.fuzz``."""
    counts, parts, bad = await fuzz(scene.intake(), 1500, seed=1)
    assert counts.applied + counts.ignored.total() + counts.rejected.total() == parts
    assert not counts.rejected["refused_by_database"]
    assert await scene.dead_letters.count() == len(bad)
