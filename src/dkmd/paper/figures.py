"""The figures, each from the result of its experiment. How they look is in style.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dkmd.base.arrays import Array
from dkmd.paper import consistency, figure4, printed, scaling, table1, table2, table3, theorems
from dkmd.paper.report import text
from dkmd.paper.style import (
    EXACT,
    EXACT_MARK,
    INK,
    MUTED,
    ON_DARK,
    ON_LIGHT,
    OTHER,
    OTHER_MARK,
    POPULATION_LINE,
    PRINTED_MARK,
    RIEMANN,
    RIEMANN_MARK,
    Mark,
    panels,
    styled,
)
from dkmd.paper.trials import MeanSd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def location_and_scale(rows: Sequence[table1.Table1Row]) -> Figure:
    """Figure 1: DKMD responds to location but not to scale; MMD² responds to both."""
    with styled():
        figure, axes = panels(9.0, 6.2, 2, 2, sharey="row")
        grid = [axes[:2], axes[2:]]
        for column, (kind, label) in enumerate(
            (("Location", "shift of Q, μ (sd of P)"), ("Scale", "spread of Q, s (sd of P)"))
        ):
            own = [row for row in rows if row.printed.kind == kind]
            at = np.array([row.printed.parameter for row in own])
            gap = 0.03 * (at[-1] - at[0])
            signed, unsigned = grid[0][column], grid[1][column]
            signed.axhline(0.0, color=MUTED, linewidth=0.8)
            signed.plot(at, [r.population for r in own], **POPULATION_LINE, label="population")
            _bars(signed, at, [r.exact for r in own], "exact", EXACT_MARK)
            _bars(signed, at + gap, [r.riemann for r in own], "riemann", RIEMANN_MARK)
            _bars(signed, at + 2 * gap, [r.printed.dkmd for r in own], "paper", PRINTED_MARK)
            _bars(unsigned, at, [r.mmd2 for r in own], "MMD², ours", OTHER_MARK)
            _bars(unsigned, at + gap, [r.printed.mmd2 for r in own], "MMD², paper", PRINTED_MARK)
            unsigned.set_xlabel(label)
            for axis in (signed, unsigned):
                axis.set_xticks(at)
        grid[0][0].set_title("DKMD follows a shift, with its sign …")
        grid[0][1].set_title("… and ignores a change of spread")
        grid[1][0].set_title("MMD² grows with a shift …")
        grid[1][1].set_title("… and with the spread, and has no sign")
        grid[0][0].set_ylabel("DKMD, mean ± sd")
        grid[1][0].set_ylabel("MMD², mean ± sd")
        grid[0][0].legend(loc="lower left")
        grid[1][0].legend(loc="upper left")
        return figure


def outliers(rows: Sequence[table2.Table2Row]) -> Figure:
    """Figure 2: standard deviation and wrong signs by the number of outliers, for each reading."""
    statistics = (
        ("exact", "exact", EXACT_MARK),
        ("riemann", "riemann", RIEMANN_MARK),
        ("mean difference", "mean_difference", OTHER_MARK),
    )
    at, minor = _positions(rows)
    with styled():
        figure, (spread, wrong) = panels(10.4, 4.6, 2)
        for i, (label, field, mark) in enumerate(statistics):
            of: list[table2.Statistic] = [getattr(row, field) for row in rows]
            low, high = np.array([s.sd_of_runs for s in of]).T
            middle = np.sqrt(low * high)
            style: Mark = {**mark, "linestyle": "none", "markersize": 4.5}
            place = at + 0.06 * (i - 1)
            bars = [middle - low, high - middle]
            spread.errorbar(place, middle, yerr=bars, elinewidth=1.2, capsize=2, **style)
            wrong.plot(place, [100.0 * s.wrong_sign for s in of], label=label, **style)
        for group, row in enumerate(printed.TABLE_2):
            reach = (group - 0.45, group + 0.45)
            name = "paper’s standard deviation of DKMD" if group == 0 else None
            spread.plot(reach, [row.dkmd.sd] * 2, color=INK, linewidth=1.2, label=name)
        run = rows[0].exact.spread.trials // table2.RUNS
        spread.set_yscale("log")
        spread.set_ylabel(f"standard deviation of {run} trials")
        spread.set_title(f"Spread, smallest to largest of {table2.RUNS} runs")
        wrong.set_ylabel("trials with the wrong sign (%)")
        wrong.set_title("Wrong direction")
        for axis in (spread, wrong):
            axis.set_xticks(range(4), [f"k = {row.k}" for row in printed.TABLE_2])
            axis.set_xticks(list(minor), list(minor.values()), minor=True, fontsize=6.5)
            axis.tick_params(axis="x", which="major", pad=18, length=0)
            axis.set_xlabel("outliers, and the sample that has them")
            axis.grid(False, axis="x")
        figure.legend(loc="outside lower center", ncols=4)
        return figure


def _positions(rows: Sequence[table2.Table2Row]) -> tuple[Array, dict[float, str]]:
    """The position of each row (grouped by k, then by reading), and the names of readings."""
    ks = [row.k for row in printed.TABLE_2]
    readings = list(table2.READINGS)
    at, names = [], {}
    for row in rows:
        offset = 0.24 * (readings.index(row.reading) - 1.5) if row.reading else 0.0
        at.append(ks.index(row.printed.k) + offset)
        if row.reading:
            names[at[-1]] = row.reading.removeprefix("of ")
    return np.array(at), names


def sensitivity(rows: Sequence[table3.Table3Row]) -> Figure:
    """Figure 3: the Riemann estimator, the population value, and their ratio."""
    shape = (len(printed.WIDTHS), len(printed.WIDTHS))  # σ down, τ across, in the order of the rows
    riemann = np.array([row.riemann.mean for row in rows]).reshape(shape)
    truth = np.array([row.population for row in rows]).reshape(shape)
    with styled():
        figure, (found, there, share) = panels(10.4, 3.9, 3, sharey=True)
        deepest = float(-truth.min())
        _map(found, -riemann, "YlGnBu", deepest, lambda v: text(-v, ".2f"))
        _map(there, -truth, "YlGnBu", deepest, lambda v: text(-v, ".2f"))
        _map(share, riemann / truth, "Oranges_r", 1.2, lambda v: f"{v:.0%}")
        found.set_title("DKMD by riemann, the paper’s map")
        there.set_title("DKMD of the population")
        share.set_title("riemann as a share of it")
        found.set_ylabel("width of the kernel, σ (sd of P)")
        return figure


def _map(
    axis: Axes, values: Array, colours: str, top: float, words: Callable[[float], str]
) -> None:
    """A cell for each σ and τ, coloured from 0 to ``top``, with its number."""
    import matplotlib

    palette = matplotlib.colormaps[colours]
    axis.pcolormesh(values, cmap=palette, vmin=0.0, vmax=top, edgecolors="white", linewidth=1)
    for (i, j), value in np.ndenumerate(values):
        red, green, blue, _ = palette(value / top)
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
        colour = ON_LIGHT if light else ON_DARK
        axis.text(j + 0.5, i + 0.5, words(value), color=colour, ha="center", va="center")
    ticks = np.arange(len(printed.WIDTHS)) + 0.5
    axis.set_xticks(ticks, [f"{width:g}" for width in printed.WIDTHS])
    axis.set_yticks(ticks, [f"{width:g}" for width in printed.WIDTHS])
    axis.set_xlabel("width of the weight, τ (sd of P)")
    axis.grid(False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def sliding(rows: Sequence[figure4.Figure4Row]) -> Figure:
    """Figure 4: the whole curve from −2 to 2."""
    with styled():
        figure, (axis,) = panels(6.4, 4.2)
        at = np.array([row.shift for row in rows])
        axis.axhline(0.0, color=MUTED, linewidth=0.8)
        axis.axvline(0.0, color=MUTED, linewidth=0.8)
        axis.plot(at, [r.population for r in rows], color=INK, linewidth=1.2, label="population")
        for label, field, mark in (
            ("exact", "exact", EXACT_MARK),
            ("riemann", "riemann", RIEMANN_MARK),
        ):
            of = [getattr(row, field) for row in rows]
            mean, sd = np.array([s.mean for s in of]), np.array([s.sd for s in of])
            style: Mark = {**mark, "linestyle": "none", "markersize": 4.0}
            axis.fill_between(
                at, mean - sd, mean + sd, color=mark["color"], alpha=0.18, linewidth=0
            )
            axis.plot(at, mean, label=f"{label}, mean ± sd", **style)
        axis.set_xlabel("shift of Q, μ (sd of P)")
        axis.set_ylabel("DKMD(P, Q)")
        axis.set_title("The further Q moves up, the lower DKMD: smooth, through the origin")
        axis.annotate(
            "P is larger", (0.02, 0.54), xycoords="axes fraction", color=MUTED, va="bottom"
        )
        axis.annotate(
            "Q is larger", (0.98, 0.46), xycoords="axes fraction", color=MUTED, ha="right", va="top"
        )
        axis.legend(loc="upper right")
        return figure


_METHOD_MARKS: dict[str, Mark] = {
    "exact": {"color": EXACT, "marker": "o", "linestyle": "-"},
    "riemann": {"color": RIEMANN, "marker": "s", "linestyle": "-"},
    "Algorithm 1 as printed": {"color": RIEMANN, "marker": "D", "linestyle": "--"},
    "quadratic formula": {"color": INK, "marker": "x", "linestyle": "-"},
    "SciPy t-test (Welch)": {"color": OTHER, "marker": "^", "linestyle": "-"},
    "SciPy Mann–Whitney": {"color": OTHER, "marker": "v", "linestyle": "--"},
    "SciPy Kolmogorov–Smirnov": {"color": OTHER, "marker": "P", "linestyle": ":"},
}


def growth(rows: Sequence[scaling.ScalingRow]) -> Figure:
    """Scaling: time and memory on log axes."""
    with styled():
        figure, (seconds, memory) = panels(9.6, 4.6, 2)
        for row in rows:
            mark = _METHOD_MARKS[row.method]
            sizes = [m.size for m in row.measured]
            slope = "" if np.isnan(row.slope) else f" (slope {row.slope:.2f})"
            seconds.plot(sizes, [m.seconds for m in row.measured], label=row.method + slope, **mark)
            seen = [(m.size, m.mebibytes) for m in row.measured if m.mebibytes >= 0.1]
            memory.plot([s for s, _ in seen], [mib for _, mib in seen], **mark)
        for axis in (seconds, memory):
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel("values in both samples")
            axis.set_xlim(6e2, 2e8)
        seconds.axhline(1.0, color=MUTED, linewidth=0.8)
        seconds.annotate("1 s", (7e2, 1.15), color=MUTED)
        seconds.set_ylabel("time (s)")
        seconds.set_title("Time")
        memory.set_ylabel("peak memory beyond the inputs (MiB)")
        memory.set_title("Memory (from 0.1 MiB)")
        figure.legend(loc="outside lower center", ncols=3)
        return figure


def convergence(rows: Sequence[consistency.ConsistencyRow]) -> Figure:
    """Consistency: bias and spread by sample size, one panel per kernel width."""
    with styled():
        figure, axes = panels(9.0, 4.2, 2, sharey=True)
        for axis, sigma in zip(axes, sorted({row.sigma for row in rows}), strict=True):
            own = [row for row in rows if row.sigma == sigma]
            n = np.array([row.n for row in own])
            axis.plot(
                n, [abs(r.riemann_bias) for r in own], **RIEMANN_MARK, label="riemann, |bias|"
            )
            dotted: Mark = {**RIEMANN_MARK, "linestyle": ":", "markerfacecolor": "none"}
            axis.plot(n, [row.riemann.sd for row in own], **dotted, label="riemann, sd")
            axis.plot(n, [row.exact.sd for row in own], **EXACT_MARK, label="exact, sd")
            chance: Mark = {**EXACT_MARK, "linestyle": "none", "markerfacecolor": "none"}
            axis.plot(
                n, [abs(r.exact_bias) for r in own], **chance, label="exact, |bias| (chance alone)"
            )
            guide = own[0].exact.sd * np.sqrt(n[0] / n)
            axis.plot(n, 0.35 * guide, color=MUTED, linewidth=0.8, linestyle="-.")
            axis.annotate("1/√n", (n[2], 0.2 * guide[2]), color=MUTED, ha="right", va="top")
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel("values in either sample, n")
            axis.set_title(f"σ = {sigma:g}, τ = 1: population value {text(own[0].population)}")
        axes[0].set_ylabel("bias and standard deviation (units of DKMD)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure


def departures(result: theorems.Theorems) -> Figure:
    """The three flaws: the range ends, steps are one-sided, an outlier sets its own weight."""
    with styled():
        figure, (ends, steps, lone) = panels(11.0, 4.0, 3)
        of = result.witness
        ends.plot(of.z, of.psi, color=EXACT, label=r"$\psi$ (exact)")
        ends.plot(of.z, of.psi_hat, color=RIEMANN, linestyle="--", label=r"$\hat\psi$ (riemann)")
        ends.set_xlabel("value in the pooled sample (sd of P)")
        ends.set_ylabel("what the value counts as")
        ends.set_title(f"The sum stops with the data (σ = {of.sigma:g})")
        ends.legend(loc="upper left")

        immunity = next(p for p in result.properties if "immunity" in p.theorem)
        steps.hist(
            immunity.riemann,
            bins=40,
            color=RIEMANN,
            edgecolor="white",
            linewidth=0.5,
            label="riemann",
        )
        steps.axvline(0.0, color=EXACT, linewidth=2.0, label="exact: 0 every time")
        steps.set_xlabel("DKMD of two samples symmetric about 0")
        steps.set_ylabel("pairs of samples")
        steps.set_title("Steps look to one side only")
        steps.margins(y=0.25)
        steps.legend(loc="upper right")

        at = [o.at for o in result.outliers]
        lone.plot(
            at, [o.psi_hat for o in result.outliers], **RIEMANN_MARK, label=r"$\hat\psi$ (riemann)"
        )
        lone.plot(at, [o.psi for o in result.outliers], **EXACT_MARK, label=r"$\psi$ (exact)")
        lone.axhline(theorems.PSI.bound, color=MUTED, linewidth=0.8)
        lone.annotate("2σ, the bound", (at[-1], 2.6), color=MUTED, ha="right")
        lone.set_xscale("log")
        lone.set_yscale("log")
        lone.set_xlabel("position of one outlier (sd of P)")
        lone.set_ylabel("what the outlier counts as")
        lone.set_title("An outlier sets its own step")
        lone.legend(loc="upper left")
        return figure


def _bars(axis: Axes, at: Array, values: Sequence[MeanSd], label: str, mark: Mark) -> None:
    """Means with their standard deviations, not joined by lines."""
    style: Mark = {**mark, "linestyle": "none"}
    axis.errorbar(at, [v.mean for v in values], yerr=[v.sd for v in values], label=label, **style)
