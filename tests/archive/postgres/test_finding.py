"""Findings are kept once, bounded in number, and can always be shown."""

import json

from leitstand.archive.postgres.finding import LISTED, Finding, FindingKind, Findings, shown


def test_the_same_problem_is_kept_once() -> None:
    findings = Findings("full")
    findings.add("base.tar.gz", "it is empty")
    findings.add("base.tar.gz", "it is empty")
    assert list(findings) == [Finding("full", "base.tar.gz", "it is empty", FindingKind.DAMAGED)]


def test_many_problems_of_one_sort_are_counted() -> None:
    findings = Findings("full")
    for number in range(LISTED + 5):
        findings.add("base.tar.gz", f"{number} is missing", FindingKind.MISSING)
    findings.add("base.tar.gz", "it is cut off")
    found = list(findings)
    assert len(found) == LISTED + 2
    assert found[-1].problem == "and 5 more of this kind"
    assert found[-2].problem == "it is cut off"


def test_names_that_are_not_utf8_survive_json() -> None:
    """Case 67, for names in a backup."""
    finding = Finding("full", "base.tar.gz", shown(b"caf\xe9 \xff"), FindingKind.UNEXPECTED)
    assert json.loads(json.dumps(finding.as_dict()))["problem"] == "caf\\xe9 \\xff"
