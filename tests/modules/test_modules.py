"""The registry of modules and their credentials, on a real database."""

import hashlib

import pytest

from leitstand.errors import NotFoundError
from leitstand.failed_attempts import LIMIT, TooManyFailuresError
from leitstand.modules import (
    AuthenticationError,
    Credential,
    CredentialLedger,
    ModuleLedger,
)
from leitstand.modules.module import ModuleNameError, ModuleVersionError
from leitstand.store.database import Database
from tests.jobs.scene import eventually


@pytest.fixture
async def credentials(database: Database) -> CredentialLedger:
    """A ledger, and the module ``web``."""
    await ModuleLedger(database).register("web", "1.0")
    return CredentialLedger(database)


async def accepts(ledger: CredentialLedger, credential: Credential) -> bool:
    """Whether the credential opens the door."""
    try:
        name = await ledger.authenticate(
            credential.client_id.encode(), credential.secret.encode(), "10.0.0.1"
        )
    except AuthenticationError:
        return False
    return name == "web"


async def test_registering_again_updates(database: Database) -> None:
    modules = ModuleLedger(database)
    first = await modules.register("web", "1.0", ["a"])
    await modules.register("archive", "2.0")
    second = await modules.register("web", "1.1", ["a", "b"])
    assert second.registered_at == first.registered_at
    assert [(m.name, m.version, m.required_flags) for m in await modules.list_all()] == [
        ("archive", "2.0", ()),
        ("web", "1.1", ("a", "b")),
    ]


@pytest.mark.parametrize("name", ["", "Web", "1web", "web_1", "web.1", "w" * 64, "web\n"])
async def test_names_that_cannot_be(database: Database, name: str) -> None:
    with pytest.raises(ModuleNameError):
        await ModuleLedger(database).register(name, "1.0")


async def test_a_version_must_be_there(database: Database) -> None:
    with pytest.raises(ModuleVersionError):
        await ModuleLedger(database).register("web", " ")


async def test_a_secret_is_shown_once_and_only_its_digest_kept(
    database: Database, credentials: CredentialLedger
) -> None:
    made = await credentials.provision("web")
    assert (len(bytes.fromhex(made.client_id)), len(bytes.fromhex(made.secret))) == (16, 32)
    assert await accepts(credentials, made)
    async with database.connection() as connection:
        query = "SELECT secret_sha256, row_to_json(c)::text AS text FROM module_credentials AS c"
        (row,) = await (await connection.execute(query)).fetchall()
    assert row["secret_sha256"] == hashlib.sha256(made.secret.encode()).digest()
    assert made.secret not in row["text"]
    (listed,) = await credentials.list_all()
    assert listed.valid
    assert listed.last_used_at is not None


async def test_an_unregistered_module_gets_none(credentials: CredentialLedger) -> None:
    with pytest.raises(NotFoundError) as caught:
        await credentials.provision("nobody")
    assert caught.value.code == "MODULE_NOT_REGISTERED"


async def test_a_new_one_replaces_the_old(credentials: CredentialLedger) -> None:
    old = await credentials.provision("web")
    new = await credentials.provision("web")
    assert [await accepts(credentials, each) for each in (old, new)] == [False, True]


async def test_two_are_valid_during_rotation_and_never_three(
    credentials: CredentialLedger,
) -> None:
    made = [await credentials.provision("web", keep_old=3600) for _ in range(3)]
    assert [await accepts(credentials, each) for each in made] == [False, True, True]


async def test_rotation_does_not_lengthen_a_life(credentials: CredentialLedger) -> None:
    short = await credentials.provision("web", expires_in=0.05)
    await credentials.provision("web", keep_old=3600)

    async def over() -> bool | None:
        return not await accepts(credentials, short) or None

    await eventually(over)


async def test_revocation_is_for_ever(credentials: CredentialLedger) -> None:
    made = await credentials.provision("web", keep_old=3600)
    ended = await credentials.revoke(made.client_id)
    assert not ended.valid
    assert not await accepts(credentials, made)
    assert (await credentials.revoke(made.client_id)).revoked_at == ended.revoked_at
    with pytest.raises(NotFoundError):
        await credentials.revoke("nobody")


@pytest.mark.parametrize(
    ("client_id", "secret"),
    [
        (b"", b""),
        (b"unknown", b"secret"),
        ("ü".encode(), "ß€".encode()),
        (b"\xff\xfe", b"\xff"),
    ],
)
async def test_whatever_is_wrong_gets_the_same_answer(
    credentials: CredentialLedger, client_id: bytes, secret: bytes
) -> None:
    made = await credentials.provision("web")
    answers = set()
    for name, word in ((client_id, secret), (made.client_id.encode(), secret)):
        with pytest.raises(AuthenticationError) as caught:
            await credentials.authenticate(name, word, "10.0.0.1")
        answers.add(str(caught.value.as_dict()))
    assert len(answers) == 1


async def test_guessing_is_stopped(database: Database, credentials: CredentialLedger) -> None:
    """The right secret is not looked at either then, but from elsewhere it is."""
    made = await credentials.provision("web")
    wrong = Credential(made.client_id, "wrong")
    assert not any([await accepts(credentials, wrong) for _ in range(LIMIT)])
    with pytest.raises(TooManyFailuresError):
        await accepts(credentials, made)
    name = await credentials.authenticate(made.client_id.encode(), made.secret.encode(), "10.0.0.2")
    assert name == "web"
