"""Ports that stay a test's own while the server on them is down."""

import os
import random
import socket

PORTS = range(12_000, 32_000)
"""Below those that Linux gives to connections and to servers on port 0 (from 32768).

From among those, any connection of another test may take the port of a server that starts again.
"""

_kept: list[socket.socket] = []
_draw = random.Random(os.urandom(16))  # tests with seeds of their own may begin with the same one


def free_port() -> int:
    """A port of loopback that nobody listens on, and that no other process gets by this function.

    It is kept until this process ends, by a name among the abstract sockets of Linux (unix(7)).
    """
    for port in _draw.sample(PORTS, 200):
        keeper = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            keeper.bind(f"\0leitstand-tests-port-{port}")
            with socket.create_server(("127.0.0.1", port)):
                pass
        except OSError:
            keeper.close()
            continue
        _kept.append(keeper)
        return port
    raise AssertionError("of 200 ports none is free")
