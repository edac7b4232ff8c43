"""The shapes of feature flags, for the API's description."""

from datetime import datetime

from pydantic import BaseModel, Field


class FlagShape(BaseModel):
    """A flag in one version; versions grow with every change of any flag."""

    key: str
    enabled: bool
    rollout_percentage: int
    target_tenants: list[str]
    version: int
    deleted: bool
    changed_at: datetime
    changed_by: str


class FlagAnswerShape(BaseModel):
    """What a flag is for a tenant, and why."""

    key: str
    tenant: str | None
    value: bool
    reason: str = Field(
        description="STATIC, TARGETING_MATCH, SPLIT, DEFAULT, STALE, FLAG_NOT_FOUND or ERROR"
    )
    stale: bool
