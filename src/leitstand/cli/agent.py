"""`leitstand agent`: the remote agent."""

from leitstand.app.remote_agent import run_agent
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.logs import configure_logs

app = Commands()


@app.command("agent")
async def agent(call: Invocation) -> ExitCode:
    """Run a remote agent: jobs on a machine that reaches no database, until it is told to stop."""
    log = call.settings.log
    configure_logs(log.level, log.format)

    def announce(kinds: str) -> None:
        call.output.lines([f"Leitstand agent offers: {kinds}"])

    left = await run_agent(call.loaded, announce)
    return ExitCode.FAILURE if left else ExitCode.DONE
