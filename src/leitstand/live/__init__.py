"""Messages to whoever listens at any control server, in order, and again after a gap."""

from leitstand.live.broadcast import Broadcast
from leitstand.live.hub import Hub
from leitstand.live.message import SUBSCRIBED, Message, notice
from leitstand.live.message_ledger import MessageLedger
from leitstand.live.missed import replay
from leitstand.live.outbox import Outbox
from leitstand.live.relay import Relay
from leitstand.live.subscriber import Subscriber
from leitstand.live.topics import DOWNTIMES, EVENTS, RUNS, TOPICS

__all__ = [
    "DOWNTIMES",
    "EVENTS",
    "RUNS",
    "SUBSCRIBED",
    "TOPICS",
    "Broadcast",
    "Hub",
    "Message",
    "MessageLedger",
    "Outbox",
    "Relay",
    "Subscriber",
    "notice",
    "replay",
]
