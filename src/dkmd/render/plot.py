"""Comparisons drawn by matplotlib, with the curves, axes and colours of the page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dkmd.base.arrays import Array
from dkmd.base.wording import amount
from dkmd.inference.test.result import DkmdResult
from dkmd.render.figures.colours import LIGHT
from dkmd.render.figures.curves import Curves, SampleCurves, can_be_drawn, curves_of
from dkmd.render.figures.drawings import colour_of
from dkmd.render.figures.forest import ForestAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("density", "cdf")


def plot_pair(
    result: DkmdResult,
    labels: tuple[str, str],
    verdict: str,
    unit: str = "",
    ax: Axes | None = None,
    kind: str = "density",
    values: tuple[Array, Array] | None = None,
) -> Axes:
    """Both distributions, their medians, and the shift as an arrow."""
    if kind not in KINDS:
        raise ValueError(f"kind must be 'density' or 'cdf', got {kind!r}")
    outcome = result.outcome()
    if not can_be_drawn(outcome):
        raise ValueError("there is nothing to plot: the samples could not be compared")
    axes = _new_axes(7.0, 3.8) if ax is None else ax
    curves = curves_of(outcome, values)
    colours = (LIGHT["reference"], LIGHT[colour_of(verdict)])
    draw = _densities if kind == "density" else _shares
    draw(axes, curves, colours, labels)
    top = 1.04 if kind == "density" else 1.0
    for shape, colour in zip((curves.reference, curves.current), colours, strict=True):
        if math.isfinite(shape.median):
            at = curves.origin + shape.median
            axes.plot([at, at], [0.0, top], color=colour, linestyle=":", linewidth=1.25)
    if kind == "density":
        _arrow(axes, curves, colours[1], unit)
    _dress(axes, curves)
    return axes


def _new_axes(width: float, height: float) -> Axes:
    """Axes in a figure of their own."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'dkmd[plot]'") from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


class ForestLine(NamedTuple):
    """One row of a forest plot: a name, a verdict, and a shift with its interval."""

    name: str
    verdict: str
    middle: float
    interval: tuple[float, float]


def plot_forest(
    lines: Sequence[ForestLine], unit: str, margin: float = 0.0, ax: Axes | None = None
) -> Axes:
    """A row per line on one axis, with zero and the margin, as on the page."""
    known = [each for each in lines if math.isfinite(each.middle)]
    if not known:
        raise ValueError("there is nothing to plot: no row has a shift")
    axes = _new_axes(7.0, 0.9 + 0.28 * len(known)) if ax is None else ax
    ends = [[abs(v) for v in (e.middle, *e.interval) if math.isfinite(v)] for e in known]
    reach = ForestAxis.of([max(margin, *each) for each in ends])
    for at, each in enumerate(known):
        colour = LIGHT[colour_of(each.verdict)]
        low, high = (min(max(end, -reach.extent), reach.extent) for end in each.interval)
        axes.plot([low, high], [at, at], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([each.middle], [at], "o", color=colour, markersize=5)
    if margin > 0.0:
        axes.axvspan(-margin, margin, color=LIGHT["band"], linewidth=0, zorder=0)
    axes.axvline(0.0, color=LIGHT["muted"], linewidth=0.9, zorder=1)
    if math.isfinite(reach.bend):
        axes.set_xscale("asinh", linear_width=reach.bend)
    axes.set(xlim=(-reach.extent, reach.extent), xlabel=unit, ylim=(len(known) - 0.5, -0.5))
    axes.set_yticks(range(len(known)), [each.name.replace("$", r"\$") for each in known])
    _plain(axes)
    axes.spines["left"].set_visible(False)
    return axes


def _densities(
    axes: Axes, curves: Curves, colours: tuple[str, str], labels: tuple[str, str]
) -> None:
    """Densities on one common scale; atoms as bars whose height is their share."""
    sides = (curves.reference, curves.current)
    peak = max(float(shape.density.max()) for shape in sides)
    most = max((float(s.atoms.share.max()) for s in sides if s.atoms.at.size), default=0.0)
    height = 1.0 / (peak * (1.8 if most else 1.0)) if peak > 0.0 else 0.0
    x = curves.origin + curves.x
    for shape, colour, label, aside in zip(sides, colours, labels, (-1.0, 1.0), strict=True):
        if peak > 0.0:
            axes.fill_between(x, height * shape.density, color=colour, alpha=0.18, linewidth=0)
            axes.plot(x, height * shape.density, color=colour, linewidth=1.6, label=label)
        if shape.atoms.at.size:
            _bars(axes, curves, shape, most, colour, aside, "" if peak > 0.0 else label)
    axes.set(ylim=(0.0, 1.18), yticks=())
    axes.spines["left"].set_visible(False)


def _bars(
    axes: Axes,
    curves: Curves,
    shape: SampleCurves,
    most: float,
    colour: str,
    aside: float,
    label: str,
) -> None:
    step = 0.006 * (curves.high - curves.low) * aside
    axes.vlines(
        curves.origin + shape.atoms.at + step,
        0.0,
        shape.atoms.share / most,
        color=colour,
        linewidth=4.0,
        label=label,
    )


def _shares(axes: Axes, curves: Curves, colours: tuple[str, str], labels: tuple[str, str]) -> None:
    """The share of values up to each value."""
    sides = (curves.reference, curves.current)
    for shape, colour, label in zip(sides, colours, labels, strict=True):
        x, share = shape.steps
        axes.plot(curves.origin + x, share, color=colour, linewidth=1.6, label=label)
    axes.set(ylabel="share of values up to here", ylim=(0.0, 1.0))
    axes.grid(axis="y", color=LIGHT["line"])
    axes.set_axisbelow(True)


def _arrow(axes: Axes, curves: Curves, colour: str, unit: str) -> None:
    """An arrow of the length of the shift from the reference's median, with the amount above."""
    start = curves.origin + curves.reference.median
    end = start + curves.shift
    if not math.isfinite(end):
        return
    looks = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(end, 1.04), xytext=(start, 1.04), arrowprops=looks)
    axes.annotate(
        amount(curves.shift, unit),
        xy=(0.5 * (start + end), 1.08),
        color=colour,
        fontweight="bold",
        ha="center",
    )


def entitle(axes: Axes, text: str) -> None:
    """A wrapped title. Matplotlib wraps at the width of the figure, not of the axes."""
    width = axes.get_position().width * axes.figure.bbox.width / axes.figure.dpi  # inches
    lines = textwrap.wrap(text, max(20, round(LETTERS_PER_INCH * width)))
    axes.set_title("\n".join(lines), fontsize="small", loc="left")


LETTERS_PER_INCH = 15.0
"""How many letters of a small title fit into an inch."""


def _dress(axes: Axes, curves: Curves) -> None:
    """Light axes without a frame, and a legend."""
    axes.set_xlim(curves.origin + curves.low, curves.origin + curves.high)
    _plain(axes)
    axes.legend(frameon=False, loc="best")


def _plain(axes: Axes) -> None:
    """Light axes without a frame."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(color=LIGHT["line"], labelcolor=LIGHT["muted"])
    for spine in axes.spines.values():
        spine.set_color(LIGHT["line"])
