"""`leitstand export`: what is in the database as a file that `leitstand apply` reads."""

import os
from pathlib import Path
from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.app.jobs_as_code import export as export_text
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.errors import ConflictError, LeitstandError

app = Commands()


@app.command("export")
async def export(
    call: Invocation,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Where to write it; standard output if left out."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write jobs, groups and windows to a file that applies without a difference."""
    async with open_control(call.loaded) as control:
        text = await export_text(control)
        with_secrets = [job.name for job in await control.jobs.list_all() if job.holds_secrets]
    if file is None:
        call.output.show({"toml": text}, text.rstrip("\n"))
    else:
        _write(file, text, force)
        call.output.show({"file": file, "toml": text}, f"Written to {file}.")
    if with_secrets:
        call.output.note(
            f"Among the parameters of {', '.join(with_secrets)} are values that look secret. They "
            "are written as they are, or the file would not apply; read them from files instead."
        )


def _write(file: Path, text: str, force: bool) -> None:
    """Only its owner may read it: parameters may hold secrets."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        descriptor = os.open(file, flags, 0o600)
    except FileExistsError:
        raise ConflictError(f"{file} exists", remedy="--force overwrites it.") from None
    except OSError as error:
        raise LeitstandError(
            f"{file} cannot be written: {error.strerror}",
            code="EXPORT_FILE",
            remedy="Name a file in a directory that exists and is yours.",
        ) from error
    with open(descriptor, "w", encoding="utf-8") as target:
        target.write(text)
