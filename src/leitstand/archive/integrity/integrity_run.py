"""Carries out a reconciliation or a scrub as configured, and records what came out."""

from collections.abc import Callable

from leitstand.archive.integrity.reconcile import reconcile
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.report_ledger import ReportLedger
from leitstand.archive.integrity.scrub import ScrubOptions, scrub
from leitstand.archive.integrity.scrub_ledger import ScrubLedger
from leitstand.archive.integrity.scrubbing import Scrubbing
from leitstand.archive.integrity.settings import IntegritySettings
from leitstand.store.database import Database


async def run_reconcile(
    settings: IntegritySettings,
    control: Database,
    report: Callable[[int], None] = lambda _: None,
    *,
    existing: bool = True,
) -> Reconciliation:
    """Reconcile; ``existing`` also lists what is in both. Raises what ``reconcile`` raises."""
    store = settings.open_store()
    async with settings.open_table(control.conninfo) as table:
        options = settings.reconcile_options(existing=existing)
        result = await reconcile(table, store, options, report)
    await ReportLedger(control).record_reconciliation(result)
    return result


async def run_scrub(
    settings: IntegritySettings,
    control: Database,
    options: ScrubOptions,
    report: Callable[[int, int], None] = lambda *_: None,
) -> Scrubbing:
    """Scrub; raises what ``scrub`` raises."""
    store = settings.open_store()
    ledger = await ScrubLedger.of(control, store.name)
    async with settings.open_table(control.conninfo) as table:
        result = await scrub(table, store, ledger, options, report)
    await ReportLedger(control).record_scrubbing(result)
    return result
