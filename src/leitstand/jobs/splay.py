"""Spreads jobs that share a time: each has a delay of its own, always the same one."""

from hashlib import blake2b


def splay_offset(name: str, splay: float) -> float:
    """The seconds, at least 0 and less than ``splay``, by which the named job starts later.

    It depends on nothing but the name, so it is the same on every server and after every restart,
    and the offsets of many jobs are spread evenly.
    """
    digest = blake2b(name.encode(), digest_size=4).digest()
    # 32 bits: with as many as a float holds, the product could round up to `splay` itself.
    return splay * (int.from_bytes(digest) / 2**32)
