"""The options that every command takes, before its name or after it."""

from dataclasses import dataclass
from typing import Annotated

import typer

ConfigOption = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="The configuration file.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]


@dataclass(frozen=True)
class CommonOptions:
    """``--config`` and ``--json``, wherever they stood on the command line."""

    config: str | None = None
    json: bool = False

    def over(self, earlier: "CommonOptions") -> "CommonOptions":
        """These after the command's name, ``earlier`` before it; the later file counts."""
        return CommonOptions(self.config or earlier.config, self.json or earlier.json)
