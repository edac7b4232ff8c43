"""`leitstand demo`: something to look at before anything of one's own is configured."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from leitstand.app.control import open_control
from leitstand.app.integrity_wiring import demonstration
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation

app = Commands("demo", "A demonstration with planted faults, to see them found.")


@app.command("archive")
async def archive(
    call: Invocation,
    remove: Annotated[bool, typer.Option("--remove", help="Take it away again.")] = False,
) -> None:
    """Set up a small document store with missing, orphaned and corrupted objects."""
    demo = demonstration(call.settings)
    async with open_control(call.loaded) as control:
        if remove:
            existed = await demo.remove(control.database)
            said = "The demonstration is gone." if existed else "There was no demonstration."
            call.output.show({"removed": existed}, said)
            return
        made = await demo.set_up(control.database)
    call.output.show({**made, "try": _commands(call)}, _story(call, made))


def _commands(call: Invocation) -> list[str]:
    """What finds the faults; with --demo where other objects are configured."""
    option = " --demo" if call.settings.objects.store.get_secret_value() else ""
    return [f"leitstand reconcile{option}", f"leitstand scrub --sample 100{option}"]


def _story(call: Invocation, made: Mapping[str, Any]) -> str:
    planted = made["planted"]
    lines = [
        f"{made['documents']} documents with {made['revisions']} revisions: the rows are in"
        f" {made['table']} of the control database,",
        f"the objects in {made['store']}. Planted:",
        *(f"  missing    {key}" for key in planted["missing"]),
        *(f"  orphaned   {key}" for key in planted["orphaned"]),
        *(f"  corrupted  {key}" for key in planted["corrupted"]),
        "See them found:",
        *(f"  {command}" for command in _commands(call)),
        "And take it all away again: leitstand demo archive --remove",
    ]
    return "\n".join(lines)
