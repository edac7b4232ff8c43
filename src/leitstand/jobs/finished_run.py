"""How a run ended, in the form that is written, spooled and kept beside lost leases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from leitstand.errors import FailureClass
from leitstand.execution import Lease, Result
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.run_status import RunStatus


@dataclass(frozen=True)
class FinishedRun:
    """How a run ended, ready to be written: a retry is due when ``retry_delay`` is not None."""

    lease: Lease
    outcome: Outcome
    result: Result | None = None
    error_detail: str | None = None
    retry_delay: float | None = None
    no_retry_reason: str | None = None

    def as_document(self) -> dict[str, Any]:
        """The JSON form that ``finish_runs`` reads, that late results and the spool keep."""
        result = self.result or Result()
        return {
            "id": self.lease.run_id,
            "token": self.lease.fencing_token,
            "status": self.outcome.status.value,
            "bytes_processed": result.bytes_processed,
            "bytes_written": result.bytes_written,
            "objects_processed": result.objects_processed,
            "objects_skipped": result.objects_skipped,
            "skip_reasons": list(result.skip_reasons[:20]),
            "error_code": self.outcome.error_code,
            "error_message": self.outcome.error_message,
            "error_detail": self.error_detail,
            "failure_class": self.outcome.failure_class,
            "no_retry_reason": self.no_retry_reason,
            "retry_delay": self.retry_delay,
            "result": dict(result.result),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``as_document``."""
        failure_class = document["failure_class"]
        return cls(
            lease=Lease(document["id"], document["token"]),
            outcome=Outcome(
                RunStatus(document["status"]),
                document["error_code"],
                document["error_message"],
                FailureClass(failure_class) if failure_class else None,
            ),
            result=Result(
                bytes_processed=document["bytes_processed"],
                bytes_written=document["bytes_written"],
                objects_processed=document["objects_processed"],
                objects_skipped=document["objects_skipped"],
                skip_reasons=tuple(document["skip_reasons"]),
                result=document["result"],
            ),
            error_detail=document["error_detail"],
            retry_delay=document["retry_delay"],
            no_retry_reason=document["no_retry_reason"],
        )
