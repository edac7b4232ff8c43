"""A RabbitMQ and a gearmand of the tests' own, as Debian has them."""

import itertools
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.store.account import server_account
from tests.downtimes.core import QUEUE, RabbitSide
from tests.ports import free_port
from tests.server_process import (
    ServerProcess,
    answers,
    program,
    run_as_server,
)

RABBIT = Path("/usr/lib/rabbitmq/bin")
"""Where the programs are themselves; those in PATH change to the user of Debian's service."""

numbers = itertools.count()


class RabbitMq:
    """A broker below ``directory``, with a port mapper (epmd) of its own that ends with it."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        self._epmd_port = free_port()
        account = server_account()
        directory.mkdir(parents=True)
        account.own(directory)
        log = directory.with_suffix(".log")
        self._epmd = ServerProcess(
            [program("epmd"), "-port", str(self._epmd_port), "-address", "127.0.0.1"], log
        )
        self._epmd.wait_until(lambda: answers(self._epmd_port))
        self._server = ServerProcess([str(RABBIT / "rabbitmq-server")], log, self._environment)
        self._server.wait_until(lambda: answers(self.port))
        self._control("await_startup")

    @property
    def _environment(self) -> dict[str, str]:
        name = f"ls{self.port}@{socket.gethostname().partition('.')[0]}"
        return {
            "HOME": str(self._directory),  # the cookie is made there
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self._directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._directory / "log"),
            "RABBITMQ_PID_FILE": str(self._directory / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._directory / "plugins"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self._directory / "config"),
            "RABBITMQ_CONFIG_FILE": str(self._directory / "none"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self._directory / "none.config"),
            "RABBITMQ_CONF_ENV_FILE": str(self._directory / "none.env"),
        }

    def _control(self, *arguments: str) -> str:
        command = [str(RABBIT / "rabbitmqctl"), "-q", *arguments]
        return run_as_server(command, self._environment)

    @property
    def source(self) -> str:
        """As in ``downtimes.source``."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def fresh(self, durable: bool = False) -> RabbitSide:
        """A core's side of a queue and an exchange of the caller's own."""
        number = next(numbers)
        return RabbitSide(self.source, f"{QUEUE}_{number}", f"statusengine_{number}", durable)

    def reader_of_nothing(self) -> str:
        """The source for a user who may do all but consume."""
        self._control("add_user", "mute", "secret")
        self._control("set_permissions", "-p", "/", "mute", ".*", ".*", "^statusengine_")
        return f"amqp://mute:secret@127.0.0.1:{self.port}/"

    def close_connections(self) -> None:
        """Cut all clients off."""
        self._control("close_all_connections", "--global", "test")

    def stop(self) -> None:
        """Stop the broker and the port mapper."""
        self._server.stop()
        self._epmd.stop()


class Gearmand:
    """A gearmand; its queues are in memory."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        self.start()

    def start(self) -> None:
        """Start it, empty, on the same port as before."""
        command = [
            program("gearmand"),
            "--listen=127.0.0.1",
            f"--port={self.port}",
            "--log-file=stderr",
        ]
        self._process = ServerProcess(command, self._directory / "gearmand.log")
        self._process.wait_until(lambda: answers(self.port))

    @property
    def source(self) -> str:
        """As in ``downtimes.source``."""
        return f"gearman://127.0.0.1:{self.port}"

    @contextmanager
    def mute(self) -> Iterator[None]:
        """Have it keep its connections and answer nothing, as behind a broken network."""
        self._process.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it."""
        self._process.stop()
