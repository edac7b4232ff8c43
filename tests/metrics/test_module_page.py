"""Reading what modules show: nothing is altered, nothing breaks the rest."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from leitstand.metrics.module_page import Dropped, PageMemory, read_page
from leitstand.metrics.rendering import render, text_of
from tests.metrics.promtool import promtool_says

MOST = 10_000

SOUND = rb"""# HELP jobs Jobs so far.
# TYPE jobs counter
jobs 9007199254740993
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{path="a\\b\"c\nd}, e",code="200"} 1.50 1700000000123
# HELP age_seconds Age.
# TYPE age_seconds gauge
age_seconds NaN
age_seconds{kind="inf"} +Inf
age_seconds{kind="old"} -Inf 5
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5"} 1
took_seconds_bucket{le="+Inf"} 2
took_seconds_sum 0.25
took_seconds_count 2
# HELP took_seconds_created Begin.
# TYPE took_seconds_created gauge
took_seconds_created 1.7e+09
# HELP size_bytes Size.
# TYPE size_bytes summary
size_bytes{quantile="0.5"} 1e3
size_bytes_sum 5
size_bytes_count 1
"""


def series(text: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Names and labels, as the reference parser reads them."""
    families = parse_text(text)
    return [(s.name, tuple(s.labels.items())) for family in families for s in family.samples]


def shown(
    body: bytes, memory: PageMemory | None = None, most: int = MOST
) -> tuple[str, dict[Dropped, int]]:
    """The page under new names, and what was left out."""
    page = read_page(body, most, memory)
    return text_of("x_", page).decode(), dict(page.dropped)


def test_only_names_change() -> None:
    """A large integer, escapes, NaN, infinities, time stamps, ``_created``: byte for byte.

    So are the comments that belong to them, and the second look is as the first.
    """
    memory = PageMemory()
    expected = SOUND.decode()
    for name in ("jobs", "requests_total", "age_seconds", "took_seconds", "size_bytes"):
        expected = "\n".join(
            line.replace(f" {name}", f" x_{name}", 1)
            if line.startswith("#")
            else line.replace(name, f"x_{name}", 1)
            if line.startswith(name)
            else line
            for line in expected.split("\n")
        )
    for _ in range(3):
        assert shown(SOUND, memory) == (expected, {})


def test_promtool_finds_nothing_to_say() -> None:
    page = read_page(SOUND.replace(b"jobs", b"jobs_total"), MOST)
    assert promtool_says(text_of("leitstand_module_web_", page)) == ""


@pytest.mark.parametrize(
    ("body", "kept", "dropped"),
    [
        (b'a 1\nb{x="un"quoted"} 2\nc 3\n', ["a 1", "c 3"], {Dropped.MALFORMED: 1}),
        (b"a 1\na 2\n", ["a 1"], {Dropped.DUPLICATE: 1}),
        (b"a 1 5\na 2 9\na 3 7\n", ["a 2 9"], {Dropped.DUPLICATE: 2}),
        (b'a{b="1",} 1\r\n\ta { b = "2" , c="3" }\t2  \n', ['a{b="1"} 1', 'a{b="2",c="3"} 2'], {}),
        (b"a{} 1\n  # comment\n#\n\n", ["a 1"], {}),
        (b'a{b="1",b="2"} 1\na{__name__="x"} 1\n', [], {Dropped.MALFORMED: 2}),
        (b"a 1 -5\na 1e999\na 1_0\na 0x\na\na 1 2 3\n1a 2\n", [], {Dropped.MALFORMED: 7}),
        (b"a 1.7e+307\nb 1.5E300\nc 5e-324\n", ["a 1.7e+307", "b 1.5E300", "c 5e-324"], {}),
        (b'a 1e+1\na{b="\\d"} 1\n', ["a 1e+1"], {Dropped.MALFORMED: 1}),
        (b'a{b="\xff"} 1\na 1\n', ["a 1"], {Dropped.MALFORMED: 1}),
        (b'a{b="\x00"} 1\na 1\n', ["a 1"], {Dropped.MALFORMED: 1}),
        (b'# TYPE h histogram\nh_bucket 1\nh_bucket{le="x"} 1\n', [], {Dropped.MALFORMED: 2}),
        (b'# TYPE s summary\ns{quantile="x"} 1\ns_sum 1\n', ["s_sum 1"], {Dropped.MALFORMED: 1}),
        (b"# TYPE a gauge\n# TYPE a counter\na 1\n", ["a 1"], {Dropped.TYPE: 1}),
        (b"up1\nupInf\nup 1\n", ["up 1"], {Dropped.MALFORMED: 2}),
    ],
)
def test_a_bad_line_costs_itself(body: bytes, kept: list[str], dropped: dict[Dropped, int]) -> None:
    """Cases 5, 7, 8: also when the page comes again."""
    memory = PageMemory()
    for _ in range(2):
        text, left_out = shown(body, memory)
        samples = [line.removeprefix("x_") for line in text.splitlines() if line[0] != "#"]
        assert (samples, left_out) == (kept, dropped)


