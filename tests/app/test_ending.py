"""How a server is asked to end, and the last resort when something hangs in it."""

import signal
import subprocess
import sys
import time

SCRIPT = """
import asyncio, threading, time
from leitstand.app import ending
ending.WAY_OUT = 0.5

async def main():
    asked = ending.Ending(grace=0.0)
    asked.listen()
    assert await asked.unless_asked(asyncio.sleep(0, "started")) == "started"
    print("listening", flush=True)
    await asked.unless_asked(asyncio.sleep(60))
    print("cancelled", asked.left(), flush=True)
    threading.Thread(target=time.sleep, args=(60,)).start()  # a call that nothing interrupts

asyncio.run(main())
"""


def test_a_start_is_cancelled_and_what_hangs_is_left_behind() -> None:
    """Case 58: the exit comes in time, and its status says that something was left."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        out, errors = process.communicate(timeout=30)
        assert time.monotonic() - began < 5
    assert process.returncode == 1, errors
    assert "cancelled 0.5" in out.split("\n")
