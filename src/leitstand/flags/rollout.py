"""Decides for whom a flag is on. The rule never changes: tenants would lose what they have."""

from collections.abc import Mapping

from leitstand.flags.evaluation import Evaluation, Reason
from leitstand.flags.flag import Flag

_FNV_OFFSET = 0x811C_9DC5
_FNV_PRIME = 0x0100_0193


def fnv1a(data: bytes) -> int:
    """FNV-1a of 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFF_FFFF
    return value


def bucket(key: str, tenant: str) -> int:
    """Where among 0 to 99 the tenant stands for this flag."""
    return fnv1a(f"{key}|{tenant}".encode("utf-8", "surrogatepass")) % 100


def decide(flag: Flag, tenant: str | None) -> tuple[bool, Reason]:
    """Whether the flag is on for the tenant, and what decided; the first that applies.

    A higher percentage includes everybody whom a lower one does. Without a tenant (None) a flag is
    on only if it is for all.
    """
    if flag.enabled:
        return True, Reason.STATIC
    if tenant is None:
        return False, Reason.DEFAULT
    if tenant in flag.target_tenants:
        return True, Reason.TARGETING_MATCH
    if flag.rollout_percentage > 0:
        return bucket(flag.key, tenant) < flag.rollout_percentage, Reason.SPLIT
    return False, Reason.DEFAULT


def evaluate_known(
    known: Mapping[str, Flag] | None, key: str, tenant: str | None, *, stale: bool
) -> Evaluation:
    """The answer by the flags that are ``known`` (None: nothing is), ``stale`` if as last known."""
    if known is None:
        return Evaluation(key, tenant, False, Reason.ERROR, stale=True)
    flag = known.get(key)
    if flag is None:
        return Evaluation(key, tenant, False, Reason.UNKNOWN, stale)
    value, reason = decide(flag, tenant)
    return Evaluation(key, tenant, value, Reason.STALE if stale else reason, stale)
