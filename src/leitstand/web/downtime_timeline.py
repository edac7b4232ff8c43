"""The downtimes of a host along a line: what lies where between two times."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leitstand.downtimes import Shown

WIDTH = 1000
NARROWEST = 3
"""Units of the picture; a downtime of a minute is seen, too."""


@dataclass(frozen=True)
class Bar:
    """A downtime in the picture; ``text`` is what a reader of screens says."""

    x: int
    width: int
    state: str
    text: str


@dataclass(frozen=True)
class Lane:
    """The bars of the host itself (``service`` None), or of one of its services."""

    service: str | None
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Timeline:
    """What is shown from ``begin`` to ``end``, and where ``now`` is."""

    begin: datetime
    end: datetime
    now: datetime
    lanes: Sequence[Lane]
    width: int = WIDTH

    @property
    def now_at(self) -> int:
        """The place of this moment."""
        return _place(self.now, self)

    def days(self) -> Iterator[tuple[int, datetime]]:
        """The places of midnights (UTC), at most about twenty of them."""
        step = max(1, round((self.end - self.begin).days / 20))
        midnight = self.begin.replace(hour=0, minute=0, second=0, microsecond=0)
        while (midnight := midnight + timedelta(days=step)) < self.end:
            yield _place(midnight, self), midnight


def timeline(
    downtimes: Iterable["Shown"], begin: datetime, end: datetime, now: datetime
) -> Timeline:
    """The picture of these downtimes; the host's own lane is the first."""
    frame = Timeline(begin, end, now, [])
    lanes: dict[str | None, list[Bar]] = {}
    for one in downtimes:
        service = one.as_dict()["service_description"]
        lanes.setdefault(service, []).append(_bar(one, frame))
    ordered = sorted(lanes, key=lambda service: (service is not None, service or ""))
    return Timeline(begin, end, now, [Lane(service, lanes[service]) for service in ordered])


def _bar(one: "Shown", frame: Timeline) -> Bar:
    document = one.as_dict()
    begin = document["actual_start_time"] or document["scheduled_start_time"] or frame.begin
    end = document.get("actual_end_time") or document["until"] or frame.end
    x = _place(begin, frame)
    width = max(_place(end, frame) - x, NARROWEST)
    text = f"{one.state.value}, {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    comment = document["comment_data"]
    return Bar(min(x, WIDTH - NARROWEST), width, one.state.value, _joined(text, comment))


def _joined(text: str, comment: str | None) -> str:
    return f"{text}: {comment}" if comment else text


def _place(moment: datetime, frame: Timeline) -> int:
    share = (moment - frame.begin) / (frame.end - frame.begin)
    return round(WIDTH * min(1.0, max(0.0, share)))
