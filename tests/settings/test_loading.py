"""Where settings come from: files in their order, the environment, files of secrets."""

import base64
from pathlib import Path

import pytest

from leitstand.settings import Settings, SettingsError, effective_configuration, load_settings
from tests.settings.conftest import Load


def write(path: Path, tick: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[loop]\ntick = {tick}\n")
    return path


def test_without_any_file_every_setting_has_its_default(here: Path) -> None:
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert loaded.file is None
    assert loaded.origins == {}


def test_the_first_file_found_counts_alone(here: Path) -> None:
    environ: dict[str, str] = {}
    ticks: list[float] = []
    for place in ("etc/leitstand.toml", "leitstand.toml"):
        write(here / place, len(ticks) + 1)
        ticks.append(load_settings(environ=environ).settings.loop.tick)
    environ["LEITSTAND_CONFIG"] = str(write(here / "named.toml", 3))
    ticks.append(load_settings(environ=environ).settings.loop.tick)
    option = write(here / "option.toml", 4)
    loaded = load_settings(option, environ)
    assert [*ticks, loaded.settings.loop.tick] == [1.0, 2.0, 3.0, 4.0]
    assert loaded.file == option


@pytest.mark.parametrize(
    ("environ", "named_by"),
    [({"LEITSTAND_CONFIG": "gone.toml"}, "LEITSTAND_CONFIG"), ({}, "--config")],
)
def test_a_named_file_that_is_missing_is_an_error(
    here: Path, environ: dict[str, str], named_by: str
) -> None:
    write(here / "leitstand.toml", 1)
    with pytest.raises(SettingsError, match=rf"gone.toml \(named by {named_by}\)"):
        load_settings(None if environ else Path("gone.toml"), environ)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[loop\n", "not valid TOML: .*line 1"),
        (b"# \xff\n", "byte 2 is not UTF-8"),
    ],
)
def test_a_file_that_is_no_toml_is_an_error(here: Path, content: bytes, said: str) -> None:
    (here / "leitstand.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        load_settings(environ={})


def test_a_directory_in_the_file_s_place_is_an_error(here: Path) -> None:
    (here / "leitstand.toml").mkdir()
    with pytest.raises(SettingsError, match="Is a directory"):
        load_settings(environ={})


def test_a_variable_wins_over_the_file_and_both_origins_are_known(load: Load) -> None:
    loaded = load(
        "[backup.postgres]\nkeep_daily = 1\nkeep_weekly = 2\n",
        LEITSTAND_BACKUP__POSTGRES__KEEP_DAILY="5",
    )
    assert loaded.settings.backup.postgres.keep_daily == 5
    assert loaded.settings.backup.postgres.keep_weekly == 2
    assert loaded.origins == {
        "backup.postgres.keep_daily": "LEITSTAND_BACKUP__POSTGRES__KEEP_DAILY",
        "backup.postgres.keep_weekly": "leitstand.toml, line 3",
    }


def test_values_in_the_environment_are_read_as_their_kind(load: Load) -> None:
    settings = load(
        LEITSTAND_LOOP__TICK="1h30m",
        LEITSTAND_PROTECTION__ENABLED="false",
        LEITSTAND_LOG__LEVEL="DEBUG",
        LEITSTAND_DRILL__QUERIES='[{"database": "a", "sql": "SELECT 1", "expect": "1"}]',
    ).settings
    assert settings.loop.tick == 5400
    assert settings.protection.enabled is False
    assert settings.log.level == "debug"
    assert settings.drill.queries[0].sql == "SELECT 1"


def test_a_file_holds_a_secret_for_the_file_and_for_the_environment(here: Path, load: Load) -> None:
    (here / "secret").write_text(" s3cret\n\n")
    in_file = load('[backup.objects]\npassword_file = "secret"\n')
    in_environment = load(LEITSTAND_BACKUP__OBJECTS__PASSWORD_FILE="secret")
    for loaded in (in_file, in_environment):
        password = loaded.settings.backup.objects.password
        assert password.get_secret_value() == " s3cret\n", "one line end less, nothing else"
    assert in_file.origins == {"backup.objects.password": "secret (leitstand.toml, line 2)"}
    assert in_environment.origins == {
        "backup.objects.password": "secret (LEITSTAND_BACKUP__OBJECTS__PASSWORD_FILE)"
    }


def test_a_secret_of_the_environment_replaces_the_file_s_file(here: Path, load: Load) -> None:
    (here / "url").write_text("postgresql://from-file/x")
    loaded = load('[database]\nurl_file = "url"\n', LEITSTAND_DATABASE__URL="postgresql://env/x")
    assert loaded.settings.database.url.get_secret_value() == "postgresql://env/x"
    assert loaded.origins == {"database.url": "LEITSTAND_DATABASE__URL"}


def test_variables_of_runs_are_no_settings(load: Load) -> None:
    """Executors set them for the programs they start, which may call `leitstand` in turn."""
    load(LEITSTAND_JOB="x", LEITSTAND_EVENT_BRANCH="main", LEITSTAND_RUN_ID="1", LEITSTANDER="")


def test_values_that_make_no_sense_in_the_loop_mean_the_default(load: Load) -> None:
    settings = load('[loop]\ntick = 0\nheartbeat = "-1"\nmax_concurrent_runs = -3\n').settings
    assert settings.loop == Settings().loop


def test_paths_follow_the_data_directory_unless_given(load: Load) -> None:
    settings = load(
        '[backup.postgres]\ndirectory = "/b"\n[drill]\ndirectory = ""\n',
        LEITSTAND_SERVER__DATA_DIR="/d",
    ).settings
    assert settings.backup.postgres.directory == Path("/b")
    assert settings.backup.postgres.restore_log == Path("/d/restore-log.jsonl")
    assert settings.backup.objects.repository == "/d/backups/objects"
    assert settings.drill.directory == Path("/d/drills")


def test_relative_paths_are_relative_to_the_current_directory(here: Path, load: Load) -> None:
    settings = load('[server]\ndata_dir = "data"\n').settings
    assert settings.server.data_dir.resolve() == here / "data"


def test_lists_of_tables_are_kept_as_they_stand(load: Load) -> None:
    loaded = load(
        '[[job]]\nname = "a"\nparams = { mode = "full" }\n'
        '[[window]]\nany = 1\n[[job]]\nname = "b"\n'
    )
    assert [dict(job) for job in loaded.settings.job] == [
        {"name": "a", "params": {"mode": "full"}},
        {"name": "b"},
    ]
    assert loaded.origins["job[1]"] == "leitstand.toml, line 6"


@pytest.mark.parametrize(
    ("listen", "address"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), (":8080", ("", 8080)), ("[::1]:1", ("::1", 1))],
)
def test_the_address_of_the_web_server(load: Load, listen: str, address: tuple[str, int]) -> None:
    assert load(LEITSTAND_SERVER__LISTEN=listen).settings.server.address == address


def test_what_is_shown_holds_no_secret(load: Load) -> None:
    secret = base64.b64encode(b"hidden" * 6).decode()
    loaded = load(
        '[database]\nurl = "postgresql://u:hidden@h/d"\n'
        '[backup.objects]\npassword = "hidden"\n'
        f'[[hook]]\nname = "shop"\nsecret = "{secret}"\n'
        '[[detector]]\ndatabase_url = "mysql://u:hidden@h/d"\n'
    )
    shown = {entry.key: entry.value for entry in effective_configuration(loaded)}
    assert not any(one in repr(shown) + repr(loaded.settings) for one in ("hidden", secret))
    assert shown["database.url"] == "postgresql://u:***@h/d"
    assert shown["backup.objects.password"] == "***"
    assert "'secret': '***'" in str(shown["hook[0]"])
