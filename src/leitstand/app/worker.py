"""Makes the executors of kinds that run in processes of their own."""

from typing import Any

from leitstand.app.archive_wiring import archive_executors
from leitstand.app.event_wiring import detection_executor
from leitstand.app.integrity_wiring import integrity_executors
from leitstand.execution import Executor, Kinds, third_party_executors
from leitstand.settings import load_settings


def make_executor(kind: str) -> Executor[Any]:
    """The executor of ``kind``, from the same configuration that the control server read."""
    settings = load_settings().settings
    kinds = Kinds(
        [
            *archive_executors(settings),
            *integrity_executors(settings),
            detection_executor(settings),
            *third_party_executors(),
        ]
    )
    return kinds.executor(kind)
