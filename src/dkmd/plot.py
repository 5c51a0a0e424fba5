"""A picture of one comparison: both distributions and their centres. Needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dkmd.inference import Side
from dkmd.result import DkmdResult, ExactOutcome
from dkmd.sources.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"reference": "#4c72b0", "current": "#c44e52"}


def plot_shares(result: DkmdResult, labels: tuple[str, str], ax: Axes | None = None) -> Axes:
    """The share of values up to each value, for reference and current, and the shift between."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'dkmd[plot]'") from None
    outcome = result.outcome()
    if not isinstance(outcome, ExactOutcome):
        raise ValueError("there is nothing to plot: the samples could not be compared")
    axes: Any = ax if ax is not None else plt.subplots(figsize=(7.0, 4.0), layout="constrained")[1]
    pair = outcome.pair
    after, before = pair.centers()
    sides = (("reference", pair.y, before, labels[0]), ("current", pair.x, after, labels[1]))
    for role, side, center, label in sides:
        values, shares = _steps(side, pair.origin)
        axes.step(values, shares, where="post", color=COLORS[role], label=label)
        axes.axvline(pair.origin + center, color=COLORS[role], linestyle=":", linewidth=1.0)
    reach = 4.0 * outcome.robust_scale + abs(outcome.shift)
    axes.set_xlim(outcome.witness.center - reach, outcome.witness.center + reach)
    axes.set(ylabel="share of values up to here", ylim=(0.0, 1.0))
    axes.legend(frameon=False, loc="lower right")
    return axes  # type: ignore[no-any-return]


def _steps(side: Side, origin: float) -> tuple[Array, Array]:
    """The bins of a side in order, and the share of its values up to each."""
    order = np.argsort(side.offset)
    passed = side.minus_inf + np.cumsum(side.counts[order])
    return origin + side.offset[order], passed / side.size
