"""Which commands there are, and in which module each is written.

The module is imported when its command is used: `leitstand --help` answers before any of them
could have been loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandEntry:
    """One word after `leitstand`; ``module`` holds its ``app``."""

    module: str
    summary: str


def _entry(name: str, summary: str) -> tuple[str, CommandEntry]:
    return name, CommandEntry(f"leitstand.cli.{name}", summary)


COMMANDS: Mapping[str, CommandEntry] = dict(
    [
        _entry("serve", "Run the control server: jobs, status page and metrics."),
        _entry("config", "The configuration: what is in effect and where it came from."),
        _entry("job", "Jobs: list, show, run, explain, enable and disable them."),
        _entry("group", "Groups of jobs: list them, set how many runs work at a time."),
        _entry("window", "Maintenance windows: list, add and delete them."),
        _entry("downtime", "Downtimes of a monitoring core."),
        _entry("apply", "Make jobs, groups and windows agree with a file."),
        _entry("export", "Write jobs, groups and windows to a file."),
        _entry("run", "Runs: list, show, follow, cancel and retry them."),
        _entry("event", "Events: emit and list them, see which can happen."),
        _entry("detect", "Detectors of log tables: run them now, see how far they are."),
        _entry("server", "Control servers: list and drain them."),
        _entry("agent", "Run a remote agent: jobs on a machine that reaches no database."),
        _entry("module", "Modules and remote agents: register them, issue credentials."),
        _entry("tenant", "Tenants with their databases: create, list and delete them."),
        _entry("setting", "Configuration values: set and get them, see their history."),
        _entry("flag", "Feature flags: set, list and evaluate them."),
        _entry("backup", "Backups: make, verify, rotate and list them."),
        _entry("restore", "Restore a backup to a directory."),
        _entry("drill", "Restore drills: run one now, see the results."),
        _entry("reconcile", "Compare the database's list of objects with the object store."),
        _entry("scrub", "Read a sample of the objects again, and compare their SHA-256."),
        _entry("demo", "A demonstration with planted faults, to see them found."),
        _entry("proof", "Say of everything that is kept whether it is proven."),
        _entry("alert", "Alerts: rules, what fires, acknowledgements and silences."),
        _entry("notify", "Notifications: send, list and retry messages to people."),
        _entry("health", "Whether Leitstand lives and is ready."),
        _entry("token", "Tokens for the API and links to log in: create, list, revoke."),
        _entry("doctor", "Find what is wrong with this installation, and the remedy."),
        _entry("version", "Print the versions of Leitstand and Python."),
    ]
)
