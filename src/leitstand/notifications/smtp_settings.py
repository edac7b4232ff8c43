"""The mail server that takes our mail."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SmtpSettings:
    """Where mail goes. ``security`` is ``starttls``, ``tls`` or ``none``.

    With ``starttls`` a server that does not offer it is refused, except one on this machine.
    """

    host: str = "127.0.0.1"
    port: int = 25
    sender: str = "leitstand@localhost"
    user: str = ""
    password: str = ""
    security: str = "starttls"
    ca_file: str = ""