@pytest.mark.parametrize(
    "body",
    [
        b"a " + b"1" * 30_000 + b"x\n",
        b"a" + b"\t" * 30_000 + b"x\n",
        b"a {" + b'b="c", ' * 30_000 + b"} x\n",
        b"# HELP a " + b"\\\\" * 30_000 + b"x\na 1\n",
        b"a" * 30_000 + b"\n",
    ],
    ids=["digits", "blanks", "labels", "backslashes", "name"],
)
def test_a_long_line_costs_its_length(body: bytes) -> None:
    """One of a megabyte may not hold up the pages of all modules for hours."""
    began = time.monotonic()
    read_page(body, MOST)
    assert time.monotonic() - began < 5  # what grows with the square takes a minute


def test_a_help_text_with_sound_escapes_stays_as_it_is() -> None:
    """A backslash that escapes nothing is doubled, so that every parser takes the text."""
    text, _ = shown(b"# HELP a C:\\\\temp\\n\na 1\n# HELP b C:\\temp\nb 1\n")
    helps = [line for line in text.splitlines() if line.startswith("# HELP")]
    assert helps == ["# HELP x_a C:\\\\temp\\n", "# HELP x_b C:\\\\temp"]


def test_families_are_put_together() -> None:
    """Split in two places, declared twice or late, of an unknown type, without a type or help."""
    body = (
        b'a{n="1"} 1\nb 2\na{n="2"} 3\n# TYPE a gauge\n# HELP a First \\x.\n# HELP a Second.\n'
        b"# TYPE c wonder\nc 4\n# TYPE d gauge\n"
    )
    assert shown(body)[0] == (
        "# HELP x_a First \\\\x.\n# TYPE x_a gauge\n"
        'x_a{n="1"} 1\nx_a{n="2"} 3\n'
        "# HELP x_b Metric b of a module\n# TYPE x_b untyped\nx_b 2\n"
        "# HELP x_c Metric c of a module\n# TYPE x_c untyped\nx_c 4\n"
    )


def test_a_page_that_is_too_long_is_cut() -> None:
    """Case 14."""
    body = b"".join(b'a{n="%d"} 1\n' % n for n in range(200))
    text, dropped = shown(body, most=50)
    assert (text.count("\n"), dropped) == (52, {Dropped.QUOTA: 1})


def test_labels_of_any_name_stay_as_they_are() -> None:
    """Case 12: ``module``, ``instance`` and ``job`` are the module's own; we add no labels."""
    line = 'a{module="x",instance="y",job="z",exported_module="w"} 1\n'
    assert f"x_{line}" in shown(line.encode())[0]


