"""`leitstand proof`: the chain of evidence as one report, signed off."""

from pathlib import Path
from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.app.proof import prove
from leitstand.archive import ProofReport, SectionReport, broken_seals, read_sealed
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.integrity_choice import DemoOption, require_demonstration
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import counted, moment
from leitstand.errors import UsageError

app = Commands()


@app.command("proof")
async def proof(
    call: Invocation,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Only check the seals of a saved report."),
    ] = None,
    demo: DemoOption = False,
) -> ExitCode:
    """Say of everything that is kept whether it is proven, as one sealed report."""
    if check is not None:
        return _check(call, check)
    if demo:
        require_demonstration(call)
    async with open_control(call.loaded) as control:
        report, document = await prove(control, demo=demo)
    parts = [part for section in report.sections for part in _section(section)]
    call.output.show(document, _head(report), *parts, _seals(document))
    return ExitCode.DONE if report.clean else ExitCode.FAILURE


def _check(call: Invocation, file: Path) -> ExitCode:
    document = _read(file)
    key = call.settings.proof.key.get_secret_value()
    broken = broken_seals(document, key)
    checked = "digest and signature" if key else "digest; proof.key is not set"
    said = broken or [f"The report of {document.get('generated_at')} is as written ({checked})."]
    call.output.show({"file": str(file), "intact": not broken, "problems": broken}, *said)
    return ExitCode.FAILURE if broken else ExitCode.DONE


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_sealed(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{file} cannot be checked: {error}") from error


def _head(report: ProofReport) -> str:
    findings = sum(len(section.findings) for section in report.sections)
    verdict = "nothing was found" if report.clean else counted(findings, "finding")
    return f"Proof of {report.host}, {moment(report.generated_at)} UTC: {verdict}."


def _section(section: SectionReport) -> list[Table | str]:
    said = f" ({section.summary})" if section.summary else ""
    if section.clean:
        return [f"\n{section.title}: clean{said}"]
    rows = [
        (found.subject, " – ".join(filter(None, (found.problem, found.remedy))))
        for found in section.findings
    ]
    return [f"\n{section.title}{said}:", Table(("subject", "problem and remedy"), rows)]


def _seals(document: dict[str, Any]) -> str:
    signed = document["signature"] or "not signed (proof.key is not set)"
    return f"\nDigest: {document['digest']}\nSignature: {signed}"
