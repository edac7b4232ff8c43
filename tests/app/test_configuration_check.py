"""Values of the configuration that only their use can judge."""

from dataclasses import replace

import pytest

from leitstand.app.configuration_check import check_configuration
from leitstand.settings import LoadedSettings, Settings, SettingsError


def loaded(settings: Settings, **origins: str) -> LoadedSettings:
    return LoadedSettings(settings, {k.replace("__", "."): v for k, v in origins.items()}, None)


def test_the_default_is_sound() -> None:
    check_configuration(loaded(Settings()))


def test_all_that_cannot_be_used_is_named_at_once_without_secrets() -> None:
    settings = Settings.model_validate(
        {
            "protection": {"full": "0 2 * *", "drill": "30 2 30 2 *"},
            "database": {"url": "mysql://anna:hush@db/x"},
        }
    )
    origins = {"protection__full": "x.toml, line 2", "database__url": "LEITSTAND_DATABASE__URL"}
    with pytest.raises(SettingsError) as caught:
        check_configuration(loaded(settings, **origins))
    assert [problem.split(": ")[:2] for problem in caught.value.problems] == [
        ["x.toml, line 2", "protection.full"],
        ["protection.drill", "the schedule '30 2 30 2 *' never comes"],
        ["LEITSTAND_DATABASE__URL", "database.url"],
    ]
    assert "hush" not in str(caught.value.as_dict())


def test_hooks_are_checked() -> None:
    """Each has a name of its own and something that nobody guesses; none of it is shown."""
    settings = Settings.model_validate(
        {
            "hook": [
                {"name": "shop", "secret": "whsec_" + "A" * 40, "old_token": "hush hush hush hush"},
                {"name": "shop", "token": "hush"},
                {"old_secret": "aHVzaA=="},
            ]
        }
    )
    with pytest.raises(SettingsError) as caught:
        check_configuration(loaded(settings))
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [
        "hook[0].old_token",
        "hook[1].name",
        "hook[1].token",
        "hook[2].name",
        "hook[2]",
        "hook[2].old_secret",
    ]
    assert "hush" not in str(caught.value.as_dict())


def test_contacts_rules_and_who_hears_of_what_are_checked() -> None:
    settings = Settings.model_validate(
        {
            "contact": [{"name": "default", "url": "log"}, {"name": "a"}],
            "alert": [{"metric_name": "m", "comparison": "ge", "threshold": 1, "recipient": "log"}],
            "notify": [{"on": ["odd"]}],
        }
    )
    with pytest.raises(SettingsError) as caught:
        check_configuration(replace(loaded(settings), origins={"contact[1]": "x.toml, line 4"}))
    assert caught.value.problems[1].startswith("x.toml, line 4: contact[1].url: it is missing.")
    problems = (problem.removeprefix("x.toml, line 4: ") for problem in caught.value.problems)
    assert [problem.split(":")[0] for problem in problems] == [
        "contact[0].name",
        "contact[1].url",
        "alert[0]",
        "notify",
    ]


def test_two_alert_rules_of_one_name_are_an_error() -> None:
    """Made of what they say, which is cut: the second would take the place of the first."""
    rule = {"metric_name": "m" * 99, "comparison": "gt", "threshold": 1, "recipient": "log"}
    rules = [{**rule, "label_filters": {"host": host}} for host in ("a", "b")]
    settings = Settings.model_validate({"alert": [*rules, {**rules[1], "name": "other"}]})
    with pytest.raises(SettingsError) as caught:
        check_configuration(loaded(settings))
    (problem,) = caught.value.problems
    assert problem.startswith("alert[1]: it has the name of alert[0]")
