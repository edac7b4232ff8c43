"""Subjects and bodies: by template, or in plain words."""

from pathlib import Path

import pytest

from leitstand.notifications.rendering import LONGEST_BODY, LONGEST_SUBJECT, Rendering

ALERT = {"rule": "disk", "state": "firing", "value": 91, "labels": {"host": "db1"}}


def test_without_templates_the_facts_are_told() -> None:
    rendering = Rendering()
    assert rendering.subject("email", "alert", (ALERT,)) == "[FIRING] disk host=db1"
    assert "value: 91" in rendering.body("email", "alert", (ALERT,))


def test_several_share_a_message() -> None:
    many = tuple({**ALERT, "labels": {"n": str(n)}} for n in range(120))
    rendering = Rendering()
    assert rendering.subject("email", "alert", many).endswith("(and 119 more)")
    assert "70 more are not listed here" in rendering.body("email", "alert", many)


def test_a_template_is_the_operators(tmp_path: Path) -> None:
    (tmp_path / "email.subject").write_text("{{ rule }} on {{ labels.host }}")
    (tmp_path / "email.body").write_text("{% for p in payloads %}{{ p.value }}{% endfor %}")
    rendering = Rendering(tmp_path)
    assert rendering.subject("email", "alert", (ALERT,)) == "disk on db1"
    assert rendering.body("email", "alert", (ALERT, ALERT)) == "9191"
    assert rendering.subject("log", "alert", (ALERT,)) == "[FIRING] disk host=db1"


@pytest.mark.parametrize(
    "template",
    [
        "{{ nothing.there }}",
        "{{ 1 / 0 }}",
        "{% if %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ payload.update({'x': 1}) }}",
        "{{ value.no_such() }}",
    ],
)
def test_a_template_that_fails_costs_no_message(tmp_path: Path, template: str) -> None:
    """The plain facts are told; templates cannot leave their sandbox either."""
    (tmp_path / "email.body").write_text(template)
    assert "value: 91" in Rendering(tmp_path).body("email", "alert", (ALERT,))


def test_texts_are_cut_to_what_channels_take() -> None:
    """Case 39: a description of 20 kB, an empty one, a label of 5,000 characters."""
    long = {"rule": "a\r\nb" * 100, "description": "x" * 20_000, "labels": {"l": "y" * 5000}}
    rendering = Rendering()
    subject = rendering.subject("email", "alert", (long,))
    assert len(subject) == LONGEST_SUBJECT
    assert "\n" not in subject
    assert len(rendering.body("email", "alert", (long,))) == LONGEST_BODY
    assert rendering.body("email", "alert", ({"description": ""},))
