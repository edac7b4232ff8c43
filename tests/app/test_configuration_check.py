"""Values of the configuration that only their use can judge."""

import pytest

from leitstand.app.configuration_check import check_configuration
from leitstand.errors import UsageError
from leitstand.settings import Settings


def test_the_default_is_sound() -> None:
    check_configuration(Settings())


def test_all_that_cannot_be_used_is_named_at_once_without_secrets() -> None:
    settings = Settings.model_validate(
        {
            "protection": {"full": "0 2 * *", "drill": "30 2 30 2 *"},
            "database": {"url": "mysql://anna:hush@db/x"},
        }
    )
    with pytest.raises(UsageError) as caught:
        check_configuration(settings)
    lines = caught.value.message.splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines] == [
        "protection.full",
        "protection.drill",
        "database.url",
    ]
    assert "hush" not in caught.value.message
