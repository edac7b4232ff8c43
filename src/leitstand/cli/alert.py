"""`leitstand alert`: rules over metrics, what violates them, and silences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from leitstand.alerts import (
    Alert,
    MetricPage,
    Silence,
    SilenceSpec,
    Verdict,
    check_silence,
    parse_page,
    parse_rule,
    parse_weekly,
    read_labels,
    written_labels,
)
from leitstand.app.control import open_control
from leitstand.app.rule_deletion import delete_rule
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.duration import format_duration, parse_duration
from leitstand.errors import UsageError
from leitstand.jobs import WeeklyWindow
from leitstand.notifications import shown_recipient

app = Commands("alert", "Alerts: rules, what fires, acknowledgements and silences.")

Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="Only series with it; may be repeated."),
]
RuleName = Annotated[str, typer.Argument(metavar="RULE", help="The rule's name or id.")]
ABSENT = "absent"


@app.command("list")
async def list_rules(call: Invocation) -> None:
    """List all rules."""
    async with open_control(call.loaded) as control:
        rules = await control.evaluator.rules.list_all()
    columns = ("id", "rule", "fires when", "for", "recipient", "description")
    rows = [
        (
            rule.id,
            rule.name + ("" if rule.spec.enabled else " (off)"),
            rule.condition,
            format_duration(rule.spec.hold),
            shown_recipient(rule.spec.recipient),
            rule.spec.description,
        )
        for rule in rules
    ]
    call.output.show([r.as_dict() for r in rules], Table(columns, rows, empty="No alert rules."))


@app.command("add")
async def add(
    call: Invocation,
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="The metric's name.")],
    comparison: Annotated[
        str, typer.Argument(metavar="gt|lt|absent", help="On which side it is wrong.")
    ],
    threshold: Annotated[
        float | None, typer.Argument(metavar="THRESHOLD", help="A negative one after `--`.")
    ] = None,
    recipient: Annotated[
        str, typer.Option("--recipient", help="An address, a URL, log, or a contact's name.")
    ] = "default",
    name: Annotated[str, typer.Option("--name", help="The rule's name; made up if left out.")] = "",
    labels: Labels = None,
    description: Annotated[str, typer.Option("--description", help="What to do about it.")] = "",
    hold: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long it must hold.")
    ] = "0s",
    clear: Annotated[
        float | None, typer.Option("--clear", help="The threshold at which it is well again.")
    ] = None,
    debounce: Annotated[
        str, typer.Option("--debounce", metavar="TIME", help="Least time between two messages.")
    ] = "15m",
    repeat: Annotated[
        str | None, typer.Option("--repeat", metavar="TIME", help="When to tell of it again.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Alerts of a group may share a message.")
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Do not evaluate it yet.")] = False,
) -> None:
    """Create the rule, or replace the one of that name."""
    absent = comparison == ABSENT
    document: dict[str, Any] = {
        "name": name,
        "metric_name": metric,
        "comparison": None if absent else comparison,
        "threshold": threshold,
        "clear_threshold": clear,
        "absent": absent,
        "label_filters": read_labels(labels or ()),
        "recipient": recipient,
        "description": description,
        "for": hold,
        "debounce": debounce,
        "repeat": repeat,
        "group": group,
        "enabled": not disabled,
    }
    spec = parse_rule(document)
    async with open_control(call.loaded) as control:
        rule = await control.evaluator.rules.save(spec)
    call.output.show(rule.as_dict(), f"Rule {rule.name} fires when {rule.condition}.")


@app.command("delete")
async def delete(call: Invocation, name: RuleName) -> None:
    """Delete the rule; nobody is told that what fired is over."""
    async with open_control(call.loaded) as control:
        deleted = await delete_rule(control, name)
    call.output.show({"deleted": deleted}, f"Rule {deleted} is deleted.")


@app.command("enable")
async def enable(call: Invocation, name: RuleName) -> None:
    """Have the rule evaluated again."""
    async with open_control(call.loaded) as control:
        rule = await control.evaluator.rules.enable(name, enabled=True)
    call.output.show(rule.as_dict(), f"Rule {rule.name} is on.")


@app.command("disable")
async def disable(call: Invocation, name: RuleName) -> None:
    """Have the rule evaluated no more; what fires is kept as it is."""
    async with open_control(call.loaded) as control:
        rule = await control.evaluator.rules.enable(name, enabled=False)
    call.output.show(rule.as_dict(), f"Rule {rule.name} is off.")


@app.command("evaluate")
async def evaluate(
    call: Invocation,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A metrics text file.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be; write and tell nothing.")
    ] = False,
) -> None:
    """Evaluate all rules now, over a file or Leitstand's own metrics."""
    page = read_page(file) if file is not None else None
    async with open_control(call.loaded) as control:
        looked_at = page if page is not None else await control.all_metrics.look()
        found = await control.evaluator.evaluate(looked_at, dry_run=dry_run)
    if page is not None and page.rejected:
        call.output.note(f"{page.rejected} lines of {file} could not be read.")
    table = Table(
        ("rule", "state", "value", "labels", "told", "reason"),
        [_verdict_row(verdict) for verdict in found.verdicts],
        empty="Nothing violates a rule.",
    )
    call.output.show([verdict.as_dict() for verdict in found.verdicts], table)


