"""`detect`: from the configuration to events, and back to the beginning."""

import getpass
import json
import sqlite3
from pathlib import Path

import pytest

from leitstand.cli.main import run
from tests.cli.test_event import place, printed
from tests.events.log_scene import TABLES

__all__ = ["place"]

CONFIGURATION = """
[[detector]]
database_url = "sqlite:///log.sqlite"
table_prefix = "wt_"

[[detector]]
name = "shop"
profile = "table"
database_url = "sqlite:///log.sqlite"
table = "audit"
message_column = "text"
payload_columns = ["amount"]
events = [{ event = "shop:refund", prefix = "Refund" }]

[[job]]
name = "login"
kind = "command"
event = "cronjob:log-auth-login"
params = { argv = ["true"] }

[[job]]
name = "refund"
kind = "command"
event = "shop:refund"
params = { argv = ["true"] }
"""


def test_from_rows_to_events(capsys: pytest.CaptureFixture[str]) -> None:
    Path("leitstand.toml").write_text(CONFIGURATION)
    log = sqlite3.connect("log.sqlite", isolation_level=None)
    log.execute(TABLES["sqlite"].format(name="wt_log"))
    log.execute("CREATE TABLE audit (id integer PRIMARY KEY, text text, amount text)")
    states = json.loads(printed(capsys, "detect", "status", "--json"))
    assert [(each["name"], each["state"]) for each in states] == [
        ("shop", "new"),
        ("webtrees", "new"),
    ]
    printed(capsys, "apply", "leitstand.toml")
    reports = json.loads(printed(capsys, "detect", "run", "--json"))
    assert [report["did"] for report in reports] == ["began", "began"]
    log.execute("INSERT INTO wt_log (log_type, log_message) VALUES ('auth', 'Login: a/A')")
    log.execute("INSERT INTO audit (text, amount) VALUES ('Refund 1', '3.50')")
    assert "was read a moment ago" in printed(capsys, "detect", "run")
    printed(capsys, "detect", "run", "--again")
    events = json.loads(printed(capsys, "event", "list", "--json"))
    payloads = {event["name"]: event["payload"] for event in events}
    assert payloads["cronjob:log-auth-login"]["log_message"] == "Login: a/A"
    assert payloads["shop:refund"]["amount"] == "3.50"
    assert "cronjob:log-auth-login" in printed(capsys, "detect", "status")
    assert printed(capsys, "detect", "reset", "shop") == "Source shop begins anew.\n"
    (reset,) = json.loads(printed(capsys, "detect", "resets", "shop", "--json"))
    assert (reset["reset_by"], reset["reason"]) == (getpass.getuser(), "somebody asked for it")
    assert getpass.getuser() in printed(capsys, "detect", "resets", "shop")
    assert "no source" in printed(capsys, "detect", "reset", "nonesuch", code=1)
    log.execute("DROP TABLE audit")
    assert run(["detect", "run", "--again"]) == 3
    assert "no table audit" in capsys.readouterr().out
    run(["doctor", "--json"])
    findings = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert findings["log table webtrees"]["ok"]
    assert "no table audit" in findings["log table shop"]["problem"]
    log.close()


def test_a_wrong_name_is_told_wherever_somebody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong prefix: when the configuration is checked, the job enabled, the state asked for."""
    watching = '[[job]]\nname = "watch"\nkind = "detect-log-events"\nenabled = false\n'
    Path("leitstand.toml").write_text(CONFIGURATION + watching)
    assert "No log table is watched" not in printed(capsys, "detect", "status")
    missing = "database file of webtrees is not there"
    assert missing in printed(capsys, "config", "check", code=1)
    assert not Path("log.sqlite").exists()
    log = sqlite3.connect("log.sqlite")
    log.execute("CREATE TABLE audit (id integer PRIMARY KEY, text text, amount text)")
    log.close()
    wrong = "there is no table wt_log in the database of webtrees"
    assert wrong in printed(capsys, "config", "check", code=1)
    printed(capsys, "apply", "leitstand.toml")
    assert run(["job", "enable", "watch"]) == 0
    assert wrong in capsys.readouterr().err
    states = {
        each["name"]: each for each in json.loads(printed(capsys, "detect", "status", "--json"))
    }
    assert states["webtrees"]["state"] == "unavailable"
    assert wrong in states["webtrees"]["problem"]
    assert states["shop"]["state"] == "new"


def test_a_detector_without_a_database_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It would be looked for where libpq finds one by default."""
    Path("leitstand.toml").write_text("[[detector]]\n")
    assert "detector[0].database_url: it is missing" in printed(capsys, "config", "check", code=1)


def test_a_database_that_is_away_is_no_error_of_the_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("leitstand.toml").write_text(
        '[[detector]]\ndatabase_url = "mysql://u:hidden@127.0.0.1:1/x"\n'
    )
    assert run(["config", "check"]) == 0
    shown = capsys.readouterr()
    assert "Not checked: detector webtrees: the database of webtrees does not answer" in shown.err
    assert "hidden" not in shown.out + shown.err


@pytest.mark.parametrize(
    "detector",
    [
        'profile = "table"',
        'table = "x"',
        'name = "a b"',
        'profile = "table"\ntable = "x"\nevents = [{ event = "e", type = "t" }]',
    ],
)
def test_half_a_description_is_refused(capsys: pytest.CaptureFixture[str], detector: str) -> None:
    url = 'database_url = "mysql://u:hidden@h/x"'
    Path("leitstand.toml").write_text(f"[[detector]]\n{url}\n{detector}\n")
    said = printed(capsys, "event", "catalog", code=1)
    assert "detector[0]" in said
    assert "hidden" not in said
