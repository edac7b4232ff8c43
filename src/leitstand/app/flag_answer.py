"""Says what a flag is, also where the control database does not answer."""

import asyncio

import structlog

from leitstand.app.control import open_control
from leitstand.app.core_wiring import flag_memory
from leitstand.errors import UnavailableError
from leitstand.flags import Evaluation, evaluate_known
from leitstand.settings import LoadedSettings

log = structlog.get_logger(__name__)


async def evaluate_flag(loaded: LoadedSettings, key: str, tenant: str) -> Evaluation:
    """As the database says, or else as this machine's server last knew."""
    try:
        async with open_control(loaded) as control:
            return await control.core.flags.evaluate(key, tenant)
    except UnavailableError as error:
        log.warning("answered as last known", error=error.message)
        known = await asyncio.to_thread(flag_memory(loaded.settings).recall)
        return evaluate_known(known, key, tenant, stale=True)
