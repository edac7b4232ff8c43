"""Jobs as code: files of jobs against the database, and the configuration file's own at start."""

from collections.abc import Mapping
from pathlib import Path

import structlog

from leitstand.app.control import Control
from leitstand.jobs import Claims, JobFileError, Plan, Thing, Written, read_entries, to_toml
from leitstand.nearest import nearest
from leitstand.protection import GROUP, OWN_JOBS, WATCH_JOBS
from leitstand.settings import Settings
from leitstand.settings.layer import Layer
from leitstand.settings.sources import read_file

log = structlog.get_logger(__name__)

LISTS = tuple(thing.value for thing in Thing)
OWN: Claims = {
    (Thing.JOB, name): f"it is Leitstand's own job; the settings of [{section}] say when it runs"
    for section, names in (("protection", OWN_JOBS), ("alerts", WATCH_JOBS))
    for name in names
}


async def apply_file(control: Control, file: Path, *, prune: bool, dry_run: bool) -> Plan:
    """Apply a file of jobs, or with ``dry_run`` say what that would change.

    The configuration file may be given, too: what is not a list of things is passed over. Raises
    JobFileError with all that is wrong with the file, and then nothing was written.
    """
    written = read_job_file(control, file)
    claims = {**OWN, **_configured(control, file)}
    if dry_run:
        return await control.applier.preview(written, prune=prune, claims=claims)
    return await control.applier.apply(written, prune=prune, claims=claims)


def read_job_file(control: Control, file: Path) -> Written:
    """What the file asks for; raises JobFileError."""
    layer = read_file(file, None)
    problems = [*layer.problems, *_unknown_tables(layer)]
    if problems:
        raise JobFileError(
            [problem.replace("configuration file ", "file ") for problem in problems]
        )
    return read_entries(layer.values, control.kinds, layer.origin)


async def apply_configuration(control: Control) -> Plan:
    """Apply what the configuration file lists, at the start of a server.

    Nothing is removed, since several servers may have different files, and a job that somebody
    has disabled stays disabled unless the file says otherwise.
    """
    settings, origins = control.settings, control.loaded.origins
    tables: Mapping[str, object] = {name: getattr(settings, name) for name in LISTS}
    written = read_entries(
        tables,
        control.kinds,
        lambda path: origins.get(f"{path[0]}[{path[1]}]") if len(path) > 1 else None,
    )
    plan = await control.applier.apply(written, claims=OWN, keep_switched=True)
    for change in plan.differences:
        log.info(
            f"{change.thing} {change.action} by the configuration file",
            name=change.name,
            fields=[field.field for field in change.fields],
        )
    for warning in plan.warnings:
        log.warning(warning)
    return plan


async def export(control: Control) -> str:
    """What is in the database as TOML, without Leitstand's own jobs."""
    return to_toml(await control.applier.inventory(), {*OWN, (Thing.GROUP, GROUP)})


def _configured(control: Control, file: Path) -> Claims:
    """What the configuration file claims, unless it is the file that is applied."""
    configuration, settings = control.loaded.file, control.settings
    if configuration is None or configuration.resolve() == file.resolve():
        return {}
    reason = f"{configuration} lists it, too, and differs; change it there"
    return {
        (thing, str(entry.get("name"))): reason
        for thing in Thing
        for entry in getattr(settings, thing.value)
    }


def _unknown_tables(layer: Layer) -> list[str]:
    unknown = [name for name in layer.values if name not in Settings.model_fields]
    return [_unknown(layer, name) for name in unknown]


def _unknown(layer: Layer, name: str) -> str:
    similar = nearest(name, Settings.model_fields)
    known = f"did you mean {similar}?" if similar else f"known here: {', '.join(LISTS)}"
    place = layer.origin((name, 0)) or layer.origin((name,))
    return f"{place}: unknown key {name}; {known}"
