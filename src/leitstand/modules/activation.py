"""Whether a module is active for a tenant: registered, and all its flags on."""

from collections.abc import Awaitable, Callable

from leitstand.errors import LeitstandError
from leitstand.modules.module_ledger import ModuleLedger

IsEnabled = Callable[[str, str | None], Awaitable[bool]]
"""Whether a flag is on for a tenant; never raises."""


class InactiveModuleError(LeitstandError):
    """The module is not registered, or not switched on for the tenant."""

    code = "MODULE_INACTIVE"


class Activation:
    """Decides by the registry and the flags, which are handed in."""

    def __init__(self, modules: ModuleLedger, is_enabled: IsEnabled) -> None:
        self._modules = modules
        self._is_enabled = is_enabled

    async def is_active(self, tenant: str | None, module: str) -> bool:
        """Whether it is; an unregistered module never is. Raises what the database raises."""
        found = await self._modules.find(module)
        if found is None:
            return False
        for flag in found.required_flags:
            if not await self._is_enabled(flag, tenant):
                return False
        return True

    async def require(self, tenant: str | None, module: str) -> None:
        """Raise InactiveModuleError unless it is active."""
        if not await self.is_active(tenant, module):
            raise InactiveModuleError(
                f"the module {module} is not active for {tenant or 'all tenants'}",
                remedy="Register it, and switch on its flags: leitstand flag set FLAG --target"
                " TENANT",
            )
