"""Webhooks in: other programs say over HTTP that something happened."""

from leitstand.events.webhooks.hook import Hook, signing_key, token_digest
from leitstand.events.webhooks.intake import Intake, Taken
from leitstand.events.webhooks.proof import Call, CallRefusedError
from leitstand.events.webhooks.webhook_metrics import WebhookMetrics

__all__ = [
    "Call",
    "CallRefusedError",
    "Hook",
    "Intake",
    "Taken",
    "WebhookMetrics",
    "signing_key",
    "token_digest",
]
