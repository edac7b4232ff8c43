"""Which rules can be."""

import pytest

from leitstand.alerts import AlertRuleError, parse_rule

RULE = {"metric_name": "disk_used", "comparison": "gt", "threshold": 90, "recipient": "ops@x"}


def test_a_rule_is_read_and_named() -> None:
    rule = parse_rule({**RULE, "for": "5m", "label_filters": {"host": "db 1"}})
    assert rule.hold == 300
    assert rule.full_name == "disk_used-gt-90-host-db-1"
    assert parse_rule({**RULE, "name": "disk"}).full_name == "disk"
    assert (rule.debounce, rule.repeat) == (900, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric_name": ""},
        {"metric_name": "a b"},
        {"recipient": ""},
        {"recipient": "  "},
        {"comparison": "ge"},
        {"comparison": None},
        {"threshold": None},
        {"threshold": "nan"},
        {"threshold": float("inf")},
        {"absent": True},
        {"clear_threshold": 91},
        {"for": "-1s"},
        {"for": "soon"},
        {"repeat": 0},
        {"name": "no/slash"},
        {"unknown": 1},
    ],
)
def test_what_makes_no_sense_is_a_typed_error(wrong: dict[str, object]) -> None:
    with pytest.raises(AlertRuleError) as caught:
        parse_rule({**RULE, **wrong})
    assert caught.value.code == "INVALID_ALERT"
    assert caught.value.remedy


def test_absence_needs_no_threshold() -> None:
    rule = parse_rule({"metric_name": "up", "absent": True, "recipient": "log"})
    assert rule.full_name == "up-absent"
