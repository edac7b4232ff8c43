"""The shapes of modules and their credentials, for the API's description."""

from datetime import datetime

from pydantic import BaseModel, Field


class ModuleShape(BaseModel):
    """A module as it is registered."""

    name: str
    version: str
    required_flags: list[str]
    registered_at: datetime
    metrics_url: str | None


class CredentialShape(BaseModel):
    """What is known of a credential that was handed out; nobody has its secret."""

    client_id: str
    module: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    valid: bool


class NewCredentialShape(BaseModel):
    """A credential that has just been made."""

    client_id: str
    secret: str = Field(description="It is shown this once.")


class FlagStateShape(BaseModel):
    """Whether a flag that a module asks for is on."""

    key: str
    value: bool
    reason: str


class ActivityShape(BaseModel):
    """Whether a module is active for a tenant: all its flags are on."""

    module: str
    tenant: str | None
    active: bool
    flags: list[FlagStateShape]
