"""Runs the measurements: ``python -m bench [PART ...]``, all parts without arguments."""

import signal
import sys

from bench import (
    aggregate,
    alerts,
    backup,
    downtimes,
    history,
    latency,
    lists,
    live,
    peers,
    reconcile,
    runs,
    scrub,
    verify,
)
from bench.server import bench_server
from leitstand.collecting import collecting_seldom
from leitstand.execution.interruption import Interrupted, interruptible

PARTS = {
    "runs": runs.report,
    "history": history.report,
    "lists": lists.report,
    "latency": latency.report,
    "alerts": alerts.report,
    "aggregate": aggregate.report,
    "live": live.report,
    "backup": backup.report,
    "verify": verify.report,
    "reconcile": reconcile.report,
    "scrub": scrub.report,
    "peers": peers.report,
    "downtimes": downtimes.report,
}


def main() -> None:
    """Print the report of each part that was asked for; SIGTERM ends it, with the server."""
    if unknown := set(sys.argv[1:]) - PARTS.keys():
        sys.exit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    try:
        with interruptible(), collecting_seldom():  # as `leitstand serve` does
            for name in sys.argv[1:] or PARTS:
                with bench_server() as server:
                    PARTS[name](server)
    except Interrupted:
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
