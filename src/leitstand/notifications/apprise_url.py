"""Which Apprise URLs are used, and what is taken out of them and of the texts about them."""

import re
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

from leitstand.masking import MASK, mask_url
from leitstand.notifications.delivery_error import DeliveryError

DEFAULT_SCHEMES = (
    *("discord", "slack", "msteams", "workflows", "tgram", "matrix", "matrixs", "mmost"),
    *("mmosts", "rocket", "rockets", "zulip", "gchat", "wxteams", "ntfy", "ntfys", "gotify"),
    *("gotifys", "pover", "signal", "signals", "opsgenie", "pagerduty", "twilio", "json", "jsons"),
)
"""Services that go over the network; others run programs or speak to this machine's desktop."""

DANGEROUS = {"optional", "retry", "wait", "redirect", "rto", "cto"}
"""Query keys that hide a dead end point, try again by themselves, or follow a redirect as GET."""

SHORTEST_SECRET = 4


def cleaned_url(url: str, schemes: Collection[str]) -> str:
    """The URL without the keys that would change how failures are told.

    Raises DeliveryError, permanent, for a scheme that is not allowed.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in schemes:
        raise DeliveryError(
            f"the service {scheme!r} is not allowed",
            permanent=True,
            remedy="Allow it in notifications.apprise_schemes.",
        )
    address, mark, query = url.partition("?")
    kept = [pair for pair in query.split("&") if _name(pair) not in DANGEROUS]
    return address + (mark + "&".join(kept) if any(kept) else "")


def _name(pair: str) -> str:
    return unquote(pair.partition("=")[0]).strip().lower()


def without_secrets(text: str, url: str) -> str:
    """``text`` without any part of the URL behind its scheme: tokens stand in all of them."""
    rest = url.partition("://")[2]
    parts = {*re.split(r"[/:@?&=#+,]+", rest), urlsplit(url).netloc}
    secrets = {spelling for part in parts for spelling in (part, unquote(part))}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK)
    return mask_url(text)
