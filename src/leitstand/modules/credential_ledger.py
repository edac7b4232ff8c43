"""The ledger of service credentials: the only code that touches the table module_credentials."""

from leitstand.errors import LeitstandError, NotFoundError
from leitstand.failed_attempts import FailedAttempts
from leitstand.modules.credential import Credential, CredentialInfo, digest, matches
from leitstand.modules.module_ledger import lock_module
from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)


class AuthenticationError(LeitstandError):
    """Client id and secret are not those of a valid credential; it is not said why."""

    code = "UNAUTHENTICATED"


class CredentialLedger:
    """Credentials of modules. ``failures`` counts wrong secrets, on this server only."""

    def __init__(self, database: Database, failures: FailedAttempts | None = None) -> None:
        self._database = database
        self._failures = FailedAttempts() if failures is None else failures

    async def provision(
        self, module: str, *, keep_old: float = 0.0, expires_in: float | None = None
    ) -> Credential:
        """Make the module's new credential, in place of the one it had.

        That one stays valid for ``keep_old`` seconds, those before it end at once: two at most.
        ``expires_in`` (seconds) limits the new one. Raises NotFoundError for an unknown module.
        """
        credential = Credential.generate()
        async with self._database.transaction() as connection:
            await lock_module(connection, module)
            await queries.retire(connection, module=module, keep_old=keep_old)
            await queries.add(
                connection,
                module=module,
                client_id=credential.client_id,
                secret_sha256=digest(credential.secret.encode()),
                expires_in=expires_in,
            )
        return credential

    async def revoke(self, client_id: str, module: str | None = None) -> CredentialInfo:
        """End a credential (of this module) now and for ever; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.revoke(connection, client_id=client_id, module=module)
        if row is None:
            raise NotFoundError(
                f"there is no credential with the client id {client_id!r}",
                remedy="`leitstand module list` shows them.",
            )
        return CredentialInfo.from_row(row)

    async def list_all(self) -> list[CredentialInfo]:
        """All credentials, by module, newest first."""
        async with self._database.connection() as connection:
            rows = queries.list_credentials(connection)
            return [CredentialInfo.from_row(row) async for row in rows]

    async def authenticate(self, client_id: bytes, secret: bytes, caller: str) -> str:
        """The name of the module whose credential this is; ``caller`` is where it came from.

        Raises AuthenticationError, the same and after the same work for an unknown id, a wrong
        secret and a credential that has ended; TooManyFailuresError before any work. Both come as
        bytes since headers may hold any.
        """
        source = (caller, client_id)
        self._failures.check(source)
        name = client_id.decode("ascii", "replace")
        async with self._database.connection() as connection:
            row = await queries.find(connection, client_id=name)
            if not matches(secret, row and row["secret_sha256"]):
                self._failures.add(source)
                raise AuthenticationError(
                    "the credential is not valid",
                    remedy="Check client id and secret; `leitstand module credential NAME` makes"
                    " new ones.",
                )
            if row["note_use"]:
                await queries.note_use(connection, client_id=name)
        module: str = row["module"]
        return module
