"""Whether this server is alive, and whether it is ready to work."""

from leitstand.health.readiness import (
    AttentionError,
    Check,
    CheckResult,
    Readiness,
    ReadinessReport,
)

__all__ = ["AttentionError", "Check", "CheckResult", "Readiness", "ReadinessReport"]
