"""Tells browsers how little our pages need: no scripts, no frames, nothing from elsewhere."""

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)

NOTHING = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "style-src 'none'"
)

SECURITY_HEADERS = {
    "Content-Security-Policy": NOTHING,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


def policy_for(page: str) -> str:
    """The content policy of a page that needs its own styles, and its forms if it has any."""
    digests = (hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(page))
    sources = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = NOTHING.replace("style-src 'none'", "style-src " + (sources or "'none'"))
    return policy.replace("form-action 'none'", "form-action 'self'") if "<form" in page else policy


class SecurityHeaders:
    """Adds the headers to each answer that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
