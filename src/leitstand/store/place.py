"""Where an embedded server lives: its directories and files, and who may log in."""

import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from leitstand.errors import LeitstandError
from leitstand.store.account import Account, account_of, server_account, user_name
from leitstand.store.cluster import SOCKET_PATH_LIMIT, SUPERUSER
from leitstand.store.reachable import SHARED, reachable_directory

LOG_LIMIT = 16 * 1024 * 1024
"""Bytes after which the server's log begins anew; the former one is kept beside it."""

UNFINISHED = "initialising-"
"""Prefix of clusters whose initdb has not ended, or was killed."""

ACCESS_RULES = f"""\
# Written by Leitstand at every start.
local all         {SUPERUSER} peer map=leitstand
local replication {SUPERUSER} peer map=leitstand
"""


class PlaceError(LeitstandError):
    """The embedded server's directories cannot be used as they are."""

    code = "EMBEDDED_PLACE"


@dataclass(frozen=True)
class Place:
    """``directory`` belongs to whoever began; ``cluster`` and the sockets to ``account``."""

    directory: Path
    account: Account

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory."""
        return self.directory / "cluster"

    @property
    def log_file(self) -> Path:
        """What the server writes to standard error."""
        return self.directory / "log"

    @property
    def start_lock(self) -> Path:
        """Held while a server is looked for, started or stopped."""
        return self.directory / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Shared by all who use the server."""
        return self.directory / "users.lock"

    @property
    def socket_dir(self) -> Path:
        """Beside the cluster, or in /tmp where that is too long for a socket.

        libpq takes a comma in a host for the end of it, so such a path is not used either.
        """
        beside = self.directory / "socket"
        length = len(os.fsencode(beside / ".s.PGSQL.5432"))
        if length <= SOCKET_PATH_LIMIT and "," not in str(beside):
            return beside
        name = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:16]
        return Path("/tmp") / f"leitstand-{name}"  # noqa: S108 (its owner is checked)

    def new_cluster(self) -> Path:
        """An empty directory for initdb, which ``keep`` turns into the cluster.

        Its name is new every time: an initdb whose Leitstand was killed may still be writing.
        """
        for leftover in self.directory.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        path = Path(tempfile.mkdtemp(dir=self.directory, prefix=UNFINISHED))
        self.account.own(path)
        return path

    def keep(self, finished: Path) -> None:
        """Make the cluster in ``finished``, which initdb has completed, the one of this place."""
        finished.rename(self.cluster)
        descriptor = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_socket_dir(self) -> None:
        """Make the sockets' directory, or take it over if it is safe; clear what lies in it.

        In /tmp the name may have been taken by somebody else, who could then answer in the
        server's stead: PlaceError. Call it only when no server works here.
        """
        path = self.socket_dir
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (
            self.account.uid,
            os.geteuid(),
        ):
            raise PlaceError(
                f"{path} is needed for PostgreSQL's socket and belongs to"
                f" {user_name(status.st_uid)}, not to {self.account.name}",
                remedy="Remove it, after finding out who made it.",
            )
        path.chmod(0o700)
        self.account.own(path)
        # The lock file of a killed server names a pid that may be anybody's by now.
        for leftover in path.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)

    def access_options(self) -> dict[str, str]:
        """Write who may log in, and return the settings that make a server go by it.

        The server's account, whoever runs Leitstand, and root, all by the kernel's word (peer).
        """
        names = dict.fromkeys((self.account.name, user_name(os.geteuid()), "root"))
        map_ = "".join(f'leitstand "{name}" {SUPERUSER}\n' for name in names)
        rules = {"hba_file": ACCESS_RULES, "ident_file": map_}
        for setting, text in rules.items():
            path = self.directory / f"{setting}.conf"
            path.unlink(missing_ok=True)  # it may be root's, in an ordinary user's directory
            path.write_text(text)
            path.chmod(0o644)
        return {setting: str(self.directory / f"{setting}.conf") for setting in rules}

    def trim_log(self) -> None:
        """Begin the log anew once it is long, without the server's noticing (it appends)."""
        try:
            if self.log_file.stat().st_size > LOG_LIMIT:
                shutil.copyfile(self.log_file, self.directory / "log.1")
                os.truncate(self.log_file, 0)
        except OSError:  # none yet, or no room for a copy: no reason to fail
            pass


def prepare_place(data_dir: Path, shared: Path = SHARED) -> Place:
    """The place of the server that belongs to ``data_dir``; made, or checked if it exists."""
    wanted = data_dir.absolute() / "postgres"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        cluster = wanted / "cluster"
        account = account_of(cluster) if cluster.exists() else server_account()
        directory = reachable_directory(wanted, account, shared)
    except OSError as error:
        raise PlaceError(
            f"the embedded PostgreSQL cannot use {wanted}",
            detail=str(error),
            remedy="Set server.data_dir to a directory that belongs to you, or database.url.",
        ) from error
    owner = directory.stat().st_uid
    if os.geteuid() not in (0, owner):
        raise PlaceError(
            f"{directory} belongs to {user_name(owner)}",
            remedy=f"Run Leitstand as {user_name(owner)}, or set server.data_dir to another"
            " directory.",
        )
    return Place(directory, account)
