"""Reads the files below a directory and hashes them; as a program, in a process of its own.

Started as ``python -I -S tree_hashing.py LIFE SHARED RATE BUDGET ROOT``: two inherited descriptors,
bytes a second and bytes at most (``inf`` for neither). Standard input brings lists of keys with the
digests that are wanted, standard output takes the answers back, each message as its length in four
bytes and then ``marshal``'s bytes. LIFE is a pipe of which only the parent holds the other end: at
its end of file nobody wants answers any more.

Small files make hashing threads wait for Python's lock more than for the processor; processes have
one each. They import no more than this needs, so that they start in 40 ms and take 10 MB.
"""

import _thread
import errno
import fcntl
import hashlib
import marshal
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, TypeVar

PIECE = 64 * 1024
"""Bytes of a read; the kernel took four times as long to copy as many by 128 KiB at a time."""

SLICE = 0.1
"""Seconds after which an answer is given for what was hashed until then, at least one object."""

Wanted = tuple[bytes, str | None]
"""The key of an object and the SHA-256 that it should have."""

Answer = int | tuple[str | None, int, int, str]
"""The size of an object whose SHA-256 is the one that it should have. Of any other its SHA-256
(None: not readable), its size, number and text of the error."""

Spend = Callable[[int], None]
"""Told how many bytes were read; may wait, and end the reading by raising."""

Item = TypeVar("Item")
Done = TypeVar("Done")

_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a fifo must not hold us up
_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_NO_NAMES = {b"", b".", b".."}
_STATE = struct.Struct("=qd")
_LENGTH = struct.Struct("=I")


class Allowance:
    """What all who hash together may read: ``rate`` bytes a second, ``budget`` bytes in all.

    The state is in the file ``descriptor``, which threads and processes share. At most the budget
    is begun: the object that crosses it is read whole.
    """

    def __init__(self, descriptor: int, rate: float, budget: float) -> None:
        self.descriptor, self.rate, self.budget = descriptor, rate, budget
        self._unlimited = rate == budget == float("inf")
        self._lock = _thread.allocate_lock()  # record locks do not tell threads apart

    @classmethod
    def begin(cls, rate: float, budget: float) -> "Allowance":
        """A new one, of which nothing is used."""
        allowance = cls(os.memfd_create("allowance"), rate, budget)
        allowance._write(0, 0.0)
        return allowance

    def spend(self, count: int) -> float:
        """Account for bytes that were read; returns the seconds to wait until they are paid for.

        Time that passed without reading is not saved up: after a pause nobody may go faster.
        """
        if self._unlimited:
            return 0.0
        with self._alone():
            read, paid_until = self._read()
            now = time.monotonic()
            paid_until = max(paid_until, now) + count / self.rate
            self._write(read + count, paid_until)
        return paid_until - now

    def is_used_up(self) -> bool:
        """Whether nothing more may be begun."""
        if self.budget == float("inf"):
            return False
        with self._alone():
            return self._read()[0] >= self.budget

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self.descriptor, fcntl.LOCK_UN)

    def _read(self) -> tuple[int, float]:
        read, paid_until = _STATE.unpack(os.pread(self.descriptor, _STATE.size, 0))
        return read, paid_until

    def _write(self, read: int, paid_until: float) -> None:
        os.pwrite(self.descriptor, _STATE.pack(read, paid_until), 0)


class ObjectTree:
    """The regular files below ``root`` by their paths; for one thread, reached by no link.

    The directory of the last key stays open, as keys come in order.
    """

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._directory: _OpenDirectory | None = None
        self._buffer = memoryview(bytearray(PIECE))

    def forget(self) -> None:
        """Close the directory that was kept; another may be in its place by now."""
        self._directory = None

    def status(self, key: bytes) -> os.stat_result:
        """The status of a regular file; raises OSError, ENOENT also for anything else."""
        directory, name = self._place(key)
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        _require_regular(status)
        return status

    def read(self, key: bytes) -> Iterator[memoryview]:
        """The content in pieces, each valid until the next; raises OSError as ``status``.

        The kernel is told not to keep large files in memory at others' expense.
        """
        file = self._open(key)
        try:
            yield from pieces_of(file, self._buffer)
        finally:
            os.close(file)

    def _open(self, key: bytes) -> int:
        try:
            return _open_in(*self._place(key))
        except FileNotFoundError:  # the directory that was kept may have been replaced by another
            self.forget()
            return _open_in(*self._place(key))

    def _place(self, key: bytes) -> tuple[int, bytes]:
        """An open directory and the name in it."""
        parent, _, name = key.rpartition(b"/")
        if name in _NO_NAMES or b"\0" in key:
            raise OSError(errno.ENOENT, "no file can have this name")
        if self._directory is None or self._directory.path != parent:
            self._directory = None
            self._directory = _OpenDirectory(self._root, parent)
        return self._directory.descriptor, name


