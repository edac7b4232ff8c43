"""Which modules are active for whom, whose metrics cannot be confused, where they are."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI

from leitstand.errors import NotFoundError
from leitstand.flags import FlagChange, FlagLedger, FlagMemory, Flags
from leitstand.modules import (
    Activation,
    AmbiguousModuleError,
    CredentialLedger,
    MetricsUrlError,
    ModuleLedger,
)
from leitstand.modules.metric_names import check_distinct
from leitstand.store.database import Database
from leitstand.web.module_guards import active_guard, credential_guard
from leitstand.web.problem import answer_with_problems


@pytest.fixture
def activation(database: Database, tmp_path: Path) -> Activation:
    flags = Flags(FlagLedger(database), FlagMemory(tmp_path / "flags.json"), 0.0)
    return Activation(ModuleLedger(database), flags.is_enabled)


async def test_a_module_is_active_with_all_its_flags(
    database: Database, activation: Activation
) -> None:
    ledger = FlagLedger(database)
    assert not await activation.is_active("acme", "web")
    await ModuleLedger(database).register("web", "1.0", ["a", "b"])
    await ledger.change("a", FlagChange(enabled=True))
    assert not await activation.is_active("acme", "web")
    await ledger.change("b", FlagChange(target_tenants=frozenset({"acme"})))
    states = [await activation.is_active(t, "web") for t in ("acme", "other", None)]
    assert states == [True, False, False]
    await ModuleLedger(database).register("web", "1.0")
    assert await activation.is_active(None, "web")


async def test_the_guards_stand_before_the_handler(
    database: Database, activation: Activation
) -> None:
    """401 without a credential, 403 for an inactive module; the handler sees neither."""
    await ModuleLedger(database).register("web", "1.0", ["a"])
    credentials = CredentialLedger(database)
    made = await credentials.provision("web")
    guard = active_guard(activation, credential_guard(credentials))
    reached: list[str] = []
    app = FastAPI()
    answer_with_problems(app)

    @app.get("/")
    async def handler(module: Annotated[str, Depends(guard)]) -> str:
        reached.append(module)
        return module

    known = {"X-Client-Id": made.client_id, "X-Client-Secret": made.secret, "X-Tenant": "acme"}
    transport = httpx.ASGITransport(app, client=("10.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://leitstand") as caller:
        assert (await caller.get("/")).status_code == 401
        refused = await caller.get("/", headers=known)
        assert (refused.status_code, refused.json()["code"]) == (403, "MODULE_INACTIVE")
        assert reached == []
        change = FlagChange(target_tenants=frozenset({"acme"}))
        await FlagLedger(database).change("a", change)
        assert (await caller.get("/", headers=known)).json() == "web"
        other = await caller.get("/", headers={**known, "X-Tenant": "other"})
        assert other.status_code == 403
    assert reached == ["web"]


@pytest.mark.parametrize(
    ("name", "others"),
    [("a-b", ["a"]), ("a", ["a-b"]), ("a-b-c", ["x", "a-b"]), ("scrape", []), ("scrape-x", [])],
)
def test_names_that_metrics_could_confuse(name: str, others: Sequence[str]) -> None:
    with pytest.raises(AmbiguousModuleError):
        check_distinct(name, others)


@pytest.mark.parametrize(
    ("name", "others"), [("a", ["ab", "b", "b-a"]), ("web-2", ["web-1"]), ("a", ["a"]), ("up", [])]
)
def test_names_that_they_could_not(name: str, others: Sequence[str]) -> None:
    check_distinct(name, others)


async def test_of_two_that_could_be_confused_one_is_registered(database: Database) -> None:
    """Also when both come at once; what is registered can be updated."""
    modules = ModuleLedger(database)
    names = ["a", "a-b", "a-b-c"]
    tried = await asyncio.gather(
        *(modules.register(name, "1") for name in names), return_exceptions=True
    )
    assert sum(isinstance(each, AmbiguousModuleError) for each in tried) == 2
    (registered,) = await modules.list_all()
    assert (await modules.register(registered.name, "2")).version == "2"


async def test_where_metrics_are(database: Database) -> None:
    modules = ModuleLedger(database)
    with pytest.raises(NotFoundError):
        await modules.set_source("web", "http://web/metrics")
    await modules.register("web", "1.0")
    assert (await modules.set_source("web", "http://web/metrics")).metrics_url
    assert (await modules.register("web", "1.1")).metrics_url == "http://web/metrics"
    assert (await modules.set_source("web", None)).metrics_url is None


@pytest.mark.parametrize(
    "url",
    [
        *("", "web", "file:///etc/passwd", "ftp://web/", "http://", "http:///x", "//web/metrics"),
        *("http://web:99999/", "http://[::1/", "http://u:p@web/", "http://web/a b", "http://w\n/"),
        "http://web/" + "x" * 2000,
    ],
)
async def test_urls_that_cannot_be(database: Database, url: str) -> None:
    with pytest.raises(MetricsUrlError):
        await ModuleLedger(database).set_source("web", url)
