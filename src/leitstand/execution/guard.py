"""Supervises one command: starts it, stops it on request, and leaves no descendant of it behind.

A program of its own, started as ``python -I -S guard.py CONTROL RESULT COMMAND`` (three inherited
descriptors) with the command's standard input, output and error as its own. It is a child
subreaper, so whatever the command starts, however often it forks or calls setsid, becomes the
guard's child when its parent ends; the guard has left nothing behind exactly when it has no child.

CONTROL is read in lines: ``t`` terminate (SIGTERM, after the grace SIGKILL), ``k`` kill at once,
``r TIME`` kill at TIME (on the clock of ``now``) unless told another one before. Its end of file
means that the server died: kill at once. A pipe and not a parent-death signal, since that one fires
when the *thread* that started the guard ends.

RESULT gets lines: ``started PID``, ``failed STAGE ERRNO`` (from the command's process, when it
could not become the command) and last ``ended WAIT_STATUS REASON LEFTOVERS ESCAPEES UNKILLABLE``.

COMMAND holds NUL-terminated fields: timeout, grace, linger (seconds, ``inf`` for none), working
directory (empty: the server's), number of arguments, the arguments, the environment.

Start-up time is the cost of every run, therefore the private modules: ``signal`` and ``ctypes``
would add 10 and 6 ms to 20 (they import enum and struct).
"""

import _ctypes
import _signal  # type: ignore[import-not-found]  # typeshed does not describe it
import os
import select
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
"""Both from linux/prctl.h."""

PF_EXITING = 0x4
"""From linux/sched.h: the process has begun to end, by itself or by a signal."""

KILL_PATIENCE = 5.0
"""Seconds in which killed processes must be gone; one that waits for a dead disk never is."""

NOT_STARTED = -1
"""In place of a wait status when the request to stop came before the command."""


