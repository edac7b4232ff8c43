"""The shapes of the API's documents about events and log tables; a test compares them."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class EventShape(BaseModel):
    """An event; ``run`` is the run that has it, of several the first."""

    id: int
    name: str
    source: str
    tenant: str
    payload: dict[str, Any]
    occurred_at: datetime
    stored_at: datetime
    state: str = Field(description="waiting, consumed, coalesced or unheard")
    run: int | None


class CatalogueEntryShape(BaseModel):
    """An event that can happen; ``fields`` says what its payload holds."""

    name: str
    description: str
    source: str
    fields: dict[str, str]


class ListeningShape(BaseModel):
    """A job that an event starts."""

    event: str
    job: str
    tenant: str
    enabled: bool
    deliver: str
    unknown_event: bool = Field(description="Nothing here produces the event.")


class DetectorStatusShape(BaseModel):
    """How far a detector is; counts begin anew with a reset."""

    event: str
    checkpoint: int
    behind: int = Field(description="Numbers of rows that it has not looked at.")
    emitted: int
    late_rows: int
    dead_ids: int
    open_gaps: int = Field(description="Numbers whose rows may still come.")


class SourceStatusShape(BaseModel):
    """How far a log table has been read; ages and skews are seconds."""

    name: str
    state: str = Field(description="new, watched, offline or unavailable")
    problem: str | None
    epoch: int
    highest: int | None
    id_limit: int | None
    last_run_at: datetime | None
    last_read_at: datetime | None
    read_age: float | None
    clock_skew: float | None
    resets: int
    late_rows: int
    dead_ids: int
    detectors: list[DetectorStatusShape]


class ResetShape(BaseModel):
    """When a log table was begun anew, why, and by whom: null if that was noticed."""

    source: str
    epoch: int
    reason: str
    reset_by: str | None
    reset_at: datetime


class NewEpochShape(BaseModel):
    """A log table that begins anew."""

    source: str
    epoch: int
