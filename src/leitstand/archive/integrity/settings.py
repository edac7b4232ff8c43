"""What reconcile and scrub are told by the configuration, in their own terms."""

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.quota import Quota
from leitstand.archive.integrity.reconcile import ReconcileOptions
from leitstand.archive.integrity.revision import CountableRevisions
from leitstand.archive.integrity.scrub import ScrubOptions
from leitstand.archive.integrity.store import Store
from leitstand.errors import UsageError


class ObjectsNotConfiguredError(UsageError):
    """Nobody has said where the objects are."""

    code = "OBJECTS_NOT_CONFIGURED"


@dataclass(frozen=True)
class IntegritySettings:
    """Where objects and revisions are, and how they are looked at.

    An empty ``database_url`` means the control database. ``reports`` is the directory for lists
    that are too long for a report. ``threads`` of 0 means one for each processor.
    """

    store: str
    table: str
    reports: Path
    database_url: str = field(default="", repr=False)
    endpoint: str = ""
    region: str = ""
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    deadline: float = 300.0
    grace: float = 5.0
    limit: int = 10_000
    quota: Quota = field(default_factory=lambda: Quota(count=10))
    cooldown: float = 86_400.0
    max_rate: float | None = None
    threads: int = 0
    coverage_days: float = 30.0

    def open_store(self) -> Store:
        """The object store; raises UsageError."""
        if not self.store:
            raise ObjectsNotConfiguredError(
                "nothing says where the objects are",
                remedy="Set objects.store, or try it first: leitstand demo archive",
            )
        if self.directory is not None:
            return DirectoryStore(self.directory, self.reports if self.reports.is_dir() else None)
        # Imported here: obstore takes 0.1 s, and a directory needs none of it.
        from leitstand.archive.integrity.remote_store import (  # noqa: PLC0415
            RemoteAddress,
            RemoteStore,
        )

        return RemoteStore(
            RemoteAddress(self.store, self.endpoint, self.region, self.access_key, self.secret_key)
        )

    @property
    def directory(self) -> Path | None:
        """The object store if it is a directory of this machine; else, and if unset, None."""
        path = self.store.removeprefix("file://")
        return None if not path or "://" in path else Path(path).absolute()

    def open_table(self, control: str) -> CountableRevisions:
        """The table of revisions; ``control`` is the control database's connection string."""
        # Imported here: SQLAlchemy takes 0.2 s, which no other command should pay.
        from leitstand.archive.integrity.revision_address import RevisionAddress  # noqa: PLC0415
        from leitstand.archive.integrity.revision_table import RevisionTable  # noqa: PLC0415

        address = RevisionAddress(self.database_url or control, self.table)
        return RevisionTable(address, self.deadline)

    def reconcile_options(self, *, existing: bool) -> ReconcileOptions:
        """How to reconcile."""
        return ReconcileOptions(self.grace, self.limit, self.reports, existing)

    def scrub_options(
        self,
        quota: Quota | None = None,
        cooldown: float | None = None,
        max_rate: float | None = None,
    ) -> ScrubOptions:
        """How to scrub; what is given goes before what is configured."""
        return ScrubOptions(
            quota=quota or self.quota,
            cooldown=timedelta(seconds=self.cooldown if cooldown is None else cooldown),
            max_rate=self.max_rate if max_rate is None else max_rate,
            threads=self.threads or len(os.sched_getaffinity(0)),
            within=timedelta(days=self.coverage_days),
        )
