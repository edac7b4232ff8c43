"""A stand-in for a control server with one child: ``child_server.py FENCE_SECONDS COMMAND...``.

Repeats what the child prints, and says in a last line of JSON how it ended, by how much this
process has grown and how long its event loop was kept waiting.
"""

import asyncio
import json
import resource
import sys
import time

from leitstand.execution.child import ChildSpec
from leitstand.execution.child_handle import Children
from leitstand.execution.process import run_child

RUN = 1


def peak() -> int:
    """The largest resident size so far in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Lag:
    """Measures how late a loop that wants to wake every ten milliseconds does."""

    worst = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            asleep = time.monotonic()
            await asyncio.sleep(0.01)
            self.worst = max(self.worst, time.monotonic() - asleep - 0.01)


async def main(fence: float, argv: list[str]) -> None:
    """Run the command to its end."""
    children, lag, before = Children(), Lag(), peak()
    children.renew(RUN, fence)
    ticking = asyncio.create_task(lag.run())
    child = await run_child(
        ChildSpec(argv, {"PATH": "/usr/bin:/bin"}),
        on_line=lambda line: print(line, flush=True),
        on_start=lambda handle: children.add(RUN, handle),
    )
    ticking.cancel()
    end = {"stop": child.stop, "exit_code": child.exit_code, "size": child.output.size}
    end |= {"kept": len(child.output.head) + len(child.output.tail)}
    print(json.dumps({**end, "grown_kib": peak() - before, "lag": lag.worst}))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2:]))
