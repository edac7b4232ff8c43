"""The HTTP interface; translation only."""

from leitstand.web.http_server import bind, serving
from leitstand.web.site import Site, build_site
from leitstand.web.status import Status, problems_of

__all__ = ["Site", "Status", "bind", "build_site", "problems_of", "serving"]
