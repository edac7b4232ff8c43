"""What the API and the pages work on, handed in by the composition root."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from leitstand.access import AccessLedger
from leitstand.alerts import Evaluator, MetricPage
from leitstand.archive import DrillLedger, ObjectArchive
from leitstand.configuration import CachedSettings, SettingLedger
from leitstand.events import Catalogue, EventQueue
from leitstand.events.detection import DetectionLedger
from leitstand.events.webhooks import Intake
from leitstand.execution import Kinds
from leitstand.flags import FlagLedger, Flags
from leitstand.jobs import (
    Agents,
    Job,
    JobLedger,
    JobSpec,
    Queue,
    Records,
    Servers,
    WindowLedger,
    WindowSource,
)
from leitstand.modules import CredentialLedger, ModuleLedger
from leitstand.notifications import AddressBook, NotifyRule, Outbox
from leitstand.tenants import Provisioner, TenantLedger
from leitstand.web.downtime_desk import DowntimeDesk


@dataclass(frozen=True)
class Controls:
    """The ledgers, and what takes more than one of them."""

    kinds: Kinds
    jobs: JobLedger
    queue: Queue
    servers: Servers
    agents: Agents
    windows: WindowLedger
    window_source: WindowSource
    drills: DrillLedger
    objects: ObjectArchive
    prove: Callable[[], Awaitable[Mapping[str, Any]]]
    """The sealed report of what is proven."""
    access: AccessLedger
    outbox: Outbox
    """Notifications."""
    contacts: AddressBook
    notify_rules: Sequence[NotifyRule]
    evaluator: Evaluator
    """Alerts: their rules, states and silences."""
    metrics_now: Callable[[], Awaitable[MetricPage]]
    delete_rule: Callable[[str], Awaitable[str]]
    backups: Path
    """The directory of the generations."""
    save_job: Callable[[JobSpec], Awaitable[Job]]
    delete_job: Callable[[str], Awaitable[None]]
    settings: SettingLedger
    configuration: CachedSettings
    flags: Flags
    flag_ledger: FlagLedger
    modules: ModuleLedger
    credentials: CredentialLedger
    tenants: TenantLedger
    provisioner: Provisioner
    events: EventQueue
    catalogue: Catalogue
    detection: DetectionLedger
    hooks: Intake
    downtimes: DowntimeDesk

    @property
    def records(self) -> Records:
        """What explanations are drawn from."""
        return Records(self.jobs, self.queue, self.window_source, self.servers)


def controls_of(request: Request) -> Controls:
    """The application's."""
    controls: Controls = request.app.state.controls
    return controls


Desk = Annotated[Controls, Depends(controls_of)]
