"""`leitstand version`: what one states in a report of a fault."""

import platform

from leitstand import __version__
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details

app = Commands()


@app.command("version")
def version(call: Invocation) -> None:
    """Print the versions of Leitstand and Python."""
    versions = {
        "leitstand": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    call.output.show(versions, details(versions.items()))
