"""`leitstand scrub`: is the content of stored objects still what it was?"""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.archive import Quota, Scrubbing, parse_size, run_scrub
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.integrity_choice import DemoOption, chosen_integrity
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import seconds, size
from leitstand.duration import parse_duration

app = Commands()


@app.command("scrub")
async def scrub(
    call: Invocation,
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="N", help="Objects (10), or so much a day (5%, 2GiB)."),
    ] = None,
    cooldown: Annotated[
        str | None,
        typer.Option("--cooldown", metavar="D", help="Leave out what was read within D (24h)."),
    ] = None,
    max_rate: Annotated[
        str | None, typer.Option("--max-rate", metavar="SIZE", help="A second at most (50MB).")
    ] = None,
    demo: DemoOption = False,
) -> ExitCode:
    """Read a sample of the objects again, and compare their SHA-256 with the database's."""
    chosen = chosen_integrity(call, demo=demo)
    options = chosen.scrub_options(
        quota=None if sample is None else Quota.parse(sample),
        cooldown=None if cooldown is None else parse_duration(cooldown),
        max_rate=None if max_rate is None else parse_size(max_rate) or None,
    )
    async with open_control(call.loaded) as control:
        with call.output.progress("scrub") as show:
            result = await run_scrub(
                chosen,
                control.database,
                options,
                lambda done, of: show(100 * done / max(1, of), f"{done} of {of} objects read"),
            )
    call.output.show(result.as_dict(), _findings(result), *_sentences(result))
    return ExitCode.DONE if result.is_clean else ExitCode.FAILURE


def _findings(result: Scrubbing) -> Table | str:
    rows = [
        (
            shown["storage_key"],
            shown["document_id"],
            shown["revision_id"],
            finding.error or f"is {finding.actual}, should be {finding.revision.checksum}",
        )
        for finding in result.findings
        for shown in (finding.as_dict(),)
    ]
    columns = ("storage key", "document", "revision", "problem")
    return Table(columns, rows, empty="All that was read is right.")


def _sentences(result: Scrubbing) -> list[str]:
    lines = [
        f"{result.sampled} objects read ({size(result.bytes_read)}) in {seconds(result.duration)};"
        f" {result.coverage}."
    ]
    if result.missing:
        lines.append(f"{result.missing} more are not there: see leitstand reconcile.")
    return ["\n".join(lines)]
