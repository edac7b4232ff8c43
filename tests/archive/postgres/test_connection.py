"""Connection data reach programs without showing the password, and unfit servers are told apart."""

from dataclasses import replace

import psycopg
import pytest

from leitstand.archive.postgres.connection import (
    ServerFacts,
    Source,
    SourceUnfitError,
    SourceUnreachableError,
    require_backup,
    require_increments,
)
from leitstand.errors import FailureClass, UsageError
from tests.conftest import Postgres

SECRET = "correct horse@battery"
URL = "postgresql://carol:correct%20horse%40battery@db.example:6543/app?keepalives_idle=7"


def test_the_password_is_in_the_environment_alone() -> None:
    source = Source.parse(URL)
    environment = source.environment()
    assert environment["PGPASSWORD"] == SECRET
    assert (environment["PGHOST"], environment["PGUSER"]) == ("db.example", "carol")
    assert source.arguments() == ["-d", "keepalives_idle=7"]
    assert SECRET not in f"{source} {source!r} {source.arguments()}"


def test_a_malformed_url_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        Source.parse("postgresql://carol:geheim@[bad")
    assert "geheim" not in f"{caught.value.as_dict()} {caught.value.__cause__}"


def test_a_passphrase_cannot_be_handed_on() -> None:
    with pytest.raises(UsageError, match="sslpassword"):
        Source.parse("host=db sslpassword=geheim")


def test_a_server_that_is_not_there_is_a_passing_trouble() -> None:
    with pytest.raises(SourceUnreachableError) as caught:
        Source.parse(f"host=127.0.0.1 port=1 password='{SECRET}'").facts(2)
    assert caught.value.failure_class is FailureClass.TRANSIENT
    assert SECRET not in str(caught.value.as_dict())


def test_a_role_that_may_not_replicate_is_refused(postgres: Postgres) -> None:
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        try:
            facts = Source.parse(f"{postgres.conninfo()} user=reader").facts()
        finally:
            connection.execute("DROP ROLE reader")
    with pytest.raises(SourceUnfitError, match="replicate"):
        require_backup(facts)


def test_facts_of_a_fit_server(postgres: Postgres) -> None:
    facts = Source.parse(postgres.conninfo()).facts()
    require_increments(facts)
    assert facts.timeline == 1
    assert int(facts.system_identifier) > 0


@pytest.mark.parametrize("change", [{"version_num": 160004}, {"may_replicate": False}])
def test_unfit_for_any_backup(change: dict[str, int]) -> None:
    fit = ServerFacts(180006, "18.6", "1", 1, "0/1", True, True, None)
    require_backup(fit)
    with pytest.raises(SourceUnfitError):
        require_backup(replace(fit, **change))  # type: ignore[arg-type]


def test_unfit_for_increments() -> None:
    with pytest.raises(SourceUnfitError) as caught:
        require_increments(ServerFacts(180006, "18.6", "1", 1, "0/1", False, True, None))
    assert "summarize_wal = on" in str(caught.value.remedy)
