"""`leitstand token`: who may use the HTTP interface."""

from typing import Annotated

import typer

from leitstand.access import Role
from leitstand.app.control import open_control
from leitstand.app.login import LINK_LIFETIME, login_link
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.display import moment, seconds
from leitstand.duration import parse_duration

app = Commands("token", "Tokens for the API and links to log in: create, list, revoke.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")]
RoleOption = Annotated[
    Role, typer.Option("--role", help="viewer sees, operator runs and cancels, admin changes.")
]


@app.command("create")
async def create(
    call: Invocation,
    name: Name,
    role: RoleOption,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="D", help='Valid for so long, as "90d".')
    ] = None,
) -> None:
    """Make a token, and print it: it is shown this once."""
    valid_for = None if expires is None else parse_duration(expires)
    async with open_control(call.loaded) as control:
        token, secret = await control.access.create_token(name, role, call.user, valid_for)
    call.output.note(f"The token of {name}, with the role {role}. It is not shown again.")
    call.output.show({**token.as_dict(), "token": secret}, secret)


@app.command("list")
async def list_tokens(call: Invocation) -> None:
    """List all tokens; what they are is not stored."""
    async with open_control(call.loaded) as control:
        tokens = await control.access.list_tokens()
    columns = ("token", "role", "created (UTC)", "by", "expires (UTC)", "last used", "revoked")
    rows = [
        (
            token.name,
            token.role.value,
            moment(token.created_at),
            token.created_by,
            moment(token.expires_at),
            moment(token.last_used_at),
            moment(token.revoked_at),
        )
        for token in tokens
    ]
    call.output.show(
        [token.as_dict() for token in tokens], Table(columns, rows, empty="No tokens.")
    )


@app.command("revoke")
async def revoke(call: Invocation, name: Name) -> None:
    """End a token now, with the logins that were made by it."""
    async with open_control(call.loaded) as control:
        token = await control.access.revoke_token(name)
    call.output.show(token.as_dict(), f"Token {name} is revoked.")


@app.command("login")
async def login(call: Invocation, role: RoleOption = Role.ADMIN) -> None:
    """Print a link that logs one browser in, once."""
    async with open_control(call.loaded) as control:
        link = await login_link(control, role, call.user)
    call.output.note(f"It works once, within {seconds(LINK_LIFETIME)}.")
    call.output.show({"link": link, "role": role.value}, link)
