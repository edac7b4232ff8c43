"""What every command is given: the options that all share, the settings, the output."""

import getpass
import os
from functools import cached_property
from pathlib import Path

from leitstand.cli.options import CommonOptions
from leitstand.cli.output import Output
from leitstand.logs import configure_logs
from leitstand.settings import LoadedSettings, Settings, load_settings


class Invocation:
    """One call of a command."""

    def __init__(self, options: CommonOptions) -> None:
        self.options = options
        self.output = Output(json=options.json)

    @cached_property
    def loaded(self) -> LoadedSettings:
        """The settings with their origins, read when first asked for.

        Raises SettingsError. From then on log lines look as the settings say; those that are only
        informative stay away unless the level was set, since a command speaks by its output.
        """
        config = self.options.config
        loaded = load_settings(Path(config) if config is not None else None)
        log = loaded.settings.log
        configure_logs(log.level if "log.level" in loaded.origins else "warning", log.format)
        return loaded

    @property
    def user(self) -> str:
        """Who calls, for the history: the name of the system's user."""
        try:
            name = getpass.getuser()
        except (KeyError, OSError):  # a container's bare uid without an entry
            return str(os.getuid())
        # LOGNAME may hold bytes that are no text, and no database would take them.
        return name.encode("utf-8", "backslashreplace").decode()

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self.loaded.settings
