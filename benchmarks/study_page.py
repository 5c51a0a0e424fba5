"""The page of the calibration study: charts first, with every table folded below its chart."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from distributions import FAMILIES
from study import ADDED, KEPT, LIMITS, ROOT, SIZES, Cell, Share, keep

import dkmd
from dkmd.render.figures.colours import LIGHT

Cells = Sequence[Cell]


def write(cells: Cells, out: Path, trials: int, minutes: float) -> None:
    """docs/study.md, and its figures in docs/study/."""
    folder = out.with_suffix("")
    folder.mkdir(exist_ok=True)
    _size_chart(_of(cells, "size"), folder / "size.svg")
    _power_chart(_of(cells, "power"), folder / "power.svg")
    _strip_chart(
        _of(cells, "spread"), folder / "spread.svg", "rejected at 5%",
        LIMITS["only spreads differ, at 5 %, 20 values or more in the wider sample"], 0.05,
    )  # fmt: skip
    _strip_chart(
        _of(cells, "coverage"), folder / "coverage.svg", "intervals that contain the truth",
        LIMITS["coverage of 95 % intervals of a shift: at least"], 0.95,
    )  # fmt: skip
    out.write_text(page(cells, trials, minutes))


def page(cells: Cells, trials: int, minutes: float) -> str:
    """The text."""
    first = [c for c in cells if not c.again]
    families = len({c.what for c in _of(first, "size")})
    text = f"""# The calibration study

Does dkmd reject 5% when nothing differs? `make study` tests this for {families} families of data and {len(SIZES)} pairs of sizes, at
three levels, with {trials:,} trials in each cell (dkmd {dkmd.__version__}, {minutes:.0f} minutes of processor time). Other parts
of the study have other numbers of trials; their standard errors show it. One standard error is {_error(0.05, trials)} points for a share
near 5%, {_error(0.01, trials)} near 1% and {_error(0.001, trials)} near 0.1%. Every share in the tables is followed by its standard error. All shares are in percent.

The limits were written down in `benchmarks/study.py` before the run:

{_limits()}

A cell is outside if its whole 99% interval lies beyond a limit. {_verdict(cells)}

## When nothing differs

![The share of false alarms at 5%, 1% and 0.1%, by family and sizes](study/size.svg)

A point is one cell. The lines are the limits. Data with atoms and few values stay below 5%, because few outcomes are possible.
The guard makes the test cautious if one side has far fewer values.

{_folded("Size by family and sizes", _size_table(_of(cells, "size")))}

## When only the spreads differ

x has 2, 4 or 10 times the spread of y, about the same centre, so there is no direction to find. The table has the shares at 5%, 1% and 0.1%. With fewer
than 20 values in the wider sample there is no limit: a few wide values that all fall on one side of the others show no variance. The chart shows 5%.

![The share rejected at 5% when only the spreads differ, by family, sizes and ratio of spreads](study/spread.svg)

{_folded("Share rejected at 5%", _wide_table(_of(cells, "spread")))}

## Do intervals contain the truth?

![The share of 95% intervals that contain the truth, by family and sizes](study/coverage.svg)

{_folded(f"Coverage of 95% intervals of a shift of 1 (± {_error(0.95, trials)})", _by_size(_of(cells, "coverage"), "covered"))}

Where the shapes of both samples differ, the shift is still the same number for every n and m: that of very large samples (2 × 4 million values).
The table shows how often intervals contain it.

{_plain_table(_of(cells, "shapes"))}

{_folded("Equivalence: how often a shift of exactly the margin is called smaller", _plain_table(_of(cells, "equivalence")))}

## Power, compared with peers

![Power of dkmd and of three peers on the same data](study/power.svg)

The effects are chosen to give a power near 70%. Symmetric data are shifted. Positive data are multiplied by a factor, and in rows of their own an
amount is added to them. The tables show the difference from each peer on the same data, with its standard error. {_peers_win(_of(cells, "power"))}

{_folded("Power at 5%, and the difference from each peer", _power_table(_of(cells, "power")))}

## Repeated measurements

These are A/A tests with an intraclass correlation of 0.5; in the column of sizes are the numbers of groups. Groups have 5 values, or lognormally many, or
one group holds half of all values, or groups of the two sides have other sizes. Beside dkmd stands Welch's test of the group means.

