"""The ledger of modules: the only code that reads and writes the table modules."""

from collections.abc import Sequence

from leitstand.errors import NotFoundError
from leitstand.modules.module import Module, check_module
from leitstand.store.database import Connection, Database, load_queries

queries = load_queries(__file__)


class UnknownModuleError(NotFoundError):
    """The module is not registered."""

    code = "MODULE_NOT_REGISTERED"


class ModuleLedger:
    """Modules by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, name: str, version: str, required_flags: Sequence[str] = ()) -> Module:
        """Add the module, or update version and flags of the one of that name.

        Raises ModuleNameError and ModuleVersionError.
        """
        check_module(name, version)
        async with self._database.connection() as connection:
            row = await queries.register(
                connection, name=name, version=version, required_flags=list(required_flags)
            )
        return Module.from_row(row)

    async def list_all(self) -> list[Module]:
        """All modules, ordered by name."""
        async with self._database.connection() as connection:
            return [Module.from_row(row) async for row in queries.list_modules(connection)]


async def lock_module(connection: Connection, name: str) -> None:
    """Hold the module until the transaction ends; raises UnknownModuleError."""
    if await queries.lock_module(connection, name=name) is None:
        raise UnknownModuleError(
            f"no module is named {name!r}",
            remedy=f"Register it first: leitstand module register {name} VERSION",
        )
