"""The REST API: below ``/api/v1``, described by ``/api/openapi.json``."""

from leitstand.web.api.all_routes import api_routes
from leitstand.web.api.openapi import openapi_route

__all__ = ["api_routes", "openapi_route"]