class _OpenDirectory:
    """A directory below a root, opened name by name; closed with the last reference to it."""

    descriptor = -1

    def __init__(self, root: bytes, path: bytes) -> None:
        self.path = path
        self.descriptor = os.open(root, _DIRECTORY & ~os.O_NOFOLLOW)
        for name in path.split(b"/") if path else ():
            above = self.descriptor
            try:
                if name in _NO_NAMES:
                    raise OSError(errno.ENOENT, "no directory can have this name")
                self.descriptor = os.open(name, _DIRECTORY, dir_fd=above)
            finally:
                if self.descriptor == above:
                    self.descriptor = -1
                os.close(above)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def _open_in(directory: int, name: bytes) -> int:
    try:
        return os.open(name, _FILE | os.O_NOATIME, dir_fd=directory)
    except PermissionError:  # O_NOATIME is for the file's owner alone
        return os.open(name, _FILE, dir_fd=directory)


def pieces_of(file: int, buffer: memoryview) -> Iterator[memoryview]:
    """What an open file holds, piece by piece in ``buffer``; raises OSError.

    Of a file that grows meanwhile as much as it had at first: to ask for its end, too, is a tenth
    of what opening and reading a small file takes.
    """
    status = os.fstat(file)
    _require_regular(status)
    if status.st_size > len(buffer):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_NOREUSE)
    left = status.st_size
    while count := os.readv(file, [buffer]):
        yield buffer[:count]
        left -= count
        if not left:
            break


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENOENT, "what is there is no regular file")


class RunningHash:
    """The SHA-256 and the size of what was read so far."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256(usedforsecurity=False)
        self.size = 0

    def take_in(self, pieces: Iterable[memoryview | bytes], spend: Spend) -> None:
        """Read all pieces; raises what reading them and ``spend`` raise."""
        for piece in pieces:
            self._sha256.update(piece)
            self.size += len(piece)
            spend(len(piece))

    def hexdigest(self) -> str:
        """The SHA-256 in hexadecimal digits."""
        return self._sha256.hexdigest()


def in_slice(
    items: Sequence[Item], work: Callable[[Item], Done], allowance: Allowance
) -> list[Done]:
    """``work`` done for the first items, as far as a slice of time and the allowance go."""
    until = time.monotonic() + SLICE
    done: list[Done] = []
    for item in items:
        if allowance.is_used_up() or (done and time.monotonic() > until):
            break
        done.append(work(item))
    return done


def send(stream: IO[bytes], message: list[Any]) -> None:
    """Write one message; raises OSError."""
    data = marshal.dumps(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> list[Any] | None:
    """Wait for one message; None where the other side has ended."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    data = stream.read(_LENGTH.unpack(length)[0])
    try:
        message: list[Any] = marshal.loads(data)  # noqa: S302 - from our own process
    except EOFError:
        return None
    return message


def _answer(tree: ObjectTree, wanted: Wanted, spend: Spend) -> Answer:
    key, expected = wanted
    running = RunningHash()
    try:
        running.take_in(tree.read(key), spend)
    except OSError as error:
        return None, running.size, error.errno or 0, error.strerror or str(error)
    digest = running.hexdigest()
    return running.size if digest == expected else (digest, running.size, 0, "")


def _end_with_parent(life: int) -> None:
    os.read(life, 1)
    os._exit(0)


def main(life: int, allowance: Allowance, root: bytes) -> None:
    """Answer until standard input ends."""
    _thread.start_new_thread(_end_with_parent, (life,))
    tree = ObjectTree(root)

    def spend(count: int) -> None:
        wait = allowance.spend(count)
        if wait > 0:
            time.sleep(wait)

    def answer(wanted: Wanted) -> Answer:
        return _answer(tree, wanted, spend)

    while (objects := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, in_slice(objects, answer, allowance))


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        Allowance(int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])),
        os.fsencode(sys.argv[5]),
    )
