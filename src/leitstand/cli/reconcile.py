"""`leitstand reconcile`: do the keys in the database and the objects in the store match?"""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.archive import Reconciliation, run_reconcile
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.integrity_choice import DemoOption, chosen_integrity
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import seconds

app = Commands()

SHOWN = 50
"""Findings that people are shown of each sort."""


@app.command("reconcile")
async def reconcile(
    call: Invocation,
    existing: Annotated[
        bool, typer.Option(help="List what is in both, too; otherwise it is only counted.")
    ] = True,
    demo: DemoOption = False,
) -> ExitCode:
    """Compare the database's list of objects with the object store; nothing is repaired."""
    integrity = chosen_integrity(call, demo=demo)
    async with open_control(call.loaded) as control:
        with call.output.progress("reconciliation") as show:
            result = await run_reconcile(
                integrity,
                control.database,
                lambda compared: show(None, f"{compared} keys compared"),
                existing=existing,
            )
    call.output.show(result.as_dict(), _findings(result), *_sentences(result))
    if not result.is_clean:
        return ExitCode.FAILURE
    return ExitCode.PARTIAL if result.is_incomplete else ExitCode.DONE


def _findings(result: Reconciliation) -> Table | str:
    rows = [
        (what, revision["storage_key"], revision["document_id"], revision["revision_id"])
        for what, found in (("missing", result.missing), ("orphaned", result.orphaned))
        for revision in (each.as_dict() for each in found.first[:SHOWN])
    ]
    columns = ("finding", "storage key", "document", "revision")
    return Table(columns, rows, empty="No object is missing or orphaned.")


def _sentences(result: Reconciliation) -> list[str]:
    counts, notes = result.counts, result.notes.as_dict()
    lines = [
        f"{counts['missing_in_storage']} missing, {counts['orphaned_in_storage']} orphaned,"
        f" {counts['existing_in_storage']} in both; {seconds(result.duration)}."
    ]
    lines += [f"{name} is in {file}" for name, file in result.summary()["files"].items()]
    lines += [f"Not seen: {gap['prefix'] or '/'} ({gap['reason']})" for gap in notes["unreadable"]]
    lines += [f"Hard to tell apart: {', '.join(keys)}" for keys in notes["collisions"]]
    lines += [f"Left out: {each['storage_key']}, {each['what']}" for each in notes["irregular"]]
    return ["\n".join(lines)]
