"""One look for every figure: colours distinct in grey, a mark per estimator, text as paths.

Only this package's figures need Matplotlib, and it is imported on first use. The colours come from
the palette of the pages, so page.py can let a figure follow a dark page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from dkmd.render.figures.colours import ESTIMATORS_LIGHT, LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {name: LIGHT[name] for name in ("ink", "muted", "line", "paper")} | ESTIMATORS_LIGHT
"""The colours of figures by their names in the palette."""

INK, MUTED, GRID, PAPER = (COLOURS[name] for name in ("ink", "muted", "line", "paper"))
EXACT, RIEMANN, PRINTED, OTHER = (
    COLOURS[name] for name in ("exact", "riemann", "printed", "other")
)

ON_LIGHT, ON_DARK = "#101010", "#fefefe"
"""Text on coloured cells, which stay the same on a dark page."""


class Mark(TypedDict, total=False):
    """How Matplotlib draws a line and its points."""

    color: str
    marker: str
    linestyle: str
    linewidth: float
    markersize: float
    markerfacecolor: str
    markeredgewidth: float


EXACT_MARK: Mark = {"color": EXACT, "marker": "o", "linestyle": "-"}
RIEMANN_MARK: Mark = {"color": RIEMANN, "marker": "s", "linestyle": "--"}
PRINTED_MARK: Mark = {
    "color": PRINTED,
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
OTHER_MARK: Mark = {"color": OTHER, "marker": "^", "linestyle": ":"}
POPULATION_LINE: Mark = {"color": MUTED, "linestyle": "-", "linewidth": 1.2}

RC: dict[Any, Any] = {  # Matplotlib's keys are a list of literals that differs by version
    "svg.fonttype": "path",
    "svg.hashsalt": "dkmd",  # the same figure gives the same file
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "legend.frameon": False,
    "lines.markersize": 5.0,
    "lines.linewidth": 1.6,
    "errorbar.capsize": 3.0,
}


class PlotExtraError(ImportError):
    """Matplotlib is not installed."""


def require_matplotlib() -> None:
    """Raise a clear error if Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlotExtraError(
            "figures need Matplotlib: pip install 'dkmd[plot]' (tables alone do not: "
            "--only table1,table2,table3)"
        ) from error


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures are drawn and saved in this look."""
    import matplotlib

    with matplotlib.rc_context(RC):
        yield


def panels(
    width: float,
    height: float,
    columns: int = 1,
    rows: int = 1,
    sharey: bool | Literal["row"] = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` × ``columns`` panels, sized in inches; no window, no global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(axes.flat)


def svg(figure: Figure) -> str:
    """The figure as an SVG document, without a date."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def png(figure: Figure) -> bytes:
    """The figure as PNG with 160 pixels per inch."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()
