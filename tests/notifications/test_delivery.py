"""The way from the settings to a sender, and what is imported on it."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from leitstand.alerts import AlertLedger, AlertMetrics
from leitstand.app.notification_wiring import delivery_settings, make_dispatcher
from leitstand.execution import RunFacts
from leitstand.notifications import (
    NotificationMetrics,
    Outbox,
    SendNotifications,
    Status,
    WebhookBody,
)
from leitstand.notifications.send_notifications import SendNotificationsParams
from leitstand.settings import Settings
from leitstand.store.database import Database
from tests.notifications.mail_server import mail_server

SLOW = ("apprise", "aiosmtplib", "httpx", "jinja2", "requests", "standardwebhooks")


def test_commands_do_not_pay_for_libraries_that_send() -> None:
    """Together they take most of a second to import."""
    code = f"import sys, leitstand.app.control; print([m for m in {SLOW} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_settings_reach_the_senders() -> None:
    settings = Settings.model_validate(
        {
            "smtp": {"host": "mail", "port": 587, "password": "hush", "security": "TLS"},
            "notifications": {"webhook_secret": "whsec_x", "templates": "here"},
            "contact": [{"name": "a", "url": "https://a", "body": "alertmanager"}],
        }
    )
    found = delivery_settings(settings)
    assert (found.smtp.host, found.smtp.port, found.smtp.security) == ("mail", 587, "tls")
    assert (found.smtp.password, found.webhook_secret) == ("hush", "whsec_x")
    assert found.contacts["a"].body is WebhookBody.ALERTMANAGER
    assert "hush" not in repr(settings)


class Silent:
    """A reporter that nobody reads."""

    def log(self, line: str) -> None:
        pass

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        pass


async def test_the_kind_sends_what_is_due_and_the_metrics_tell_the_rest(
    database: Database,
) -> None:
    async with mail_server() as server:
        settings = Settings.model_validate({"smtp": {"port": server.port}})
        outbox = Outbox(database)
        kind = SendNotifications(make_dispatcher(settings, outbox))
        one = await outbox.enqueue("email", "ops@example.org", {"message": "hello"})
        await outbox.enqueue("email", "nobody")
        facts = RunFacts(1, "job", kind.kind, 1, "", datetime.now(UTC), 1)
        result = await kind.execute(SendNotificationsParams(), facts, Silent())
        assert result.result == {"sent": 1, "retried": 0, "failed": 1, "lost": 0}
        assert (await outbox.get(one)).status is Status.SENT
        assert [mail["Subject"] for mail in server.mails] == ["hello"]
    await outbox.enqueue("log", "log")
    found = await values(NotificationMetrics(outbox))
    assert found["leitstand_core_notifications", "pending"] == 1
    assert found["leitstand_core_notifications", "failed"] == 1
    assert await values(AlertMetrics(AlertLedger(database))) == {
        ("leitstand_core_alerts", "pending"): 0,
        ("leitstand_core_alerts", "firing"): 0,
    }


async def values(source: Any) -> dict[tuple[str, str], float]:
    """The values of a source's labelled families, by name and the label's value."""
    return {
        (sample.name, next(iter(sample.labels.values()))): sample.value
        for family in await source.collect()
        for sample in family.samples
        if sample.labels
    }
