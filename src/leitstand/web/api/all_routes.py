"""Puts the parts of the API together."""

from fastapi import APIRouter

from leitstand.web.api import (
    agents,
    alert_rules,
    alerts,
    backups,
    contacts,
    downtimes,
    drills,
    events,
    flags,
    groups,
    health,
    jobs,
    modules,
    notifications,
    objects,
    proof,
    run_logs,
    runs,
    servers,
    settings,
    silences,
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
        objects,
        backups,
        drills,
        downtimes,
        proof,
        alerts,
        alert_rules,
        silences,
        notifications,
        contacts,
        health,
        tenants,
        settings,
        flags,
        modules,
        tokens,
        events,
        sources,
    ):
        api.include_router(part.router)
    return api
