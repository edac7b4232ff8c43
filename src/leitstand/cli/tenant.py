"""`leitstand tenant`: tenants, each with a database of its own."""

from typing import Annotated

import typer

from leitstand.app.control import open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.output import details
from leitstand.cli.table import Table
from leitstand.display import moment

app = Commands("tenant", "Tenants with their databases: create, list and delete them.")

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The tenant's slug.")]


@app.command("create")
async def create(
    call: Invocation,
    slug: Slug,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tenant's name, for people.")],
) -> None:
    """Create a tenant and its database."""
    async with open_control(call.loaded) as control:
        tenant = await control.core.provisioner.provision(slug, name)
    call.output.show(tenant.as_dict(), details(tenant.as_dict().items()))


@app.command("list")
async def list_tenants(call: Invocation) -> None:
    """List all tenants, also those that are being made or deleted."""
    async with open_control(call.loaded) as control:
        tenants = await control.core.tenants.list_all()
    columns = ("tenant", "name", "database", "status", "created (UTC)")
    rows = [(t.slug, t.name, t.database, t.status.value, moment(t.created_at)) for t in tenants]
    table = Table(columns, rows, empty="No tenants.")
    call.output.show([tenant.as_dict() for tenant in tenants], table)


@app.command("delete")
async def delete(call: Invocation, slug: Slug) -> None:
    """Delete a tenant and, after `tenants.delete_after`, its database for ever."""
    async with open_control(call.loaded) as control:
        tenant = await control.core.provisioner.delete(slug)
        gone = tenant.mark not in {each.mark for each in await control.core.tenants.list_all()}
    document = {**tenant.as_dict(), "deleted": gone}
    when = "gone" if gone else f"dropped at {moment(tenant.drop_at)} UTC by the control server"
    call.output.show(document, f"Tenant {slug} is deleted; its database is {when}.")
