"""Makes links by which people log in."""

from leitstand.access import Role
from leitstand.app.control import Control
from leitstand.settings import Settings

LINK_LIFETIME = 3600.0
"""Seconds within which a link must be used."""

FIRST_START = "first login"
"""Under which name the history shows who came by the link that the first start prints."""


async def login_link(control: Control, role: Role, user: str) -> str:
    """A link that logs one browser in, once."""
    secret = await control.access.create_link(role, user, LINK_LIFETIME)
    return f"{site_address(control.settings)}login/{secret}"


async def first_login_link(control: Control) -> str | None:
    """A link for whoever has installed Leitstand, until anybody has a way in; None afterwards."""
    if await control.access.anybody_known():
        return None
    return await login_link(control, Role.ADMIN, FIRST_START)


def site_address(settings: Settings) -> str:
    """Where a browser finds the pages, with a slash at the end."""
    if settings.access.url:
        return settings.access.url.rstrip("/") + "/"
    host, port = settings.server.address
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 -- compared, not bound
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
