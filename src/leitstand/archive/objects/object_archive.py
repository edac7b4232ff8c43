"""A repository of objects together with what the control database knows of it."""

from dataclasses import dataclass

from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.objects.object_ledger import ObjectLedger
from leitstand.archive.objects.object_repository import ObjectRepository


@dataclass(frozen=True)
class ObjectArchive:
    """What every command but a restore needs: a restore must also work without a database."""

    repository: ObjectRepository
    ledger: ObjectLedger
    drills: DrillLedger
