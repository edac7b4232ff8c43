"""How long ago something was, by clocks that may be wrong; pure.

What a clock that was ahead has dated later than now proves nothing: it would keep every promise
until that day comes, whatever happens until then.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

CLOCK_TOLERANCE = timedelta(minutes=5)
"""How far clocks of machines that work with one backup directory may be apart."""


def in_future(time: datetime, now: datetime) -> bool:
    """Whether ``time`` lies further ahead than clocks may be apart."""
    return time > now + CLOCK_TOLERANCE


def age_of_newest(times: Iterable[datetime | None], now: datetime) -> float | None:
    """Seconds since the newest of ``times`` that is not in the future; None if there is none."""
    past = [time for time in times if time is not None and not in_future(time, now)]
    return max(0.0, (now - max(past)).total_seconds()) if past else None
