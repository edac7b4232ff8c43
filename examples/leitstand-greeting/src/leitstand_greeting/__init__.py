"""The job kind ``greeting``: writes a greeting for each name into a file."""

import asyncio
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts


class GreetingParams(Params):
    """Whom to greet, and where; checked when a job is saved, so a run finds them sound."""

    names: list[str] = Field(min_length=1)
    file: str
    word: str = "Hello"

    @field_validator("file")
    @classmethod
    def _absolute(cls, file: str) -> str:
        if not Path(file).is_absolute():
            raise ValueError("must be an absolute path")
        return file


class DirectoryMissingError(LeitstandError):
    """The file's directory is not there: transient, since it may be mounted in a minute."""

    code = "GREETING_DIRECTORY"
    failure_class = FailureClass.TRANSIENT


class Greeting:
    """Carries out ``greeting`` runs, each in a process of its own."""

    kind: ClassVar[str] = "greeting"
    params: ClassVar[type[Params]] = GreetingParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    async def execute(self, params: GreetingParams, run: RunFacts, reporter: Reporter) -> Result:
        """Greet everybody whose name is not empty; the others count as skipped."""
        greeted = [name for name in params.names if name.strip()]
        text = "".join(f"{params.word}, {name}!\n" for name in greeted)
        reporter.progress(50, f"greeting {len(greeted)} people")
        await asyncio.to_thread(write, Path(params.file), text)
        reporter.log(f"attempt {run.attempt} of {run.job} wrote {params.file}")
        skipped = len(params.names) - len(greeted)
        return Result(
            bytes_written=len(text.encode()),
            objects_processed=len(greeted),
            objects_skipped=skipped,
            skip_reasons=("a name is empty",) if skipped else (),
            result={"greeted": greeted},
        )


def write(file: Path, text: str) -> None:
    """Write the file; raises DirectoryMissingError."""
    try:
        file.write_text(text, encoding="utf-8")
    except FileNotFoundError as error:
        raise DirectoryMissingError(
            f"{file.parent} is not there", remedy="Create or mount it; the run is tried again."
        ) from error
