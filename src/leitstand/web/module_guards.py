"""Lets modules through to endpoints: by their credential, and if they are active for the tenant."""

from collections.abc import Awaitable, Callable

from fastapi import Request

from leitstand.modules import Activation, CredentialLedger

TENANT = "x-tenant"
"""The header that names the tenant for whom a module calls."""

ModuleOf = Callable[[Request], Awaitable[str]]
"""A dependency that gives the name of the module that calls."""


def credential_guard(credentials: CredentialLedger) -> ModuleOf:
    """Asks for ``X-Client-Id`` and ``X-Client-Secret``; raises what ``authenticate`` raises."""

    async def authenticated(request: Request) -> str:
        sent = {name: value for name, value in request.headers.raw if name.startswith(b"x-client-")}
        caller = request.client.host if request.client else ""
        client_id, secret = sent.get(b"x-client-id", b""), sent.get(b"x-client-secret", b"")
        return await credentials.authenticate(client_id, secret, caller)

    return authenticated


def active_guard(activation: Activation, module_of: ModuleOf) -> ModuleOf:
    """Refuses, before the handler is reached, a module that is not active for the tenant.

    ``module_of`` says which module is called or calls. Raises InactiveModuleError.
    """

    async def active(request: Request) -> str:
        module = await module_of(request)
        await activation.require(request.headers.get(TENANT), module)
        return module

    return active
