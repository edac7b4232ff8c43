"""A door before a server on a port: closed, nobody answers there; opened, bytes pass."""

import socket
import threading
from types import TracebackType
from typing import Self

from tests.ports import free_port


class Door:
    """A port of its own that leads to ``target`` for as long as it is open; closed at first."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._listener: socket.socket | None = None
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Let everybody through from now on."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._admit, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Cut everybody off."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for each in self._sockets:
            _shut(each)
        self._sockets.clear()

    def _admit(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    _shut(sink)


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()
