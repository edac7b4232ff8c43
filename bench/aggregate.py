"""The page of 100 modules with 1,000 series each, beside Prometheus' ``/federate`` of the same.

We ask all modules and rename what they say; Prometheus shows from memory what it has scraped
before. Both answer over HTTP, by turns. The modules are a process of their own.
"""

import asyncio
import contextlib
import multiprocessing
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import httpx
from fastapi import FastAPI, Request, Response

from bench.server import BenchServer
from leitstand.metrics import OwnMetrics
from leitstand.metrics.aggregate import Aggregate
from leitstand.metrics.fetching import FetchLimits
from leitstand.metrics.scraping import ScrapeLimits
from leitstand.web import bind, serving

MODULES = 100
FAMILIES = 20
SERIES = 50
"""Series of a family."""
ROUNDS = 15
WANTED = 0.6
TICKS = os.sysconf("SC_CLK_TCK")

LIMITS = ScrapeLimits(20.0, 50_000, FetchLimits(8 << 20, private=True))


def page(module: int, variant: int) -> bytes:
    """What a module shows; its values are others in each variant."""
    lines = []
    for family in range(FAMILIES):
        name = f"app_requests_{family}_total"
        lines += [f"# HELP {name} Requests that were answered.", f"# TYPE {name} counter"]
        for series in range(SERIES):
            value = (module * 31 + family * 7 + series * 1013 + variant * 17.25) * 1.5
            path = f"/api/v1/{series}"
            lines.append(f'{name}{{method="GET",path="{path}",code="200"}} {value}')
    return "\n".join([*lines, ""]).encode()


def show_modules(control: Connection) -> None:
    """The process of the modules: each has a path."""
    asyncio.run(_show_modules(control))


async def _show_modules(control: Connection) -> None:
    pages = [cycle([page(module, variant) for variant in range(3)]) for module in range(MODULES)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = next(pages[int(head.split(b" ", 2)[1].strip(b"/"))])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
                if b"onnection: close" in head:
                    break
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512) as server:
        control.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()


def show_aggregate(modules: int, control: Connection) -> None:
    """The process of the aggregate, without its cache."""
    asyncio.run(_show_aggregate(modules, control))


async def _show_aggregate(modules: int, control: Connection) -> None:
    urls = {f"m{n}": f"http://127.0.0.1:{modules}/{n}" for n in range(MODULES)}

    async def sources() -> dict[str, str]:
        return urls

    aggregate, app = Aggregate(OwnMetrics([]), sources, LIMITS, lifetime=-1.0), FastAPI()

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        shown = await aggregate.exposition(request.headers["accept"])
        return Response(shown.body, media_type=shown.media_type)

    with bind("127.0.0.1", 0) as listener:
        async with serving(app, listener):
            control.send(listener.getsockname()[1])
            await asyncio.Event().wait()


@contextmanager
def process_of(work: Callable[..., None], *arguments: object) -> Iterator[tuple[int, int]]:
    """Its process id and the port on which it answers."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    try:
        assert process.pid is not None
        yield process.pid, ours.recv()
    finally:
        process.kill()
        process.join()


@contextmanager
def prometheus(directory: Path, modules: int) -> Iterator[tuple[int, int]]:
    """A Prometheus that has each module as a job of its own."""
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    jobs = "".join(
        f"- {{job_name: m{n}, metrics_path: /{n}, "
        f"static_configs: [{{targets: ['127.0.0.1:{modules}']}}]}}\n"
        for n in range(MODULES)
    )
    config = directory / "prometheus.yml"
    config.write_text(
        f"global: {{scrape_interval: 10s, scrape_timeout: 5s}}\nscrape_configs:\n{jobs}"
    )
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    process = subprocess.Popen(
        ["prometheus", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process.pid, port
    finally:
        process.kill()
        process.wait()


@dataclass
class Contestant:
    """Who shows all series, and how long that took."""

    name: str
    pid: int
    url: str
    needle: bytes
    """What stands in each line of a series of the modules."""
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    async def ask(self, caller: httpx.AsyncClient) -> int:
        """Have the page once; how many series it shows."""
        used, began = cpu_seconds(self.pid), time.perf_counter()
        try:
            body = (await caller.get(self.url)).content
        except httpx.TransportError:  # it is starting
            return 0
        self.seconds.append(time.perf_counter() - began)
        self.cpu.append(cpu_seconds(self.pid) - used)
        return body.count(self.needle)


def cpu_seconds(pid: int) -> float:
    """What the process has used so far, in steps of a hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def complete(ask: Callable[[], Awaitable[int]]) -> None:
    """Wait until all series are there."""
    async with asyncio.timeout(120):
        while await ask() != MODULES * FAMILIES * SERIES:
            await asyncio.sleep(0.5)


async def compare(ours: Contestant, theirs: Contestant) -> float:
    """Ask both by turns; seconds of our first answer."""
    async with httpx.AsyncClient(timeout=60) as caller:
        await complete(lambda: ours.ask(caller))
        first = ours.seconds[0]
        await complete(lambda: theirs.ask(caller))
        for contestant in (ours, theirs):
            contestant.seconds.clear()
            contestant.cpu.clear()
        for _ in range(ROUNDS):
            for contestant in (ours, theirs):
                assert await contestant.ask(caller) == MODULES * FAMILIES * SERIES
    return first


def report(server: BenchServer) -> None:
    """Measure and print."""
    with (
        process_of(show_modules) as (_, modules),
        process_of(show_aggregate, modules) as (our_pid, our_port),
        prometheus(server.directory, modules) as (their_pid, their_port),
    ):
        ours = Contestant(
            "Leitstand /metrics",
            our_pid,
            f"http://127.0.0.1:{our_port}/metrics",
            b'_total{method="',
        )
        query = "match[]=%7B__name__%3D~%22app_.%2B%22%7D"
        theirs = Contestant(
            "Prometheus /federate",
            their_pid,
            f"http://127.0.0.1:{their_port}/federate?{query}",
            b"_total{",
        )
        first = asyncio.run(compare(ours, theirs))
    print(
        f"one page of {MODULES} modules with {FAMILIES * SERIES} series each "
        f"(median of {ROUNDS}; wanted: {WANTED} s):"
    )
    print(f"  {'':22} seconds   CPU seconds")
    for each in (ours, theirs):
        print(f"  {each.name:22} {median(each.seconds):7.3f} {median(each.cpu):13.2f}")
    print(f"  {'ratio':22} {median(ours.seconds) / median(theirs.seconds):7.2f}")
    print(f"  our first answer, when no page was known yet: {first:.3f} s")
