"""The HTTP interface; translation only."""

from leitstand.web.agent_api import agent_api
from leitstand.web.controls import Controls
from leitstand.web.http_server import bind, serving
from leitstand.web.site import Site, build_site
from leitstand.web.status import Status, problems_of

__all__ = [
    "Controls",
    "Site",
    "Status",
    "agent_api",
    "bind",
    "build_site",
    "problems_of",
    "serving",
]
