"""What is said about a wrong configuration: all of it, where, and what would be right."""

import pytest

from leitstand.settings import SettingsError
from tests.settings.conftest import Load, Problems


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[loop]\n\ntik = 1\n", "line 3: unknown key loop.tik; did you mean loop.tick?"),
        ("[lop]\n", "line 1: unknown key lop; did you mean loop?"),
        ("[backup]\nkeep_daily = 1\n", "line 2: unknown key backup.keep_daily; did you mean "
         "backup.postgres.keep_daily?"),
        ("loop.tik = 1\n", "line 1: unknown key loop.tik; did you mean loop.tick?"),
        ("[log]\nzzz = 1\n", "line 2: unknown key log.zzz; known here: level, format"),
        ('[database]\nurl_fil = ""\n', "line 2: unknown key database.url_fil; did you mean "
         "database.url_file?"),
        ('[[detector]]\n[[detector]]\nprofil = ""\n', "line 3: unknown key detector[1].profil; "
         "did you mean detector[1].profile?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_an_error_that_names_the_nearest(
    problems: Problems, text: str, sentence: str
) -> None:
    assert problems(text) == (f"leitstand.toml, {sentence}",)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("LEITSTAND_LOOP_TICK", "did you mean LEITSTAND_LOOP__TICK?"),
        ("LEITSTAND_LOOP__TIK", "did you mean LEITSTAND_LOOP__TICK?"),
        ("LEITSTAND_DATABASE__URLFILE", "did you mean LEITSTAND_DATABASE__URL_FILE?"),
        ("LEITSTAND_QQQ", "settings are named LEITSTAND_<SECTION>__<KEY>"),
    ],
)
def test_an_unknown_variable_is_an_error_that_names_the_nearest(
    problems: Problems, variable: str, hint: str
) -> None:
    assert problems(**{variable: "1"}) == (f"{variable}: there is no such setting; {hint}",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[loop]\ntick = "soon"\n', 'loop.tick = "soon": '
         'expected a duration ("30s", "5m", "1h30m") '
         "or a number of seconds ('soon' is not a duration), for example tick = \"10s\""),
        ("[database]\ntimeout = 0\n", "database.timeout = 0: expected a duration"),
        ("[loop]\nmax_concurrent_runs = 1.5\n", "loop.max_concurrent_runs = 1.5: expected a whole "
         "number, for example max_concurrent_runs = 4"),
        ('[log]\nlevel = "loud"\n', 'log.level = "loud": expected one of "debug", "info"'),
        ('[server]\nlisten = "8080"\n', 'server.listen = "8080": expected text, for example '
         'listen = "127.0.0.1:8080"'),
        ("server = 3\n", "server = 3: expected a table"),
        ("[job]\nname = 1\n", 'job = {"name": 1}: expected a list of tables'),
        ('[notifications]\nrecipients = ["a@b", " "]\n', 'notifications.recipients = ["a@b", " "]: '
         "expected a list of texts (one of them is empty)"),
        ('job = ["x"]\n', 'job[0] = "x": expected a table'),
        ('[drill]\nqueries = [{ sql = "x" }]\n', "drill.queries[0].database is missing"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_what_would_be_right(
    problems: Problems, text: str, sentence: str
) -> None:
    found = problems(text)[0]
    assert found.partition(": ")[2].startswith(sentence)


def test_a_wrong_variable_is_answered_with_an_example_variable(problems: Problems) -> None:
    (found,) = problems(LEITSTAND_PROTECTION__ENABLED="perhaps")
    assert found == (
        'LEITSTAND_PROTECTION__ENABLED: protection.enabled = "perhaps": expected true or false, '
        "for example LEITSTAND_PROTECTION__ENABLED=true"
    )


def test_a_list_in_a_variable_must_be_json(problems: Problems) -> None:
    (found,) = problems(LEITSTAND_DRILL__QUERIES="[")
    assert found.startswith("LEITSTAND_DRILL__QUERIES: not valid JSON")


def test_stale_after_must_be_greater_than_the_heartbeat_and_both_places_are_named(
    problems: Problems,
) -> None:
    (found,) = problems('[loop]\nheartbeat = "1m"\n', LEITSTAND_LOOP__STALE_AFTER="1m")
    assert found.startswith(
        "leitstand.toml, line 2 and LEITSTAND_LOOP__STALE_AFTER: "
        "loop.stale_after (60 s) must be greater than loop.heartbeat (60 s)"
    ) or found.startswith("LEITSTAND_LOOP__STALE_AFTER and leitstand.toml, line 2: ")


def test_everything_that_is_wrong_is_said_at_once(load: Load) -> None:
    with pytest.raises(SettingsError) as caught:
        load(
            "[loop]\ntik = 1\nheartbeat = false\n[log]\nlevel = 1\n"
            '[database]\nurl_file = "/nonexistent"\n',
            LEITSTAND_LOOP_TICK="1",
            LEITSTAND_SERVER__LISTEN="x",
        )
    error = caught.value
    assert len(error.problems) == 6
    assert error.message == "the configuration has 6 errors"
    assert error.detail == "\n".join(error.problems)


def test_a_secret_file_that_cannot_be_read_is_an_error(problems: Problems) -> None:
    assert problems('[database]\nurl_file = "gone"\n') == (
        "leitstand.toml, line 2: database.url_file names gone: No such file or directory",
    )
    assert "must be the path of a file" in problems("[database]\nurl_file = 1\n")[0]


def test_a_secret_is_not_given_twice(problems: Problems) -> None:
    (found,) = problems('[database]\nurl = "x"\nurl_file = "y"\n')
    assert "both database.url and database.url_file are given" in found


def test_no_secret_gets_into_an_error(problems: Problems) -> None:
    found = problems(
        '[backup.objects]\npassword = ["hidden"]\n[database]\nurl = 5\n'
        '[[detector]]\ndatabase_url = ["mysql://u:hidden@h"]\n'
        '[server]\nlisten = "http://u:hidden@h"\n'
    )
    assert len(found) == 4
    assert "hidden" not in repr(found)


def test_a_name_that_is_none_says_what_one_has(problems: Problems) -> None:
    assert problems('[[hook]]\nname = "a b"\n') == (
        'leitstand.toml, line 2: hook[0].name = "a b": expected text (it has letters (a-z), digits'
        " and . _ -, and begins with a letter or a digit)",
    )


def test_a_long_wrong_value_is_shortened(problems: Problems) -> None:
    (found,) = problems(LEITSTAND_LOG__LEVEL="x" * 1000)
    assert len(found) < 300
