"""Whether this server is alive, and whether it is ready to work."""

from leitstand.health.readiness import Check, CheckResult, Readiness, ReadinessReport

__all__ = ["Check", "CheckResult", "Readiness", "ReadinessReport"]
