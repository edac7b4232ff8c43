"""Keeps a child's output in bounded size, whatever its length or bytes."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass

KIB = 1024


def storable(data: bytes) -> str:
    r"""``data`` as text that PostgreSQL can store.

    UTF-8 where it is; other bytes as ``\xNN``, and so NUL, the one character a ``text`` refuses.
    """
    return data.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


@dataclass(frozen=True)
class CapturedOutput:
    """The first and the last bytes of an output and its true size in bytes."""

    head: bytes
    tail: bytes
    size: int

    @property
    def left_out(self) -> int:
        """Bytes between head and tail that were not kept."""
        return self.size - len(self.head) - len(self.tail)

    def text(self, around_marker: str = "\n") -> str:
        """What was kept, with a marker for what was not; storable in PostgreSQL."""
        if not self.left_out:
            return storable(self.head + self.tail)
        marker = f"[… {self.left_out} of {self.size} bytes left out …]"
        return around_marker.join((_start(self.head), marker, _end(self.tail)))

    def last_line(self, limit: int = 500) -> str:
        """The last line that is not blank, at most its last ``limit`` bytes."""
        lines = (self.tail if self.left_out else self.head + self.tail).rstrip().splitlines()
        return _end(lines[-1][-limit:]).strip() if lines else ""


def _start(data: bytes) -> str:
    # An incremental decoder holds back a character that the cut has divided.
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    return decoder.decode(data, final=False).replace("\0", "\\x00")


def _end(data: bytes) -> str:
    return storable(_from_character(data))


def _from_character(data: bytes) -> bytes:
    """``data`` without the continuation bytes (at most three) of a character that a cut divided."""
    for index, byte in enumerate(data[:4]):
        if byte & 0xC0 != 0x80:
            return data[index:]
    return data


class BoundedCapture:
    """Takes in any amount of bytes and keeps the first ``head`` and the last ``tail`` of them."""

    def __init__(self, head: int = 64 * KIB, tail: int = 64 * KIB) -> None:
        self.size = 0
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        """Add the next bytes."""
        self.size += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._tail_limit :]
        if len(self._tail) > 2 * self._tail_limit:  # rarely, since cutting moves all of it
            del self._tail[: -self._tail_limit]

    def captured(self) -> CapturedOutput:
        """What has been kept until now."""
        return CapturedOutput(bytes(self._head), bytes(self._tail[-self._tail_limit :]), self.size)


@dataclass(frozen=True)
class LogLimits:
    """What of a child's output becomes log lines while it runs, and how much more at its end.

    ``line`` bytes of each line (half from its start, half from its end), at most ``lines`` lines
    and ``size`` bytes; of what follows only the last ``tail`` bytes, at most ``tail_lines`` lines.
    The defaults stay below what a run's log can hold (RUN_LIMIT in run_reporter.py) also where
    every byte of the tail takes four characters, so that the tail is never what is missing there.
    """

    line: int = 8 * KIB
    lines: int = 20_000
    size: int = 512 * KIB
    tail: int = 64 * KIB
    tail_lines: int = 1000


class LineSplitter:
    """Cuts an output into log lines and hands each to ``emit`` as soon as it is complete.

    When the limits are reached, one line says so and nothing is cut any more (counting and copying
    the tail costs next to nothing per gigabyte); ``finish`` says how much was left out and emits
    the last lines. A line for which ``emit`` returns True (it was meant for something else than
    the log) does not count.
    """

    def __init__(self, emit: Callable[[str], bool | None], limits: LogLimits | None = None) -> None:
        self._emit = emit
        self._limits = limits or LogLimits()
        self._lines_left = self._limits.lines
        self._bytes_left = self._limits.size
        self._line = self._new_line()
        self._rest = BoundedCapture(0, self._limits.tail)

    def feed(self, data: bytes) -> None:
        """Add the next bytes."""
        start = 0
        while not self._exhausted():
            end = data.find(b"\n", start)
            if end < 0:
                self._line.feed(data[start:])
                return
            self._line.feed(data[start:end])
            start = end + 1
            self._end_line()
            if self._exhausted():
                self._emit("[… the log is full: the last lines follow when the run has ended …]")
        self._rest.feed(data[start:])

    def finish(self) -> None:
        """Emit what is left: an unfinished line, or the last lines of what was left out."""
        if self._line.size:
            self._end_line()
        rest = self._rest.captured()
        tail = _last_lines(rest, self._limits.tail_lines)
        if len(tail) < rest.size:
            self._emit(f"[… {rest.size - len(tail)} bytes left out …]")
        for line in tail.splitlines():
            self._line.feed(line)
            self._end_line()

    def _exhausted(self) -> bool:
        return self._lines_left <= 0 or self._bytes_left <= 0

    def _end_line(self) -> None:
        line = self._line.captured().text(around_marker=" ").rstrip("\r")
        self._line = self._new_line()
        if not self._emit(line):
            self._lines_left -= 1
            self._bytes_left -= len(line) + 1

    def _new_line(self) -> BoundedCapture:
        return BoundedCapture(self._limits.line // 2, self._limits.line // 2)


def _last_lines(rest: CapturedOutput, count: int) -> bytes:
    """The last whole lines of what was kept, or all of it where it is one endless line."""
    tail = rest.tail
    if rest.left_out:
        tail = _from_character(tail).partition(b"\n")[2] or tail
    return b"".join(tail.splitlines(keepends=True)[-count:])
