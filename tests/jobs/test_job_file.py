"""Reading a file of jobs: everything that is wrong is said at once, with job, field and remedy."""

import tomllib
from typing import Any

import pytest

from leitstand.execution import CommandExecutor, HttpExecutor, Kinds
from leitstand.jobs import JobFileError, Written, read_entries

KINDS = Kinds([CommandExecutor(), HttpExecutor()])


def read(text: str, lines: dict[tuple[str | int, ...], str] | None = None) -> Written:
    return read_entries(tomllib.loads(text), KINDS, (lines or {}).get)


def problems(text: str) -> list[str]:
    with pytest.raises(JobFileError) as caught:
        read(text)
    return list(caught.value.problems)


JOB = '[[job]]\nname = "a"\nkind = "command"\nparams = { argv = ["true"] }\n'


def test_a_job_is_read_with_all_that_its_table_says() -> None:
    written = read(JOB + 'schedule = "0 2 * * *"\ntimeout = "5m"\nretry = { backoff = "30s" }')
    job = written.jobs["a"]
    assert (job.schedule, job.timeout, job.retry.backoff) == ("0 2 * * *", 300.0, 30.0)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('shedule = "0 2 * * *"', "unknown key shedule; did you mean schedule?"),
        ("retry = { max_attemps = 2 }", "unknown key retry.max_attemps; did you mean max_attempts"),
        ('timeout = "soon"', "timeout: 'soon' is not a duration. Write it as \"10s\""),
        ("timeout = true", "timeout: true and false are no durations"),
        ("timeout = inf", "timeout: inf is not a number that can be stored"),
        ("timeout = 0", "timeout: Input should be greater than 0"),
        ('schedule = "61 * * * *"', "schedule: '61 * * * *' is no cron"),
        ('schedule = "0 0 30 2 *"', "schedule: the schedule '0 0 30 2 *' never comes"),
        ('every = "never"', "every: 'never' is no interval"),
        ('at = "tomorrow"', "at: 'tomorrow' is no date and time"),
        ('every = "1h"\ntimezone = "CET!"', "timezone: the time zone 'CET!' does not exist"),
        ('timezone = "Europe/Bern"', "timezone: the time zone 'Europe/Bern' does not exist"),
        ('every = "1h"\nat = "2026-01-01 00:00"', "only one of every, at can start a job"),
        ('overlap = "never"', "overlap: Input should be 'skip', 'queue' or 'allow'"),
        ('host = "a\\u0000b"', "host: text cannot hold a NUL character"),
        ("priority = 1001", "priority: Input should be less than or equal to 1000"),
    ],
)
def test_a_wrong_field_is_named(line: str, problem: str) -> None:
    (found,) = problems(JOB + line)
    assert found.startswith('job "a": ' + problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[job]]\nname = "a"', 'job "a": kind is missing'),
        ('[[job]]\nkind = "command"\nparams.argv = ["x"]', "job: name is missing"),
        ('[[job]]\nname = "a"\nkind = "comand"', "did you mean command?"),
        ('[[job]]\nname = "a"\nkind = "zzz"', "known here: command, http"),
        ('[job]\nname = "a"', "job: write it as a list of tables: [[job]]"),
        ("job = [1]", "job: write it as a table: [[job]]"),
        (JOB + JOB, 'job "a": name: there are two of that name in the file'),
        ('[[group]]\nname = "g"\nlimit = 0', 'group "g": limit: Input should be greater'),
        ('[[group]]\nname = "g"\nlimits = 1', "unknown key limits; did you mean limit?"),
        ('[[window]]\nname = "w"\nfrom = "22:00"\nto = "25:00"', 'window "w": to: '),
        ('[[window]]\nname = "w"\nfrom = "22:00"\nto = "4:00"\nday = "mon"', "did you mean days?"),
        ('[[job]]\nname = "a"\nkind = "http"\nparams = "{"', "params: write a table, or one as"),
    ],
)
def test_a_wrong_table_is_named(text: str, problem: str) -> None:
    assert any(problem in found for found in problems(text))


def test_everything_is_said_at_once_and_no_secret_among_it() -> None:
    text = """
        [[group]]
        name = "g"
        limit = "many"
        [[job]]
        name = "a"
        kind = "http"
        shedule = "x"
        params = { url = "http://u:opensesame@", bdy = "y" }
        [[job]]
        name = "b b"
        kind = "command"
        params = { args = ["x"] }
    """
    found = problems(text)
    assert [problem.partition(": ")[0] for problem in found] == [
        'group "g"',
        *['job "a"'] * 3,
        *['job "b b"'] * 2,
    ]
    assert "opensesame" not in "\n".join(found)


def test_the_place_in_the_file_is_said() -> None:
    with pytest.raises(JobFileError) as caught:
        read(JOB + "splay = -1", {("job", 0, "splay"): "jobs.toml, line 5"})
    assert caught.value.message.startswith('jobs.toml, line 5: job "a": splay: ')


def test_dates_of_toml_are_text() -> None:
    text = JOB.replace("argv", "env = { DAY = 2027-01-01 }, argv")
    assert read(text).jobs["a"].params["env"] == {"DAY": "2027-01-01"}
    window = '[[window]]\nname = "w"\nfrom = 2026-12-24T18:00:00+01:00\nto = 2026-12-26T00:00:00Z\n'
    assert "w" in read(window).specs[THINGS["window"]]


def test_ways_to_write_one_window_are_the_same() -> None:
    one = '[[window]]\nname = "w"\ndays = "mon-wed"\nfrom = 22:00:00\nto = "24:00"'
    other = (
        '[[window]]\nname = "w"\ndays = ["Tue", "mon", "wednesday"]\nfrom = "22:00"\nto = "00:00"'
    )
    assert read(one).specs == read(other).specs


def test_parameters_may_be_json() -> None:
    text = '[[job]]\nname = "a"\nkind = "http"\nparams = \'{"url": "http://h/", "json": [null]}\''
    assert read(text).jobs["a"].params == {"url": "http://h/", "json": [None]}


THINGS: dict[str, Any] = {thing.value: thing for thing in read("").specs}
