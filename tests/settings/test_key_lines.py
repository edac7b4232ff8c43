"""On which line of a TOML file a key stands."""

from leitstand.settings.sources import key_lines

DOCUMENT = '''# [not.a.table]
title = """
[neither]
x = 1
"""
[a.b]            # comment with a "quote
c = "# no comment"
"d e" = 1
f.g = [
  "x",
]
[[list]]
k = 1
[list.inner]
k = 2
[[list]]
k = '[x]'
'''


def test_every_table_and_key_is_found_and_nothing_inside_texts() -> None:
    assert dict(key_lines(DOCUMENT)) == {
        ("title",): 2,
        ("a", "b"): 6,
        ("a", "b", "c"): 7,
        ("a", "b", "d e"): 8,
        ("a", "b", "f", "g"): 9,
        ("list", 0): 12,
        ("list", 0, "k"): 13,
        ("list", 0, "inner"): 14,
        ("list", 0, "inner", "k"): 15,
        ("list", 1): 16,
        ("list", 1, "k"): 17,
    }
