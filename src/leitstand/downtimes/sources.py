"""Chooses the queue's transport by the scheme of its URL."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from leitstand.downtimes.feed import Source
from leitstand.downtimes.gearman import DEFAULT_PORT, GearmanSource
from leitstand.downtimes.turn import DatabaseTurn
from leitstand.errors import UsageError

AMQP = ("amqp", "amqps")


@dataclass(frozen=True)
class QueueSettings:
    """Where the messages come from; the last four matter to RabbitMQ only."""

    source: str
    queue: str
    batch: int = 500
    exchange: str = "statusengine"
    routing_key: str = ""
    durable_queue: bool = False
    durable_exchange: bool = False


def check_source(source: str) -> None:
    """Raise UsageError unless ``make_source`` understands the URL."""
    try:
        url = urlsplit(source)
        known = url.scheme in (*AMQP, "gearman") and bool(url.hostname) and url.port != 0
    except ValueError:  # a port that is no number
        known = False
    if not known:
        raise UsageError(
            "it is no queue's URL",
            remedy="amqp://user:password@host/ for RabbitMQ, gearman://host for Gearman.",
        )


def make_source(settings: QueueSettings, conninfo: str) -> Source:
    """The source; ``conninfo`` is the control database, through which servers take turns."""
    check_source(settings.source)
    url = urlsplit(settings.source)
    if url.scheme in AMQP:
        return _rabbit_source(settings)
    turn = DatabaseTurn(conninfo, settings.queue)
    return GearmanSource(url.hostname or "", url.port or DEFAULT_PORT, settings.queue, turn)


def _rabbit_source(settings: QueueSettings) -> Source:
    # Imported here: aio-pika costs 0.3 s, which only a server that consumes from it should pay.
    from leitstand.downtimes.rabbitmq import RabbitSettings, RabbitSource  # noqa: PLC0415

    return RabbitSource(
        RabbitSettings(
            url=settings.source,
            queue=settings.queue,
            routing_key=settings.routing_key or settings.queue,
            exchange=settings.exchange,
            durable_queue=settings.durable_queue,
            durable_exchange=settings.durable_exchange,
            batch=settings.batch,
        )
    )
