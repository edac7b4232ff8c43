"""Where a module shows its metrics: which URLs may be registered."""

from urllib.parse import urlsplit

from leitstand.errors import UsageError

LONGEST = 2000


class MetricsUrlError(UsageError):
    """A URL that the server would not fetch, or that holds a secret."""

    code = "METRICS_URL"


def check_metrics_url(url: str) -> None:
    """Raise MetricsUrlError for anything but http and https, with a host and without a password.

    Where its host leads is checked when it is connected to: that can change.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url or len(url) > LONGEST:
        raise MetricsUrlError(
            "that is no URL for metrics", remedy="For example http://10.0.0.5:9100/metrics."
        )
    if "@" in parts.netloc:
        raise MetricsUrlError(
            "the URL holds a user's name or password",
            remedy="It would be shown to whoever lists modules.",
        )
