"""How a control server starts again and ends, and what commands do without one."""

import asyncio
import signal
import time
from pathlib import Path

from tests.app.installation import Installation
from tests.app.test_black_box import save_nap
from tests.ports import free_port


def test_starts_and_ends(short_dir: Path) -> None:
    place = Installation(short_dir, free_port())
    assert place.json("job", "list") == []  # without a server, in an empty directory
    assert place.run("health", "live").code == 1
    asyncio.run(save_nap(place))
    with place.serving() as server:
        server.process.send_signal(signal.SIGTERM)
        place.must_end(server.process)
    began = time.monotonic()
    with place.serving() as server:
        assert server.ready.startswith("Leitstand is ready: ")
        assert time.monotonic() - began < 10  # 3 s on an idle machine
        number = str(place.json("job", "run", "nap")["id"])
        place.wait_for(lambda: "going" in place.run("run", "logs", number).out)
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGINT)
        place.wait_for_end(server.process)
    assert place.json("run", "show", number)["finished_at"] is not None
    wrong = place.run("doctor", "--json")
    assert wrong.code == 1
    problems = {found["name"]: found["problem"] for found in wrong.json if not found["ok"]}
    assert problems["control server"].startswith("No control server is running")
