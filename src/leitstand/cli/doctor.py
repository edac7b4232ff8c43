"""`leitstand doctor`: what is wrong with this installation, and what to do about it."""

import sys

from leitstand.app.configuration_check import check_configuration
from leitstand.app.diagnosis import examine
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import counted
from leitstand.doctor import Finding, from_error, python_version
from leitstand.settings import SettingsError

app = Commands()


@app.command("doctor")
async def doctor(call: Invocation) -> ExitCode:
    """Find what is wrong with this installation, and the remedy."""
    try:
        settings = call.settings
        check_configuration(call.loaded)
    except SettingsError as error:
        findings = [python_version(sys.version_info[:2]), from_error("configuration", error)]
    else:
        findings = await examine(settings)
    wrong = sum(not finding.ok for finding in findings)
    said = (
        "Nothing is wrong."
        if wrong == 0
        else f"{wrong} of {counted(len(findings), 'check')} found fault."
    )
    table = Table(("check", "state", "problem and remedy"), [_row(found) for found in findings])
    call.output.show([finding.as_dict() for finding in findings], table, said)
    return ExitCode.FAILURE if wrong else ExitCode.DONE


def _row(finding: Finding) -> tuple[object, ...]:
    said = (text for text in (finding.problem, finding.remedy) if text)
    return finding.name, "ok" if finding.ok else "failed", " – ".join(said)