def now() -> float:
    """Seconds on a clock that, unlike the monotonic one, goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def prctl(option: int, value: int) -> None:
    """Set one process attribute."""
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None: what is loaded
    if _ctypes.call_function(address, (option, value, 0, 0, 0)) != 0:
        raise OSError(f"prctl({option}) failed")


class Command:
    """What to run, as the server wrote it into the descriptor ``fd``."""

    def __init__(self, fd: int) -> None:
        with open(fd, "rb") as source:
            fields = source.read().split(b"\0")[:-1]
        self.timeout, self.grace, self.linger = (float(field) for field in fields[:3])
        self.cwd = fields[3]
        last = 5 + int(fields[4])
        self.argv = fields[5:last]
        self.env = dict(field.split(b"=", 1) for field in fields[last:])

    def become(self, guard: int, result: int) -> None:
        """Turn the calling, freshly forked process into the command; never returns."""
        stage = b"start"
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
            if os.getppid() != guard:  # it died before the line above
                os._exit(127)
            # Python ignores these two; a command expects to die of them.
            _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
            _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
            stage = b"cwd"
            if self.cwd:
                os.chdir(self.cwd)
            stage = b"exec"
            os.execvpe(self.argv[0], self.argv, self.env)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(result, b"failed %s %d\n" % (stage, error.errno or 0))
        finally:
            os._exit(127)


class Guard:
    """The command's life from its start until nothing of it is left."""

    def __init__(self, command: Command, control: int, result: int) -> None:
        self.command = command
        self.control = control
        self.result = result
        self.main = 0
        self.status: int | None = None
        self.reason = b"none"
        self.kill_at = float("inf")
        self.timeout_at = now() + command.timeout
        self.renewed_until = float("inf")
        self.requests = b""
        self.group_killed = False
        self.leftovers: set[int] = set()
        self.escapees: set[int] = set()

    def run(self) -> None:
        """Start the command and stay until it and all its descendants are gone."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        wake = watch_children()
        os.set_blocking(self.control, False)
        self.read_requests()
        self.look_at_the_clock()
        if self.reason != b"none":
            self.report(NOT_STARTED, 0)
            return
        self.start()
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while self.reap() and now() < self.kill_at:
            self.wait(poll, wake)
        unkillable = self.kill_all(poll, wake)
        self.report(NOT_STARTED if self.status is None else self.status, unkillable)

    def start(self) -> None:
        """Fork the command."""
        guard = os.getpid()
        self.main = os.fork()
        if self.main == 0:
            self.command.become(guard, self.result)
        # After the fork, so that the command is born with the default actions. A service manager
        # signals every process of the service, but when to stop is the server's decision.
        for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
            _signal.signal(number, _signal.SIG_IGN)
        self.tell(b"started %d" % self.main)

    def wait(self, poll: select.poll, wake: int) -> None:
        """Sleep until something happens, then act on requests and on times that have come."""
        next_time = min(self.kill_at, self.timeout_at, self.renewed_until)
        for fd, _ in poll.poll(1000 * max(0.0, min(1.0, next_time - now()))):
            if fd == wake:
                os.read(wake, 4096)
            elif not self.read_requests():
                poll.unregister(fd)
        self.look_at_the_clock()

    def look_at_the_clock(self) -> None:
        """Act on times that have come."""
        if now() >= self.renewed_until:
            self.kill(b"fenced")
        elif now() >= self.timeout_at:
            self.terminate(b"timeout")

    def read_requests(self) -> bool:
        """Carry out what the server asks for; False once it can ask no more."""
        try:
            data = os.read(self.control, 4096)
        except BlockingIOError:
            return True
        if not data:
            self.kill(b"orphaned")
            return False
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            self.obey(line)
        return True

    def obey(self, line: bytes) -> None:
        """Carry out one request."""
        if line == b"t":
            self.terminate(b"stopped")
        elif line == b"k":
            self.kill(b"killed")
        elif line.startswith(b"r "):
            self.renewed_until = float(line[2:])

    def terminate(self, reason: bytes) -> None:
        """Ask the command to end, and see to it after the grace."""
        self.timeout_at = float("inf")
        if self.reason != b"none":
            return
        self.reason = reason
        self.kill_at = min(self.kill_at, now() + self.command.grace)
        self.signal_command(_signal.SIGTERM)

    def kill(self, reason: bytes) -> None:
        """End it now; a reason given before stands."""
        self.renewed_until = self.timeout_at = float("inf")
        self.reason = reason if self.reason == b"none" else self.reason
        self.kill_at = 0.0

    def signal_command(self, number: int) -> None:
        """Signal the command's group, or what the command left behind once it has ended."""
        if self.main and self.status is None:
            if not send(-self.main, number):  # it has not called setsid yet
                send(self.main, number)
            return
        for child in own_children(processes()) if self.main else []:
            send(child.pid, number)

    def reap(self) -> bool:
        """Collect what has ended; False when there is no child left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.main:
                self.main_ended(status)

    def main_ended(self, status: int) -> None:
        """Give what the command left behind a moment, or SIGTERM if it was to stop anyway."""
        self.status = status
        self.timeout_at = float("inf")
        if self.reason == b"none":
            self.kill_at = min(self.kill_at, now() + self.command.linger)
        else:
            self.signal_command(_signal.SIGTERM)

    def kill_all(self, poll: select.poll, wake: int) -> int:
        """Kill until there is no child left; the number of those that do not die in time."""
        until = now() + KILL_PATIENCE
        while self.reap() and now() < until:
            self.kill_once()
            # Killed processes end at once or not for long; their children appear without a signal.
            for fd, _ in poll.poll(20):
                if fd == wake:
                    os.read(wake, 4096)
                else:
                    poll.unregister(fd)
        return len(own_children(processes())) if self.reap() else 0

    def kill_once(self) -> None:
        """SIGKILL to the command, its group, and all that has become the guard's child.

        Of the group only those that are there at the first call, the command itself being gone,
        have outlived it; what is killed with it, or dies already, takes a moment to be gone. None
        of these numbers can belong to a stranger: only the guard reaps its children, and a group's
        number stays taken while one of them is in it.
        """
        living = processes()
        children = own_children(living)
        if any(self.main in (child.pid, child.group) for child in children):
            if self.status is not None and not self.group_killed:
                group = (each for each in living if each.group == self.main)
                self.leftovers.update(each.pid for each in group if not each.dying)
            self.group_killed = True
            send(-self.main, _signal.SIGKILL)
        for child in children:
            if self.main not in (child.pid, child.group) and not child.dying:
                self.escapees.add(child.pid)
            send(child.pid, _signal.SIGKILL)

    def report(self, status: int, unkillable: int) -> None:
        """Tell the server how it ended."""
        counts = (len(self.leftovers), len(self.escapees), unkillable)
        self.tell(b"ended %d %s %d %d %d" % (status, self.reason, *counts))

    def tell(self, line: bytes) -> None:
        """Write one line for the server, if there is still one."""
        try:
            os.write(self.result, line + b"\n")
        except BrokenPipeError:
            pass


def watch_children() -> int:
    """A descriptor that becomes readable when a child has ended."""
    # The server's thread may have blocked signals, which the guard and the command would inherit.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    _signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
    return readable


class Process:
    """A process that has not ended; one that is ``dying`` will, whatever happens."""

    def __init__(self, pid: int, parent: int, group: int, dying: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.dying = dying


def processes() -> list[Process]:
    """All that there are.

    By a walk through /proc: the kernel's own list of children is optional.
    """
    found = (stat_of(name) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process is not None]


def own_children(living: list[Process]) -> list[Process]:
    """Those of them that are children of the guard."""
    me = os.getpid()
    return [process for process in living if process.parent == me]


def stat_of(pid: str) -> Process | None:
    """What proc_pid_stat(5) tells of a process; None when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    dying = bool(int(fields[6]) & PF_EXITING)
    return Process(int(pid), int(fields[1]), int(fields[2]), dying)


def send(pid: int, number: int) -> bool:
    """Signal a child, or with a negative number a group; False if there is none.

    One that is forbidden (it runs as another user, through sudo) counts as signalled.
    """
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def main() -> None:
    """Run what the descriptors in the arguments say."""
    control, result, command = (int(argument) for argument in sys.argv[1:4])
    for fd in (control, result, command):
        os.set_inheritable(fd, False)
    Guard(Command(command), control, result).run()


if __name__ == "__main__":
    main()
    os._exit(0)  # nothing to tidy up, and the interpreter's own farewell takes milliseconds
