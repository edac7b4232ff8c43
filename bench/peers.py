"""Side by side with peers from the package index: Barman for PostgreSQL, restverify for objects."""

from bench import peer_barman, peer_restverify
from bench.peer_tools import peers
from bench.server import BenchServer


def report(server: BenchServer) -> None:
    """Print the tables of docs/comparison.md."""
    with peers() as programs:
        peer_restverify.report(server, programs)
        peer_barman.report(server, programs)