def test_what_was_learned_holds_only_under_the_same_types() -> None:
    memory = PageMemory()
    assert shown(b"h_bucket 1\n", memory)[1] == {}
    assert shown(b"# TYPE h histogram\nh_bucket 1\n", memory)[1] == {Dropped.MALFORMED: 1}
    assert shown(b"h_bucket 2\n", memory)[1] == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a 5\n", b"a\n"),
        (b"a 5\n", b"a \xff\n"),
        (b"a 5\n", b"a\xff\n"),
        (b"a 5\n", b"a 1 2 3\n"),
        (b"a 1 2 3\n", b"a 1 2 x\n"),
        (b"a\t5\n", b"a\t6\n"),
        (b"a 5\r\n", b"a 6\r\n"),
        (b'a{b="x"c="y"} 5\n', b'a{b="x""y"} 5\n'),
        (b"a 5\na 5\n", b"a 5 9\na 5 10\n"),
        (b"# HELP a Up to 5\na 5\n", b"# HELP a Up to 6\na 5\n"),
        (b"# TYPE a gauge\na 5\n", b"# TYPE a counter\na 5\n"),
        (b'# TYPE h histogram\nh_bucket{le="1"} 5\n', b'# TYPE h histogram\nh_bucket{le="x"} 5\n'),
        (b"a 5\nb 6", b"a 5\nb 7\nc 8"),
    ],
)
def test_the_page_before_changes_nothing(before: bytes, after: bytes) -> None:
    memory = PageMemory()
    for page in (before, after, before):
        assert shown(page, memory) == shown(page), page


PIECES = [
    "a",
    "b{c=",
    '"',
    "\\",
    " ",
    "5",
    "1e9",
    "NaN",
    "-",
    ",",
    "}",
    "\n",
    "# ",
    "\r",
    "\t",
    "x",
    "\xff",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(PIECES)), max_size=3),
)
def test_the_page_before_never_changes_anything(
    pieces: list[str], changes: list[tuple[int, str]]
) -> None:
    """Of two pages that differ a little the second is read as if there had been no first."""
    other = list(pieces)
    for place, piece in changes:
        other[place : place + 1] = [piece]
    memory = PageMemory()
    for page in ("".join(each).encode("latin-1") for each in (pieces, other)):
        assert shown(page, memory) == shown(page)


def test_openmetrics_says_the_same() -> None:
    """Its own parser reads it; ``jobs`` is no counter there, and time stamps are in seconds."""
    page = read_page(SOUND.replace(b"took_seconds_created", b"began_seconds"), MOST)
    made = render([], [("x_", page)], "application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in parse_openmetrics(made.body.decode())}  # type: ignore[no-untyped-call]
    assert made.media_type.startswith("application/openmetrics-text")
    assert families["x_jobs"].type == "unknown"
    (total,) = families["x_requests"].samples
    assert (total.name, total.labels["path"]) == ("x_requests_total", 'a\\b"c\nd}, e')
    assert str(total.timestamp) == "1700000000.123000000"
    assert b'x_age_seconds{kind="old"} -Inf 0.005\n' in made.body
    assert made.body.endswith(b"# EOF\n")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b_total", "c:d"]),
            st.dictionaries(st.sampled_from(["x", "y", "le"]), st.text(max_size=5), max_size=3),
            st.floats(),
        ),
        max_size=10,
    )
)
def test_what_is_well_formed_comes_back(samples: list[tuple[str, dict[str, str], float]]) -> None:
    """Read by the reference parser before and after."""
    lines = []
    for name, labels, value in samples:
        if "\0" in "".join(labels.values()):
            continue
        escaped = [f'{label}="{_escaped(text)}"' for label, text in labels.items()]
        shown_value = "NaN" if value != value else repr(value)
        lines.append(name + ("{" + ",".join(escaped) + "}" if labels else "") + " " + shown_value)
    body = "".join(f"{line}\n" for line in lines)
    text, dropped = shown(body.encode())
    assert set(dropped) <= {Dropped.DUPLICATE, Dropped.MALFORMED}
    if Dropped.MALFORMED not in dropped:
        before = set(series(body))
        after = {(name.removeprefix("x_"), labels) for name, labels in series(text)}
        assert before == after


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@given(st.binary(max_size=200))
def test_anything_leaves_a_sound_page(noise: bytes) -> None:
    text, _ = shown(b"good 1\n" + noise + b"\n")
    assert "x_good 1\n" in text
    series(text)
