"""Sends to chats and pagers through Apprise, in a child process with an end."""

import asyncio
import json
import os
import sys
from collections.abc import Collection

from leitstand.execution import ChildSpec, run_child
from leitstand.notifications.apprise_exit import AppriseExit
from leitstand.notifications.apprise_url import DEFAULT_SCHEMES, cleaned_url, without_secrets
from leitstand.notifications.delivery_error import DeliveryError
from leitstand.notifications.sender import Message

AT_ONCE = 2
"""Processes at the same time: each imports Apprise, which takes a second and 60 MB."""

LONGEST_REASON = 300


class AppriseSender:
    """The channel ``apprise``. One that hangs is killed at the deadline and leaves nothing."""

    def __init__(self, schemes: Collection[str] = DEFAULT_SCHEMES) -> None:
        self._schemes = frozenset(schemes)
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def send(self, message: Message) -> None:
        """Have Apprise send it; no part of the URL is in an argument, an error or a log."""
        url = cleaned_url(message.route.target, self._schemes)
        scheme = url.partition("://")[0]
        given = {"url": url, "title": message.subject, "body": message.body}
        spec = ChildSpec(
            [sys.executable, "-I", "-m", "leitstand.notifications.apprise_child"],
            {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent"},
            stdin=json.dumps(given).encode("utf-8", "backslashreplace"),
            grace=0.5,
        )
        async with self._slots:
            ended = await run_child(spec)
        if ended.exit_code == AppriseExit.DELIVERED:
            return
        if ended.exit_code == AppriseExit.NOT_UNDERSTOOD:
            raise DeliveryError(f"the {scheme} URL is not one that Apprise knows", permanent=True)
        said = without_secrets(ended.output.text(), message.route.target)
        reason = " ".join(said.split())[-LONGEST_REASON:]
        raise DeliveryError(f"Apprise could not deliver to {scheme}: {reason or 'no reason given'}")