{_folded("Size with groups", _plain_table(_of(cells, "groups")))}

Power for a shift of 1 (the values of a group share half of their variance):

{_plain_table(_of(cells, "group power"))}

## Many columns, gates and plans

Drift of 100 columns: the table shows the mean share of false discoveries at a rate of 0.05. Without a margin nothing differs. With a
margin of 0.5, 98 columns moved by exactly the margin and 2 by three times as much.

{_plain_table(_of(cells, "drift"))}

A gate with a margin of 3%, when the times are exactly 3% worse: the table shows alarms and passes at 5%.

{_plain_table(_of(cells, "gate"))}

Sizes were planned for a power of 80% from a pilot of 4,000 values. The table shows the power that samples of these sizes have. In the column
of sizes, 1:0 means equal sizes, and 10:0 means that y is ten times as large.

{_plain_table(_of(cells, "plan"))}

## Does a larger change have a smaller p-value?

As x moves up (or down, in every second data set), p should fall. Once below 0.05 it may rise again a little, because the width of ψ follows the data. The table counts the data
sets in which p rises by more than 5% while above 1e-4.

{_folded("p(x + δ) for growing δ", _plain_table(_of(cells, "monotone")))}
"""
    return _percent(text)


def _percent(text: str) -> str:
    """Write 5%: names in study.json have "5 %", and some of them seed their cells."""
    return re.sub(r"(?<=\d) %", "%", text)


def _verdict(cells: Cells) -> str:
    """How many cells were outside their limits, at first and when run again."""
    first = [c for c in cells if not c.again]
    outside = [c for c in first if c.outside]
    if not outside:
        return f"None of the {len(first)} cells was outside its limits."
    still = [c for c in cells if c.again and c.outside]
    return (
        f"Cells outside their limits: {len(outside)} of {len(first)}. Each ran again with a new seed "
        f"and four times the trials; {len(still) or 'none'} stayed outside{_listed(still)}."
    )


def _of(cells: Iterable[Cell], part: str) -> list[Cell]:
    return [cell for cell in cells if cell.part == part]


def _error(share: float, trials: int) -> str:
    return f"{100 * math.sqrt(share * (1 - share) / trials):.2g}"


def _limits() -> str:
    rows = [
        f"| {what} | {100 * limit:g} % |" if limit < 1 else f"| {what} | {limit:g} |"
        for what, limit in LIMITS.items()
    ]
    return "\n".join(["| what | limit |", "|---|---|", *rows])


def _listed(cells: Cells) -> str:
    if not cells:
        return ""
    named = (
        f"{c.part}, {c.what}, {c.sizes}: {', '.join(map(_marked, c.shares.values()))}"
        for c in cells
    )
    return ":\n\n" + "\n".join(f"- {each}" for each in named) + "\n"


def _folded(title: str, table: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"


def _marked(share: Share) -> str:
    """A share with its standard error; bold if its 99% interval is outside the limit."""
    shown = f"{100 * share.value:.2f} ± {100 * share.error:.2f}"
    return f"**{shown}**" if share.outside else shown


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def _name(cell: Cell) -> str:
    return f"{cell.what} (again)" if cell.again else cell.what


def _ordered(cells: Cells) -> list[Cell]:
    return sorted(cells, key=lambda c: (c.what, [int(n) for n in c.sizes.split(":")], c.again))


def _size_table(cells: Cells) -> str:
    head = ("family", "sizes", *cells[0].shares)
    rows = ([_name(c), c.sizes, *map(_marked, c.shares.values())] for c in _ordered(cells))
    return _table(head, rows)


def _plain_table(cells: Cells) -> str:
    head = ["", "sizes", *cells[0].shares, *cells[0].extra]
    rows = (
        [_name(c), c.sizes, *map(_marked, c.shares.values()), *c.extra.values()]
        for c in _ordered(cells)
    )
    return _table(head, rows)


def _wide_table(cells: Cells) -> str:
    ratios = sorted({r for c in cells for r in c.shares}, key=_ratio_and_level)
    found: dict[tuple[str, str, bool], dict[str, Share]] = {}
    for c in _ordered(cells):
        found.setdefault((_name(c), c.sizes, c.again), {}).update(c.shares)
    rows = (
        [name, sizes, *(_marked(s[r]) if r in s else "" for r in ratios)]
        for (name, sizes, _), s in found.items()
    )
    return _table(("family", "sizes", *ratios), rows)


def _ratio_and_level(name: str) -> tuple[float, float]:
    """The order of "× 2, 5 %": by the ratio, then from the largest level."""
    ratio, level = name[2:].split(", ")
    return float(ratio), -float(level.removesuffix(" %"))


def _by_size(cells: Cells, share: str) -> str:
    sizes = list(dict.fromkeys(c.sizes for c in _ordered(cells)))
    found: dict[str, dict[str, Share]] = {}
    for c in _ordered(cells):
        found.setdefault(_name(c), {})[c.sizes] = c.shares[share]
    rows = ([name, *(_marked(s[z]) if z in s else "" for z in sizes)] for name, s in found.items())
    return _table(("family", *sizes), rows)


def _power_table(cells: Cells) -> str:
    methods = ("dkmd", "dkmd on logs", "Welch", "Mann-Whitney", "Brunner-Munzel")
    head = ("family", "sizes", *methods, "change", *(f"dkmd − {m}" for m in methods[2:]))
    rows = (
        [
            c.what,
            c.sizes,
            *(str(c.shares[m]) if m in c.shares else "" for m in methods),
            *c.extra.values(),
        ]
        for c in _ordered(cells)
    )
    return _table(head, rows)


def _peers_win(cells: Cells) -> str:
    """The cells in which a rank test is more than 3 points ahead of both of dkmd's modes."""
    behind = []
    for c in _ordered(cells):
        ours = max(c.shares[k].value for k in c.shares if k.startswith("dkmd"))
        best = max(("Mann-Whitney", "Brunner-Munzel"), key=lambda k: c.shares[k].value)
        gap = 100 * (c.shares[best].value - ours)
        if gap > 3.0:
            behind.append(f"{c.what} {c.sizes}, {c.extra['change']} ({best} + {gap:.0f})")
    return (
        f"In {len(behind)} of {len(cells)} cells a rank test is more than 3 points ahead of both dkmd and dkmd on logarithms.\n"
        "With 10 against 100 values, the guard and the variance of the small sample cost power. They keep dkmd right when spreads differ; "
        "rank tests are not.\n\n"
        + _folded("Where a rank test is ahead, and by how many points", "; ".join(behind))
    )


