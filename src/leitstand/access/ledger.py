"""The ledger of access: the only code that reads and writes tokens, login links and sessions."""

from psycopg.errors import UniqueViolation

from leitstand.access.caller import Caller
from leitstand.access.role import Role
from leitstand.access.secret import LINK, SESSION, TOKEN, digest, new_secret
from leitstand.access.token import ApiToken
from leitstand.errors import ConflictError, UsageError
from leitstand.nearest import no_such
from leitstand.store.database import Connection, Database, load_queries

queries = load_queries(__file__)

LONGEST_NAME = 100
"""Characters."""

LONGEST_LIFE = 100 * 365 * 86400.0
"""Seconds that a token may be valid for, unless that is for ever."""


class AccessLedger:
    """Secrets are taken as bytes, since headers may hold any, and looked for by their digest.

    A look-up is the same statement whether the secret is known, unknown, expired or revoked.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- tokens -------------------------------------------------------------------------------

    async def create_token(
        self, name: str, role: Role, created_by: str, expires_in: float | None = None
    ) -> tuple[ApiToken, str]:
        """Make a token that is valid for ``expires_in`` seconds (None: until it is revoked).

        Returns it with its secret, which nobody can ever ask for again. Raises UsageError for a
        name that cannot be, ConflictError while a valid token has it.
        """
        if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
            raise UsageError(f"a token's name has 1 to {LONGEST_NAME} characters that can be shown")
        if expires_in is not None and not 0 < expires_in <= LONGEST_LIFE:
            raise UsageError("a token is valid for some time, and at most 100 years")
        secret = new_secret(TOKEN)
        try:
            async with self._database.connection() as connection:
                row = await queries.create_token(
                    connection,
                    name=name,
                    role=role,
                    digest=digest(secret.encode()),
                    created_by=created_by,
                    expires_in=expires_in,
                )
        except UniqueViolation:
            raise ConflictError(
                f"there is a token named {name!r} already",
                remedy=f"Choose another name, or revoke it: leitstand token revoke {name}",
            ) from None
        return ApiToken.from_row(row), secret

    async def list_tokens(self) -> list[ApiToken]:
        """All tokens by name; those that were revoked last."""
        async with self._database.connection() as connection:
            return [ApiToken.from_row(row) async for row in queries.list_tokens(connection)]

    async def revoke_token(self, name: str) -> ApiToken:
        """End the token and the sessions that began with it, now; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.revoke_token(connection, name=name)
        if row is None:
            names = [t.name for t in await self.list_tokens() if t.revoked_at is None]
            raise no_such("valid token", name, names, "See `leitstand token list`.")
        return ApiToken.from_row(row)

    async def owner_of_token(self, secret: bytes) -> Caller | None:
        """Whose token it is; None if it is not valid. Its use is noted, once a minute."""
        async with self._database.connection() as connection:
            row = await queries.find_token(connection, digest=digest(secret))
            if row is None:
                return None
            if row["note_use"]:
                await queries.note_use(connection, id=row["id"])
        return Caller(row["name"], Role(row["role"]))

    # -- links and sessions -------------------------------------------------------------------

    async def create_link(self, role: Role, created_by: str, lifetime: float) -> str:
        """The secret of a link that lets one browser in, once, within ``lifetime`` seconds."""
        secret = new_secret(LINK)
        async with self._database.connection() as connection:
            await queries.forget_expired(connection)
            await queries.create_link(
                connection,
                digest=digest(secret.encode()),
                role=role,
                created_by=created_by,
                lifetime=lifetime,
            )
        return secret

    async def anybody_known(self) -> bool:
        """Whether anybody has ever logged in, or could by a token."""
        async with self._database.connection() as connection:
            row = await queries.anybody_known(connection)
        known: bool = row["anybody"]
        return known

    async def session_by_link(self, secret: bytes, lifetime: float) -> str | None:
        """Use up a link and begin a session of ``lifetime`` seconds; None if it is not valid.

        Of several callers with the same link at once, one gets a session.
        """
        async with self._database.transaction() as connection:
            link = await queries.use_link(connection, digest=digest(secret))
            if link is None:
                return None
            return await _begin(connection, link["created_by"], link["role"], None, lifetime)

    async def session_by_token(self, secret: bytes, lifetime: float) -> str | None:
        """Begin a session that may do what the token may; None if that is not valid."""
        async with self._database.transaction() as connection:
            token = await queries.find_token(connection, digest=digest(secret))
            if token is None:
                return None
            await queries.note_use(connection, id=token["id"])
            return await _begin(connection, token["name"], token["role"], token["id"], lifetime)

    async def owner_of_session(self, secret: bytes) -> Caller | None:
        """Whose session it is; None if it has ended or never was."""
        async with self._database.connection() as connection:
            row = await queries.find_session(connection, digest=digest(secret))
        return None if row is None else Caller(row["name"], Role(row["role"]), by_cookie=True)

    async def end_session(self, secret: bytes) -> None:
        """End it; nothing happens if it has ended before."""
        async with self._database.connection() as connection:
            await queries.end_session(connection, digest=digest(secret))


async def _begin(
    connection: Connection, name: str, role: str, token_id: int | None, lifetime: float
) -> str:
    secret = new_secret(SESSION)
    await queries.begin_session(
        connection,
        digest=digest(secret.encode()),
        name=name,
        role=role,
        token_id=token_id,
        lifetime=lifetime,
    )
    return secret
