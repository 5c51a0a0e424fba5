"""One look for every figure: colours that keep apart in grey, a mark per estimator, fonts as paths.

The only place that imports Matplotlib. The palette is known to page.py, which lets a figure follow
the reader's light or dark page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, PAPER = "#1c2330", "#667085", "#e4e7ec", "#ffffff"
EXACT, RIEMANN, PRINTED, OTHER = "#175cd3", "#e8710a", "#1c2331", "#0e9384"
"""Dark, light, ink and middle: distinct without hue too. (PRINTED is ink to the eye.)"""

ON_LIGHT, ON_DARK = "#101010", "#fefefe"
"""Words on coloured cells, which do not change with the page."""

EXACT_MARK: Mapping[str, Any] = {"color": EXACT, "marker": "o", "linestyle": "-"}
RIEMANN_MARK: Mapping[str, Any] = {"color": RIEMANN, "marker": "s", "linestyle": "--"}
PRINTED_MARK: Mapping[str, Any] = {
    "color": PRINTED,
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
OTHER_MARK: Mapping[str, Any] = {"color": OTHER, "marker": "^", "linestyle": ":"}
POPULATION_LINE: Mapping[str, Any] = {"color": MUTED, "linestyle": "-", "linewidth": 1.2}

RC: dict[Any, Any] = {
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
    """Fail early and clearly when figures are wanted and cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlotExtraError(
            "figures need Matplotlib: pip install 'dkmd[plot]' (tables alone do not: "
            "--only table1,table2,table3)"
        ) from error


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save figures inside this."""
    import matplotlib

    with matplotlib.rc_context(RC):
        yield


def panels(
    width: float, height: float, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, row by row, sized in inches; no window, no global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def svg(figure: Figure) -> str:
    """The figure as an SVG document, without a date."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def png(figure: Figure) -> bytes:
    """The figure as pixels, 160 to the inch."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()
