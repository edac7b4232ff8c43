"""`leitstand module`: registered modules, remote agents among them, and their credentials."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment
from leitstand.duration import parse_duration
from leitstand.errors import UsageError
from leitstand.modules import CredentialInfo

app = Commands("module", "Modules and remote agents: register them, issue credentials.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The module's name.")]


@app.command("register")
async def register(
    call: Invocation,
    name: Name,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The module's version.")],
    flags: Annotated[
        list[str] | None, typer.Option("--flag", help="A flag that must be on; may be repeated.")
    ] = None,
) -> None:
    """Register a module, or update version and flags of one."""
    async with open_control(call.loaded) as control:
        module = await control.modules.register(name, version, flags or ())
    call.output.show(module.as_dict(), f"Module {name} {version} is registered.")


@app.command("list")
async def list_modules(call: Invocation) -> None:
    """List all modules and their credentials."""
    async with open_control(call.loaded) as control:
        modules = await control.modules.list_all()
        credentials = await control.credentials.list_all()
    documents: list[dict[str, Any]] = []
    rows = []
    for module in modules:
        own = [each for each in credentials if each.module == module.name]
        documents.append({**module.as_dict(), "credentials": [each.as_dict() for each in own]})
        flags = ", ".join(module.required_flags)
        rows += [(module.name, module.version, flags, *shown) for shown in _shown(own)]
    columns = ("module", "version", "flags", "client id", "state", "last used (UTC)")
    call.output.show(documents, Table(columns, rows, empty="No modules."))


@app.command("active")
async def active(
    call: Invocation,
    name: Name,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="For whom.")],
) -> None:
    """Say whether a module is active for a tenant: registered, and all its flags on."""
    async with open_control(call.loaded) as control:
        state = await control.core.activation.is_active(tenant, name)
    document = {"module": name, "tenant": tenant, "active": state}
    call.output.show(document, f"{name} is {'' if state else 'not '}active for {tenant}.")


@app.command("delete")
async def delete(call: Invocation, name: Name) -> None:
    """Delete a module and its credentials; its metrics leave ours from the next scrape on."""
    async with open_control(call.loaded) as control:
        await control.modules.delete(name)
    call.output.show({"deleted": name}, f"Module {name} is deleted.")


@app.command("source")
async def source(
    call: Invocation,
    name: Name,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="Where it shows its metrics.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="It shows none any more.")] = False,
) -> None:
    """Register the URL of a module's metrics, which join ours from the next scrape on."""
    if (url is None) != none:
        raise UsageError("give either a URL or --none")
    async with open_control(call.loaded) as control:
        module = await control.modules.set_source(name, url)
    where = f"at {url}" if url else "nowhere"
    call.output.show(module.as_dict(), f"The metrics of {name} are {where}.")


@app.command("credential")
async def credential(
    call: Invocation,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The module's name.")] = None,
    keep_old: Annotated[
        str, typer.Option("--keep-old", metavar="TIME", help='How long the old one stays: "1h".')
    ] = "0s",
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help='Until it ends: "90d".')
    ] = None,
    revoke: Annotated[
        str | None, typer.Option("--revoke", metavar="CLIENT_ID", help="End this one instead.")
    ] = None,
) -> None:
    """Make the module's new credential in place of its old one; the secret is shown only now."""
    if (name is None) == (revoke is None):
        raise UsageError("give either the name of a module or --revoke CLIENT_ID")
    async with open_control(call.loaded) as control:
        if revoke is not None:
            ended = await control.credentials.revoke(revoke)
            call.output.show(ended.as_dict(), f"The credential of {ended.module} is revoked.")
            return
        made = await control.credentials.provision(
            str(name),
            keep_old=parse_duration(keep_old),
            expires_in=None if expires is None else parse_duration(expires),
        )
    document = {"client_id": made.client_id, "secret": made.secret}
    call.output.show(document, details(document.items()))
    call.output.note("Keep the secret now: it is stored nowhere and not shown again.")


def _shown(credentials: Sequence[CredentialInfo]) -> list[tuple[str, str, str]]:
    return [(c.client_id, _state(c), moment(c.last_used_at)) for c in credentials] or [
        ("", "no credential", "")
    ]


def _state(credential: CredentialInfo) -> str:
    if not credential.valid:
        return "ended"
    until = credential.expires_at
    return "valid" if until is None else f"valid until {moment(until)}"
