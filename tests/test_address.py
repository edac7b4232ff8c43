"""No address that is shown tells its secret, whatever was written wrong about it."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.address import check_conninfo, shown_address
from leitstand.errors import UsageError

SECRET = "Geheim7"
AROUND = st.text(st.sampled_from("ab1@:/?#=&'\"\\ %,[]+ü\0\n"), max_size=6)
SPELLINGS = st.sampled_from(
    [SECRET, f"{SECRET} x", f"'{SECRET} x'", f"x@{SECRET}", f"x/{SECRET}", f"%7{SECRET}%40"]
)
KEYWORDS = st.sampled_from(
    ["password", "pasword", "passwort", "Password", "PGPASSWORD", "pass", "pw", "sslpassword", "x"]
)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", ""),
        ("postgresql://u:pw@h:5/d", "postgresql://u:***@h:5/d"),
        ("postgresql://h/d?user=u&password=pw", "postgresql://h/d?user=u&password=***"),
        ("host=h password='p w' user=u", "host=h password=*** user=u"),
        ("host=/run/pg dbname=d", "host=/run/pg dbname=d"),
        ("amqp://u:pw@h:5/v", "amqp://u:***@h:5/v"),
        ("mysql://u@h/d?x=1", "mysql://u@h/d?***"),
        ("gearman://[::1]:4730", "gearman://[::1]:4730"),
        ("host=h pasword=pw", "***"),
        ("postgresql://u:p/w@h/d", "***"),
        ("postgresql://u:pw", "***"),
        ("postgresql://u%3Apw@h/d", "***"),
        ("postgresql://u@h/d?pass%77ord=pw", "***"),
        ("host=h\0pasword=pw", "***"),
        ("amqp://u:pw", "***"),
    ],
)
def test_what_is_shown(address: str, shown: str) -> None:
    assert shown_address(address) == shown


@given(AROUND, AROUND, SPELLINGS, KEYWORDS)
def test_no_surroundings_bring_a_secret_to_light(
    before: str, after: str, secret: str, keyword: str
) -> None:
    for spelling in (secret, quote(secret), quote(secret, safe="")):
        for address in (
            f"host=h {keyword}={spelling}{after} user=u",
            f"{keyword} = '{before}{spelling}{after}' host=h",
            f"postgresql://u:{before}{spelling}{after}@h/d",
            # Without the @, since what stands behind one is a host to everybody.
            f"postgresql://u:{spelling.split('@')[-1]}{after}/d",
            f"postgresql://u@h/d?{keyword}={before}{spelling}{after}",
            f"postgresql://u@h/d?sslmode=disable&{keyword}={spelling}",
            f"amqp://u:{before}{spelling}{after}@h/v",
            f"amqp://u:{spelling.split('@')[-1]}/v",
            f"mysql://u@h/d?{keyword}={before}{spelling}{after}",
        ):
            assert SECRET not in shown_address(address), address


def test_what_libpq_cannot_read_is_refused_without_repeating_it() -> None:
    check_conninfo("database.url", "host=h")
    with pytest.raises(UsageError) as caught:
        check_conninfo("database.url", f"host=h pasword={SECRET}")
    assert "database.url" in caught.value.message
    assert SECRET not in str(caught.value.as_dict())
    with pytest.raises(UsageError):
        check_conninfo("database.url", "host=h\0user=u")
