"""The pages: made on the server, readable without scripts, on a phone and at night."""

from leitstand.web.pages.all_pages import page_routes
from leitstand.web.pages.rendering import Pages

__all__ = ["Pages", "page_routes"]
