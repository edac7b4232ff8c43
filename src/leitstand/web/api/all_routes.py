"""Puts the parts of the API together."""

from fastapi import APIRouter

from leitstand.web.api import (
    agents,
    backups,
    downtimes,
    drills,
    events,
    groups,
    health,
    jobs,
    run_logs,
    runs,
    servers,
    settings,
    sources,
    tenants,
    tokens,
    windows,
)

PREFIX = "/api/v1"


def api_routes() -> APIRouter:
    """All paths of the API."""
    api = APIRouter(prefix=PREFIX)
    for part in (
        jobs,
        runs,
        run_logs,
        groups,
        windows,
        servers,
        agents,
        backups,
        drills,
        downtimes,
        health,
        tenants,
        settings,
        tokens,
        events,
        sources,
    ):
        api.include_router(part.router)
    return api
