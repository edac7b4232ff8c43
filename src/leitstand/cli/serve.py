"""`leitstand serve`: the control server."""

from leitstand.app.server import serve as run_server
from leitstand.cli.commands import Commands
from leitstand.cli.exit_code import ExitCode
from leitstand.cli.invocation import Invocation
from leitstand.logs import configure_logs

app = Commands()


@app.command("serve")
async def serve(call: Invocation) -> ExitCode:
    """Run the control server: jobs, status page and metrics, until it is told to stop."""
    log = call.settings.log
    configure_logs(log.level, log.format)

    def announce(address: str, login_link: str | None) -> None:
        call.output.announce(f"Leitstand is ready: {address}")
        if login_link is not None:
            call.output.announce(f"Log in (once, within an hour): {login_link}")

    left = await run_server(call.loaded, announce)
    return ExitCode.FAILURE if left else ExitCode.DONE
