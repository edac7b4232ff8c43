"""How long a refusal takes tells nothing about what was right."""

import random
import time
from collections.abc import Awaitable, Callable
from statistics import median

from leitstand.modules import AuthenticationError, CredentialLedger, ModuleLedger
from leitstand.modules.credential import digest, matches
from leitstand.store.database import Database

SECRET = "5e" * 32
HASHED = digest(SECRET.encode())


def test_a_good_beginning_takes_as_long_as_a_bad_one() -> None:
    """Case 59: 10,000 of each by turns; also as long as when there is nothing to compare with."""
    chance = random.Random(5)
    guesses: dict[str, tuple[Callable[[], bytes], bytes | None]] = {
        "good beginning": (
            lambda: SECRET[:60].encode() + chance.randbytes(2).hex().encode(),
            HASHED,
        ),
        "random": (lambda: chance.randbytes(32).hex().encode(), HASHED),
        "unknown id": (lambda: chance.randbytes(32).hex().encode(), None),
        "not ASCII": (lambda: chance.randbytes(64), HASHED),
    }
    took: dict[str, list[int]] = {name: [] for name in guesses}
    for _ in range(10_000):
        for name, (guess, stored) in guesses.items():
            secret = guess()
            began = time.perf_counter_ns()
            same = matches(secret, stored)
            took[name].append(time.perf_counter_ns() - began)
            assert not same
    assert alike([median(each) for each in took.values()]), {n: median(t) for n, t in took.items()}


async def test_an_unknown_id_takes_as_long_as_a_known_one(database: Database) -> None:
    """Case 59: through the database, by turns, each guess from elsewhere."""
    await ModuleLedger(database).register("web", "1.0")
    ledger = CredentialLedger(database)
    made = await ledger.provision("web")
    known, unknown = made.client_id.encode(), b"00" * 16
    good = made.secret[:60].encode() + b"0000"
    assert good != made.secret.encode()
    took: dict[str, list[int]] = {"known": [], "unknown": [], "good": [], "strange": []}
    for number in range(150):
        guesses = {
            "known": (known, b"11" * 32),
            "unknown": (unknown, b"11" * 32),
            "good": (known, good),
            "strange": (known, "ü€".encode() * 10),
        }
        for name, guess in guesses.items():
            began = time.perf_counter_ns()
            await refused(ledger.authenticate(*guess, f"10.0.{number}.{len(name)}"))
            took[name].append(time.perf_counter_ns() - began)
    medians = {name: median(each) for name, each in took.items()}
    assert alike(list(medians.values()), within=1.6), medians  # a further question would double it


async def refused(answer: Awaitable[str]) -> None:
    """Wait for the refusal."""
    try:
        await answer
    except AuthenticationError:
        return
    raise AssertionError("it was let in")


def alike(medians: list[float], within: float = 1.3) -> bool:
    """Whether they are as near to each other as a busy machine lets them be."""
    return max(medians) < within * min(medians)
