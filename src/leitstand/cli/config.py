"""`leitstand config`: what is in effect and where it came from."""

import json

from leitstand.app.configuration_check import check_configuration
from leitstand.app.source_look import check_sources
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.settings import effective_configuration

app = Commands("config", "The configuration: what is in effect and where it came from.")


@app.command("check")
async def check(call: Invocation) -> None:
    """Check the configuration and print what is in effect, with secrets masked.

    Log tables of detectors are looked at: a wrong name is an error, a database that is away is not.
    """
    check_configuration(call.loaded)
    for unseen in await check_sources(call.loaded.settings):
        call.output.note(f"Not checked: {unseen}")
    entries = effective_configuration(call.loaded)
    rows = [(entry.key, _shown(entry.value), entry.origin) for entry in entries]
    call.output.show(
        {"file": call.loaded.file, "settings": entries},
        Table(("setting", "value", "from"), rows),
        f"The configuration is sound ({call.loaded.file or 'no file'}).",
    )


def _shown(value: object) -> str:
    """As one would write it in the file, without the quotes where nothing is unclear."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
