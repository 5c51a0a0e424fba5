"""HTML by templates: one environment for the report, the paper's page and notebooks.

Every text is escaped by the environment. ``ours`` is the only way around that, for markup that
this package made itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dkmd.render.figures.svg import clean

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def environment(*packages: str) -> Environment:
    """The templates of some packages, then those of the report, which others extend."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "dkmd.render.report")]),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_fit,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(templates: Environment, name: str, **content: object) -> str:
    """One template, filled."""
    text = templates.get_template(name).render(content)
    # a browser would read a bare carriage return as a line feed; only text from data has one
    return text.replace("\r", "&#13;")


def ours(text: str) -> Markup:
    """SVG, style or script that this package made: the only text that is not escaped."""
    from markupsafe import Markup

    return Markup(text)


def _fit(value: object) -> object:
    """Text without characters that no page can hold; the environment escapes it afterwards."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return clean(value)
    return value
