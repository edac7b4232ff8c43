"""Has runs carried out in worker processes that read the same configuration as this one."""

import os
from collections.abc import Mapping
from typing import Any

from leitstand.execution import (
    Children,
    Reporter,
    Result,
    RunFacts,
    WorkerCall,
    run_in_worker,
)
from leitstand.settings import LoadedSettings

WORKER_FACTORY = "leitstand.app.worker:make_executor"

GRACE_SHARE = 0.7
"""Share of the shutdown grace that a worker gets to clean up."""


def worker_call(loaded: LoadedSettings, children: Children, shutdown_grace: float) -> WorkerCall:
    """The call for kinds that are isolated in workers, which are started under ``children``."""
    environment = worker_environment(loaded)

    async def call(
        kind: str, params: Mapping[str, Any], run: RunFacts, reporter: Reporter
    ) -> Result:
        return await run_in_worker(
            kind,
            params,
            run,
            reporter,
            WORKER_FACTORY,
            children=children,
            environment=environment,
            grace=shutdown_grace * GRACE_SHARE,
        )

    return call


def worker_environment(loaded: LoadedSettings) -> dict[str, str]:
    """The environment of worker processes, which read the same configuration file as this one."""
    if loaded.file is None:
        return dict(os.environ)
    return {**os.environ, "LEITSTAND_CONFIG": str(loaded.file.absolute())}
