"""The ledger of modules: the only code that reads and writes the table modules."""

from collections.abc import Sequence

from leitstand.errors import NotFoundError
from leitstand.modules.metric_names import check_distinct
from leitstand.modules.metrics_url import check_metrics_url
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

        Raises ModuleNameError and ModuleVersionError, and AmbiguousModuleError for a new module
        whose metrics could be taken for another's. Two at once take turns.
        """
        check_module(name, version)
        async with self._database.transaction() as connection:
            return await _register(connection, name, version, required_flags)

    async def save(
        self, name: str, version: str, required_flags: Sequence[str], metrics_url: str | None
    ) -> Module:
        """As ``register`` and ``set_source`` at once."""
        check_module(name, version)
        if metrics_url is not None:
            check_metrics_url(metrics_url)
        async with self._database.transaction() as connection:
            await _register(connection, name, version, required_flags)
            row = await queries.set_source(connection, name=name, metrics_url=metrics_url)
        return Module.from_row(row)

    async def set_source(self, name: str, url: str | None) -> Module:
        """Say where the module shows its metrics; None: nowhere. It counts from the next scrape.

        Raises UnknownModuleError and MetricsUrlError.
        """
        if url is not None:
            check_metrics_url(url)
        async with self._database.connection() as connection:
            row = await queries.set_source(connection, name=name, metrics_url=url)
        if row is None:
            raise _unknown(name)
        return Module.from_row(row)

    async def delete(self, name: str) -> None:
        """Delete the module and its credentials; its metrics are gone from the next scrape on.

        An agent of that name is let in no more. Raises UnknownModuleError.
        """
        async with self._database.connection() as connection:
            row = await queries.delete(connection, name=name)
        if row is None:
            raise _unknown(name)

    async def find(self, name: str) -> Module | None:
        """The module of that name, or None."""
        async with self._database.connection() as connection:
            row = await queries.find(connection, name=name)
        return None if row is None else Module.from_row(row)

    async def get(self, name: str) -> Module:
        """The module of that name; raises UnknownModuleError."""
        found = await self.find(name)
        if found is None:
            raise _unknown(name)
        return found

    async def list_all(self, deadline: float | None = None) -> list[Module]:
        """All modules, ordered by name, within ``deadline`` seconds."""
        async with self._database.connection(deadline) as connection:
            return [Module.from_row(row) async for row in queries.list_modules(connection)]


async def lock_module(connection: Connection, name: str) -> None:
    """Hold the module until the transaction ends; raises UnknownModuleError."""
    if await queries.lock_module(connection, name=name) is None:
        raise _unknown(name)


async def _register(
    connection: Connection, name: str, version: str, required_flags: Sequence[str]
) -> Module:
    await queries.take_turns(connection)
    names = {row["name"] async for row in queries.list_modules(connection)}
    if name not in names:
        check_distinct(name, names)
    row = await queries.register(
        connection, name=name, version=version, required_flags=list(required_flags)
    )
    return Module.from_row(row)


def _unknown(name: str) -> UnknownModuleError:
    return UnknownModuleError(
        f"no module is named {name!r}",
        remedy=f"Register it first: leitstand module register {name} VERSION",
    )