@app.command("active")
async def active(call: Invocation) -> None:
    """List what is pending or firing."""
    async with open_control(call.loaded) as control:
        alerts = await control.evaluator.alerts.active()
    call.output.show([alert.as_dict() for alert in alerts], _alert_table(alerts))


@app.command("acknowledge")
async def acknowledge(
    call: Invocation,
    alert_id: Annotated[int, typer.Argument(metavar="ID", help="See `leitstand alert active`.")],
) -> None:
    """Have nobody told again that this alert fires, until it is over."""
    async with open_control(call.loaded) as control:
        await control.evaluator.alerts.acknowledge(alert_id, call.user)
    call.output.show({"acknowledged": alert_id}, f"Alert {alert_id} is acknowledged.")


@app.command("silence")
async def silence(
    call: Invocation,
    rule: Annotated[str | None, typer.Option("--rule", help="Only alerts of this rule.")] = None,
    labels: Labels = None,
    time: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long: 1h, a year with --from and --to."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help='Only from then, such as "02:00",')
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="to then.")] = None,
    days: Annotated[
        str | None, typer.Option("--days", help='Days on which it begins, such as "mon-fri,sun".')
    ] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="The zone of these times.")] = "UTC",
    reason: Annotated[str, typer.Option("--reason", help="What it is for.")] = "",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only list the active alerts that it would cover.")
    ] = False,
) -> None:
    """Have nobody told for a time, once or again and again, that these alerts fire."""
    weekly = _weekly(begin, end, days, timezone)
    what = SilenceSpec(rule, read_labels(labels or ()), weekly)
    seconds = parse_duration(time or ("1h" if weekly is None else "365d"))
    check_silence(what)
    async with open_control(call.loaded) as control:
        covered = await control.evaluator.alerts.covered_by(what)
        if preview:
            call.output.show([alert.as_dict() for alert in covered], _alert_table(covered))
            return
        added = await control.evaluator.silences.add(
            what, seconds, reason=reason, created_by=call.user
        )
    facts = [("silence", added.id), ("until", added.ends_at), ("covers now", len(covered))]
    call.output.show(added.as_dict(), details(facts))


@app.command("silences")
async def list_silences(
    call: Invocation,
    ended: Annotated[bool, typer.Option("--ended", help="Also those that are over.")] = False,
) -> None:
    """List the silences."""
    async with open_control(call.loaded) as control:
        silences = await control.evaluator.silences.list_all(ended=ended)
    columns = ("id", "covers", "from (UTC)", "until (UTC)", "only", "reason", "by")
    rows = [
        (s.id, _covers(s), moment(s.starts_at), moment(s.ends_at), _only(s), s.reason, s.created_by)
        for s in silences
    ]
    call.output.show([s.as_dict() for s in silences], Table(columns, rows, empty="No silences."))


@app.command("unsilence")
async def unsilence(
    call: Invocation,
    silence_id: Annotated[int, typer.Argument(metavar="ID", help="The silence's number.")],
) -> None:
    """End a silence now."""
    async with open_control(call.loaded) as control:
        await control.evaluator.silences.end(silence_id)
    call.output.show({"ended": silence_id}, f"Silence {silence_id} is over.")


def read_page(file: Path) -> MetricPage:
    """The metrics in a text file; raises UsageError."""
    try:
        return parse_page(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{file} cannot be read: {reason}") from None


def _covers(silence: Silence) -> str:
    rule = [f"rule {silence.what.rule}"] if silence.what.rule else []
    return ", ".join([*rule, *filter(None, [written_labels(silence.what.matchers)])])


def _weekly(
    begin: str | None, end: str | None, days: str | None, timezone: str
) -> WeeklyWindow | None:
    if begin is None and end is None:
        if days is not None:
            raise UsageError("--days needs times", remedy="Write --from 02:00 --to 04:00, too.")
        return None
    if begin is None or end is None:
        raise UsageError("--from and --to belong together", remedy="Write both.")
    return parse_weekly({"from": begin, "to": end, "days": days or (), "timezone": timezone})


def _only(silence: Silence) -> str:
    return "" if silence.what.weekly is None else str(silence.what.weekly)


def _verdict_row(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.rule.name,
        verdict.phase.value,
        verdict.value,
        written_labels(verdict.labels),
        "no" if verdict.suppressed or verdict.phase == "pending" else "yes",
        verdict.reason,
    )


def _alert_table(alerts: Sequence[Alert]) -> Table:
    columns = ("id", "rule", "state", "labels", "since (UTC)", "told (UTC)", "acknowledged by")
    rows = [
        (
            alert.id,
            alert.rule,
            alert.state.phase.value,
            written_labels(alert.labels),
            moment(alert.state.since),
            moment(alert.state.told_at),
            alert.state.acknowledged_by,
        )
        for alert in alerts
    ]
    return Table(columns, rows, empty="Nothing is pending or firing.")
