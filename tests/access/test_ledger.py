"""Tokens, links and sessions: what lets somebody in, and for how long."""

import asyncio

import pytest

from leitstand.access import AccessLedger, Caller, ForbiddenError, Role
from leitstand.errors import ConflictError, NotFoundError, UsageError
from leitstand.store.database import Database

HOUR = 3600.0


@pytest.fixture
def ledger(database: Database) -> AccessLedger:
    return AccessLedger(database)


async def pass_time(database: Database, table: str) -> None:
    """Let what is in the table have expired a second ago."""
    async with database.connection() as connection:
        await connection.execute(
            f"UPDATE {table} SET expires_at = now() - interval '1 second'".encode()
        )


async def test_a_token_lets_its_owner_in_until_it_is_revoked(ledger: AccessLedger) -> None:
    token, secret = await ledger.create_token("ci", Role.OPERATOR, "root")
    assert secret.startswith("lst_")
    assert token.last_used_at is None
    assert await ledger.owner_of_token(secret.encode()) == Caller("ci", Role.OPERATOR)
    (listed,) = await ledger.list_tokens()
    assert listed.last_used_at is not None
    assert listed.created_by == "root"
    assert (await ledger.revoke_token("ci")).revoked_at is not None
    assert await ledger.owner_of_token(secret.encode()) is None
    with pytest.raises(NotFoundError):
        await ledger.revoke_token("ci")


async def test_only_digests_are_stored(ledger: AccessLedger, database: Database) -> None:
    _, secret = await ledger.create_token("ci", Role.VIEWER, "root")
    link = await ledger.create_link(Role.ADMIN, "root", HOUR)
    session = await ledger.session_by_token(secret.encode(), HOUR)
    assert session is not None
    async with database.connection() as connection:
        for table in ("api_tokens", "login_links", "browser_sessions"):
            rows = await (await connection.execute(f"SELECT * FROM {table}".encode())).fetchall()
            assert len(rows) == 1
            assert not {secret, link, session} & {str(value) for value in rows[0].values()}


async def test_a_token_ends_by_itself(ledger: AccessLedger, database: Database) -> None:
    _, secret = await ledger.create_token("ci", Role.VIEWER, "root", HOUR)
    session = await ledger.session_by_token(secret.encode(), 100 * HOUR)
    assert session is not None
    assert await ledger.owner_of_session(session.encode()) is not None
    async with database.connection() as connection:
        query = b"SELECT s.expires_at = t.expires_at AS same FROM browser_sessions s, api_tokens t"
        assert await (await connection.execute(query)).fetchall() == [{"same": True}]
    await pass_time(database, "api_tokens")
    assert await ledger.owner_of_token(secret.encode()) is None
    assert await ledger.session_by_token(secret.encode(), HOUR) is None


async def test_a_session_ends_with_its_token(ledger: AccessLedger) -> None:
    _, secret = await ledger.create_token("ci", Role.VIEWER, "root")
    session = await ledger.session_by_token(secret.encode(), HOUR)
    assert session is not None
    found = await ledger.owner_of_session(session.encode())
    assert found == Caller("ci", Role.VIEWER, by_cookie=True)
    await ledger.revoke_token("ci")
    assert await ledger.owner_of_session(session.encode()) is None


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 101])
async def test_names_that_cannot_be(ledger: AccessLedger, name: str) -> None:
    with pytest.raises(UsageError):
        await ledger.create_token(name, Role.VIEWER, "root")


@pytest.mark.parametrize("life", [0.0, -1.0, 1e12])
async def test_lives_that_cannot_be(ledger: AccessLedger, life: float) -> None:
    with pytest.raises(UsageError):
        await ledger.create_token("ci", Role.VIEWER, "root", life)


async def test_a_name_is_free_again_once_its_token_is_revoked(ledger: AccessLedger) -> None:
    await ledger.create_token("ci", Role.VIEWER, "root")
    with pytest.raises(ConflictError):
        await ledger.create_token("ci", Role.ADMIN, "root")
    await ledger.revoke_token("ci")
    await ledger.create_token("ci", Role.ADMIN, "root")
    assert [token.role for token in await ledger.list_tokens()] == [Role.ADMIN, Role.VIEWER]


async def test_a_link_lets_one_in_once(ledger: AccessLedger) -> None:
    assert not await ledger.anybody_known()
    link = await ledger.create_link(Role.ADMIN, "root", HOUR)
    assert not await ledger.anybody_known()
    tried = await asyncio.gather(*(ledger.session_by_link(link.encode(), HOUR) for _ in range(5)))
    (session,) = [each for each in tried if each is not None]
    assert await ledger.anybody_known()
    found = await ledger.owner_of_session(session.encode())
    assert found == Caller("root", Role.ADMIN, by_cookie=True)
    await ledger.end_session(session.encode())
    assert await ledger.owner_of_session(session.encode()) is None


async def test_links_and_sessions_end_by_themselves(
    ledger: AccessLedger, database: Database
) -> None:
    link = await ledger.create_link(Role.ADMIN, "root", HOUR)
    await pass_time(database, "login_links")
    assert await ledger.session_by_link(link.encode(), HOUR) is None
    used = await ledger.create_link(Role.ADMIN, "root", HOUR)
    session = await ledger.session_by_link(used.encode(), HOUR)
    assert session is not None
    await pass_time(database, "browser_sessions")
    assert await ledger.owner_of_session(session.encode()) is None
    await ledger.create_link(Role.ADMIN, "root", HOUR)
    async with database.connection() as connection:
        counted = await connection.execute(b"SELECT count(*) AS n FROM browser_sessions")
        assert await counted.fetchall() == [{"n": 0}]


async def test_secrets_are_not_taken_for_one_another(ledger: AccessLedger) -> None:
    _, secret = await ledger.create_token("ci", Role.ADMIN, "root")
    link = await ledger.create_link(Role.ADMIN, "root", HOUR)
    assert await ledger.owner_of_token(link.encode()) is None
    assert await ledger.owner_of_session(secret.encode()) is None
    assert await ledger.session_by_link(secret.encode(), HOUR) is None


def test_roles_include_each_other() -> None:
    allowed = [[mine.includes(other) for other in Role] for mine in Role]
    assert allowed == [[True, False, False], [True, True, False], [True, True, True]]
    with pytest.raises(ForbiddenError, match="takes the role admin, and ci has operator"):
        Caller("ci", Role.OPERATOR).require(Role.ADMIN)
