"""The shapes of snapshots and of the proof, for the API's description."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class SnapshotShape(BaseModel):
    """A snapshot of objects, with what is known of it."""

    snapshot_id: str
    state: str = Field(description="complete, partial, unrecorded, foreign or missing")
    taken_at: datetime
    verified_at: datetime | None
    drilled_at: datetime | None
    paths: list[str]
    files: int | None
    bytes: int | None
    problems: list[str]


class ProofFindingShape(BaseModel):
    """What is not proven, or proven wrong."""

    subject: str
    problem: str
    remedy: str | None


class ProofSectionShape(BaseModel):
    """What one link of the chain says."""

    name: str
    title: str
    clean: bool
    summary: str
    facts: dict[str, Any]
    findings: list[ProofFindingShape]


class ProofShape(BaseModel):
    """The report; `digest` and `signature` are over everything else (`leitstand proof --check`)."""

    format: int
    generated_at: datetime
    host: str
    version: str
    clean: bool
    sections: list[ProofSectionShape]
    digest: str
    signature: str | None
