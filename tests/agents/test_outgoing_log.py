"""What an agent sends of a log comes together again, whatever is lost on the way."""

from hypothesis import given
from hypothesis import strategies as st

from leitstand.agent.bench import sayable
from leitstand.agent.outgoing_log import OutgoingLog
from leitstand.agent_protocol import TEXT_LIMIT, End, Report
from leitstand.execution import Ending, Lease, Result
from leitstand.execution.log_buffer import LINE_LIMIT, RUN_LIMIT


class Stored:
    """The servers' side: pieces by their rule."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    @property
    def end(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    def take(self, report: Report) -> int:
        if report.text and report.position == self.end:
            self.pieces.append(report.text)
        return self.end


lines = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), max_size=20)


@given(st.lists(st.tuples(lines, st.sampled_from(["sent", "lost", "unanswered"])), max_size=10))
def test_no_line_is_lost_or_doubled(steps: list[tuple[list[str], str]]) -> None:
    outgoing, stored = OutgoingLog(Lease(1, 2)), Stored()
    said: list[str] = []
    for some, fate in steps:
        for line in some:
            outgoing.log(line)
        said += some
        report = outgoing.next_report()
        if report is not None and fate != "lost":
            position = stored.take(report)
            if fate == "sent":
                outgoing.confirm(position)
    for report in outgoing.last_reports():
        stored.take(report)
    assert "\n".join(stored.pieces).split("\n") == (said or [""])


def test_pieces_are_whole_lines_of_bounded_size() -> None:
    outgoing, stored = OutgoingLog(Lease(1, 2)), Stored()
    for number in range(40):
        outgoing.log(str(number) * 2 * LINE_LIMIT)
    while report := outgoing.next_report():
        assert len(report.text) <= TEXT_LIMIT
        outgoing.confirm(stored.take(report))
    assert not outgoing.more
    (last,) = outgoing.last_reports()
    assert last.text == "[16 more lines were not kept]"
    assert stored.end <= RUN_LIMIT
    assert all(set(line) <= set("0123456789") for line in stored.pieces)


def test_what_cannot_be_said_is_replaced() -> None:
    """Lone surrogates have no encoding; a number of characters stays what it is."""
    outgoing = OutgoingLog(Lease(1, 2))
    outgoing.log("a\ud800b")
    outgoing.progress(float("nan"), "\udcff")
    (report,) = outgoing.last_reports()[:1]
    assert report.text == "a?b"
    assert [r.progress for r in outgoing.last_reports()] == []
    again = OutgoingLog(Lease(1, 2))
    again.progress(float("nan"), "\udcff")
    said = again.next_report()
    assert said is not None
    assert said.progress == (None, "\\udcff")
    assert Report.model_validate_json(said.model_dump_json()) == said


def test_a_result_that_json_cannot_say_is_an_error() -> None:
    odd = End.of(Ending(result=Result(result={"a": object()})), None)
    assert sayable(odd).error is not None
    names = End.of(Ending(result=Result(result={"\ud800": ["\udcff", float("inf")]})), None)
    assert sayable(names) == names
    assert names.result is not None
    assert names.result["result"] == {"\\ud800": ["\\udcff", None]}


def test_progress_alone_is_news() -> None:
    outgoing = OutgoingLog(Lease(1, 2))
    assert outgoing.next_report() is None
    outgoing.progress(5.0, "five")
    outgoing.progress(6.0, "six")
    report = outgoing.next_report()
    assert report is not None
    assert (report.text, report.progress) == ("", (6.0, "six"))
    assert outgoing.next_report() is None
    assert outgoing.last_reports() == ()
