"""Makes pages from templates, each with a policy that allows what it needs and nothing else."""

from importlib.resources import files

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from leitstand import __version__
from leitstand.access import Caller
from leitstand.alerts import written_labels
from leitstand.display import age, moment, seconds, size
from leitstand.json_document import to_line
from leitstand.notifications import shown_recipient
from leitstand.web.security_headers import policy_for


class Pages:
    """The templates."""

    def __init__(self) -> None:
        self._templates = _templates()

    def show(
        self, request: Request, name: str, caller: Caller | None, code: int = 200, **shown: object
    ) -> HTMLResponse:
        """The page that the template makes of ``shown``; ``caller`` decides about the buttons."""
        template = self._templates.get_template(name)
        text = template.render(version=__version__, caller=caller, path=request.url.path, **shown)
        return HTMLResponse(text, code, {"Content-Security-Policy": policy_for(text)})


def pages_of(request: Request) -> Pages:
    """The application's templates."""
    pages: Pages = request.app.state.pages
    return pages


def _templates() -> Environment:
    folder = files("leitstand.web") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(age=age, moment=moment, seconds=seconds, size=size)
    environment.filters.update(labels=written_labels, recipient=shown_recipient, json=to_line)
    return environment
