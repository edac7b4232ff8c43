"""`leitstand restore`: brings a backup back to a directory."""

import os
import pwd
from pathlib import Path
from typing import Annotated

import typer

from leitstand.app.archive_wiring import (
    archive_settings,
    object_repository,
    protected_directories,
)
from leitstand.archive import (
    SHOWN,
    Materialised,
    MaterialiseProgress,
    ObjectRestore,
    RestoredObjects,
    RestoreRequest,
    restore_generation,
    restore_objects,
)
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.display import moment, seconds, size
from leitstand.errors import UsageError
from leitstand.store.account import Account, server_account

app = Commands("restore", "Restore a backup to a directory.")


@app.command("database")
def database(
    call: Invocation,
    generation: Annotated[str, typer.Argument(metavar="GEN", help="A generation, or 'newest'.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory to make.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is in TARGET, once the restore is done.")
    ] = False,
    upto: Annotated[
        str | None, typer.Option("--upto", metavar="STAGE", help="'full' or an increment's id.")
    ] = None,
    tablespaces: Annotated[
        Path | None, typer.Option("--tablespaces", help="Where they go: TARGET.tablespaces.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="USER", help="Whose it is to be (root only).")
    ] = None,
) -> None:
    """Restore a PostgreSQL data directory; on any failure TARGET stays as it was."""
    account = server_account() if owner is None else _account(owner)
    protected = protected_directories(call.settings)
    request = RestoreRequest(generation, target, force, upto, tablespaces, protected)
    with call.output.progress("restore") as show:

        def report(progress: MaterialiseProgress) -> None:
            percent = 100 * progress.bytes_done / max(1, progress.bytes_total)
            show(percent, f"{progress.phase} {progress.stage}")

        made = restore_generation(request, archive_settings(call.settings), account, report)
    call.output.show(_document(made, account), details(_for_people(made, account)))


@app.command("objects")
async def objects(
    call: Invocation,
    snapshot: Annotated[str, typer.Argument(metavar="SNAP", help="A snapshot, or 'newest'.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory to make.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is in TARGET, once the restore is done.")
    ] = False,
) -> ExitCode:
    """Restore a snapshot of objects; on any failure TARGET stays as it was."""
    restore_log = archive_settings(call.settings).restore_log
    protected = protected_directories(call.settings)
    restore = ObjectRestore(snapshot, target, restore_log, force, protected)
    with call.output.progress("restore") as show:
        restored = await restore_objects(restore, object_repository(call.settings), show)
    call.output.show(restored.as_dict(), details(_of_objects(restored)))
    return ExitCode.PARTIAL if restored.snapshot.is_partial else ExitCode.DONE


def _of_objects(restored: RestoredObjects) -> list[tuple[str, object]]:
    count, unpacked = restored.unpacked.found, restored.unpacked
    phases = ", ".join(f"{name} {seconds(value)}" for name, value in restored.phases.items())
    lost = unpacked.owners_lost
    owners = f"{lost} are not as they were: only root can give files away" if lost else "kept"
    return [
        ("restored", restored.snapshot.id[:SHOWN] + (" (partial)" * restored.snapshot.is_partial)),
        ("to", restored.target),
        ("as it was at", f"{moment(restored.taken_at)} UTC"),
        ("files", f"{count.files} with {size(count.bytes)}"),
        ("owners", owners),
        ("took", phases),
    ]


def _document(made: Materialised, owner: Account) -> dict[str, object]:
    return {
        "source": made.source,
        "target": made.data,
        "owner": owner.name,
        "recovery_point": made.recovery_point,
        "tablespaces": {str(oid): path for oid, path in made.tablespaces.items()},
        "config_files": made.config,
        "phases": dict(made.phases),
    }


def _for_people(made: Materialised, owner: Account) -> list[tuple[str, object]]:
    phases = ", ".join(f"{name} {seconds(value)}" for name, value in made.phases.items())
    return [
        ("restored", made.source),
        ("to", made.data),
        ("which belongs to", owner.name),
        ("as it was at", f"{moment(made.recovery_point)} UTC"),
        *(("tablespace in", path) for path in made.tablespaces.values()),
        *(("configuration files in", path) for path in (made.config,) if path is not None),
        ("took", phases),
    ]


def _account(name: str) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"there is no user {name!r} on this machine") from None
    if os.geteuid() not in (0, entry.pw_uid):
        raise UsageError(
            f"only root can give a directory to {name}",
            remedy="Restore as root, or leave --owner out: the directory is yours then.",
        )
    switch = os.geteuid() != entry.pw_uid
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=switch)
