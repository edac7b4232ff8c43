"""Passwords leave every text that is about to be shown."""

import pytest

from leitstand.masking import is_secret_name, mask_url, mask_value


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://u:pw@h:5/d", "postgresql://u:***@h:5/d"),
        ("postgresql://u:p@w/x@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?user=u&password=pw&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        ("redis://:pw@h", "redis://:***@h"),
        ("host=h password='p w' user=u", "host=h password=*** user=u"),
        (r"password='it\'s' user=u", "password=*** user=u"),
        ("cannot reach amqp://u:pw@h now", "cannot reach amqp://u:***@h now"),
        ("http://h:80/a b@c", "http://h:80/a b@c"),
        ("12:30 a@b", "12:30 a@b"),
        ("", ""),
    ],
)
def test_passwords_in_texts(text: str, masked: str) -> None:
    assert mask_url(text) == masked


def test_values_of_secret_names_are_hidden_whole_at_any_depth() -> None:
    given = {"user": "u", "Password": "x", "in": [{"client_secret": "x"}], "api-key": ("x", "y")}
    assert mask_value("params", given) == {
        "user": "u",
        "Password": "***",
        "in": [{"client_secret": "***"}],
        "api-key": "***",
    }
    assert mask_value("password", "") == "", "that nothing is set may be seen"


def test_a_fencing_token_is_no_secret() -> None:
    assert not is_secret_name("fencing_token")
    assert is_secret_name("access_token")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((name, True) for name in ("X-Auth-Token", "x-api-key", "Set-Cookie", "PGPASSWORD")),
        *((name, True) for name in ("Authorization", "SMTP_PASS", "private_key", "apiKey")),
        *((name, False) for name in ("key", "storage_key", "password_file", "tokens_used", "job")),
    ],
)
def test_secret_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_of_headers_only_what_is_harmless_is_shown() -> None:
    headers = {"Accept": "*/*", "X-Signature": "hush", "Cookie": "hush", "X-Empty": ""}
    assert mask_value("params", {"headers": headers}) == {
        "headers": {"Accept": "*/*", "X-Signature": "***", "Cookie": "***", "X-Empty": ""}
    }


@pytest.mark.parametrize("name", ["pasword", "passsword", "paswd", "my_secret_x", "API_TOKEN"])
def test_misspelt_names_in_prose(name: str) -> None:
    assert "hush" not in mask_url(f"host=h {name}='hush hush' user=u")
    assert mask_url("fencing_token=7") == "fencing_token=7"