def _axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.fonttype"] = "path"
    mpl.rcParams["svg.hashsalt"] = "dkmd"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, sharey=True, layout="constrained")
    return figure, axes


def _size_chart(cells: Cells, path: Path) -> None:
    """One dot per cell at three levels; one line per family."""
    cells = [c for c in cells if not c.again]
    names = list(FAMILIES)
    figure, axes = _axes(1, 3, (10.0, 8.6))
    marks = "ov^s<>Dx"
    balanced, unequal = LIGHT["down"], LIGHT["up"]
    levels = list(cells[0].shares)[:3]
    for axis, level, limit in zip(axes, levels, list(LIMITS.values())[:3], strict=True):
        for i, (n, m) in enumerate(SIZES):
            found = {c.what: c.shares[level] for c in cells if c.sizes == f"{n}:{m}"}
            at = [names.index(name) + 0.09 * (i - 3.5) for name in found]
            axis.errorbar(
                [100 * share.value for share in found.values()], at, label=f"{n}:{m}",
                xerr=[258 * share.error for share in found.values()], fmt=marks[i], markersize=3.5,
                color=balanced if n == m else unequal, alpha=0.35 + 0.13 * (i % 5), elinewidth=0.7,
            )  # fmt: skip
        nominal = float(level.removesuffix("%"))
        axis.axvline(nominal, color=LIGHT["reference"], linewidth=0.8)
        axis.axvline(100 * limit, color=LIGHT["ink"], linewidth=1.0, linestyle="--")
        axis.set_xlim(left=0)
        axis.set_xlabel(_percent(f"rejected at {level} (percent, 99% error bands)"))
        axis.grid(axis="x", color=LIGHT["line"])
    axes[0].set_yticks(range(len(names)), map(_percent, names))
    axes[0].invert_yaxis()
    axes[2].legend(title="sizes", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _power_chart(cells: Cells, path: Path) -> None:
    """Power by family for two pairs of sizes."""
    names = list(dict.fromkeys(c.what for c in _ordered(cells)))
    figure, axes = _axes(1, 2, (9.5, 5.6))
    marks = {
        "dkmd": "o",
        "dkmd on logs": "D",
        "Welch": "s",
        "Mann-Whitney": "^",
        "Brunner-Munzel": "v",
    }
    cells = [c for c in cells if c.extra["change"] == "shift" or c.what not in ADDED]
    for axis, sizes in zip(axes, ("100:100", "10:100"), strict=True):
        for i, (method, mark) in enumerate(marks.items()):
            found = {c.what: c.shares for c in cells if c.sizes == sizes and method in c.shares}
            at = [names.index(name) + 0.12 * (i - 2) for name in found]
            axis.errorbar(
                [100 * s[method].value for s in found.values()], at, label=method, fmt=mark,
                xerr=[258 * s[method].error for s in found.values()], elinewidth=0.9,
                color=[LIGHT["up"], LIGHT["down"], *[LIGHT["reference"]] * 3][i],
                markersize=6 if i == 0 else 4.5,
            )  # fmt: skip
        axis.set_xlabel(f"power at 5%, {sizes} (percent, 99% error bands)")
        axis.grid(axis="x", color=LIGHT["line"])
    axes[0].set_yticks(range(len(names)), map(_percent, names))
    axes[0].invert_yaxis()
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _strip_chart(cells: Cells, path: Path, what: str, limit: float, nominal: float) -> None:
    """Every share of every cell on the line of its family, with the limit and the nominal level."""
    cells = [c for c in cells if not c.again]
    names = [name for name in FAMILIES if any(c.what == name for c in cells)]
    names += sorted({c.what for c in cells} - set(names))
    sizes = sorted({c.sizes for c in cells}, key=lambda s: [int(n) for n in s.split(":")])
    figure, axes = _axes(1, 1, (8.6, 1.3 + 0.27 * len(names)))
    for i, pair in enumerate(sizes):
        found = [
            (c.what, share)
            for c in cells
            if c.sizes == pair
            for name, share in c.shares.items()
            if not name.endswith((" 1 %", " 0.1 %"))
        ]
        at = [names.index(name) + 0.11 * (i - (len(sizes) - 1) / 2) for name, _ in found]
        n, m = pair.split(":")
        axes.errorbar(
            [100 * share.value for _, share in found], at, label=pair, fmt="ov^s<>Dx"[i % 8],
            xerr=[258 * share.error for _, share in found], markersize=3.5, elinewidth=0.7,
            color=LIGHT["down" if n == m else "up"], alpha=0.35 + 0.13 * (i % 5),
        )  # fmt: skip
    axes.axvline(100 * nominal, color=LIGHT["reference"], linewidth=0.8)
    axes.axvline(100 * limit, color=LIGHT["ink"], linewidth=1.0, linestyle="--")
    axes.set_xlabel(f"{what} (percent, 99% error bands)")
    axes.grid(axis="x", color=LIGHT["line"])
    axes.set_yticks(range(len(names)), map(_percent, names))
    axes.invert_yaxis()
    axes.legend(title="sizes", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, metadata={"Date": None})


def load(path: Path = KEPT) -> tuple[list[Cell], int, float]:
    """The cells, the trials and the minutes of the last run."""
    kept = json.loads(path.read_text())
    cells = [
        Cell(**{**c, "shares": {name: Share(**s) for name, s in c["shares"].items()}})
        for c in kept["cells"]
    ]
    return cells, kept["trials"], kept["minutes"]


def joined(paths: Sequence[Path]) -> tuple[list[Cell], int, float]:
    """The cells of all runs with ``--share``."""
    runs = [load(path) for path in paths]
    if len({trials for _, trials, _ in runs}) > 1:
        raise ValueError("these runs have different numbers of trials")
    return [c for cells, _, _ in runs for c in cells], runs[0][1], sum(run[2] for run in runs)


if __name__ == "__main__":
    if shares := [Path(name) for name in sys.argv[1:]]:
        keep(*joined(shares))
    found, trials_, minutes_ = load()
    write(found, ROOT / "docs" / "study.md", trials_, minutes_)
    sys.exit(0)
