"""The whole run: choose experiments, simulate them in processes, write the report."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from dkmd.paper import consistency, figure4, scaling, story, table1, table2, table3, theorems
from dkmd.paper.folder import OutputFolder, write_below
from dkmd.paper.markdown import MARK, markdown
from dkmd.paper.page import page
from dkmd.paper.report import PaperTable, Report, Section
from dkmd.paper.style import png, require_matplotlib, svg
from dkmd.paper.trials import SEED, Runner
from dkmd.paper.workers import Advance, one_at_a_time, workers

Result = TypeVar("Result")
Follow = Callable[[str], Advance]
"""Given the name of an experiment, a function that reports its progress."""


@dataclass(frozen=True)
class Selection:
    """What to run."""

    names: tuple[str, ...]
    """The tables, figures and studies to run (from ``NAMES``)."""
    quick: bool = False
    seed: int = SEED

    def trials(self, full: int) -> int:
        """The number of trials: all, or a tenth for a quick run."""
        return max(full // 10, 2) if self.quick else full


@dataclass(frozen=True)
class Experiment:
    """One simulation, its outputs, and the section that tells it."""

    name: str
    outputs: tuple[str, ...]
    run: Callable[[Selection, Runner], Section]
    alone: bool = False
    """Whether the experiment measures time, and so needs the machine to itself."""


def _told(
    simulate: Callable[[Selection, Runner], Result], tell: Callable[[Result], Section]
) -> Callable[[Selection, Runner], Section]:
    """Simulate, then put the result into words."""
    return lambda plan, run: tell(simulate(plan, run))


def _consistency(plan: Selection, run: Runner) -> list[consistency.ConsistencyRow]:
    """Quick runs leave out the largest size, which takes most of the time."""
    sizes = sorted(consistency.TRIALS_BY_SIZE, reverse=True)[1 if plan.quick else 0 :]
    trials = {n: max(plan.trials(consistency.TRIALS_BY_SIZE[n]), 8) for n in sizes}
    return consistency.consistency(trials, plan.seed, run)


def _scaling(plan: Selection, run: Runner) -> list[scaling.ScalingRow]:
    """Quick runs leave out the largest sizes and do not wait as long."""
    if plan.quick:
        return scaling.scaling(scaling.SIZES[:-3], scaling.LIMIT / 10, plan.seed, run)
    return scaling.scaling(seed=plan.seed, run=run)


EXPERIMENTS = (
    Experiment(
        "table1",
        ("table1", "figure1"),
        _told(
            lambda plan, run: table1.table1(plan.trials(500), plan.seed, run),
            story.of_table1,
        ),
    ),
    Experiment(
        "table2",
        ("table2", "figure2"),
        _told(
            lambda plan, run: table2.table2(plan.trials(4000), plan.seed, run),
            story.of_table2,
        ),
    ),
    Experiment(
        "table3",
        ("table3", "figure3"),
        _told(
            lambda plan, run: table3.table3(plan.trials(500), plan.seed, run),
            story.of_table3,
        ),
    ),
    Experiment(
        "figure4",
        ("figure4",),
        _told(
            lambda plan, run: figure4.figure4(plan.trials(200), plan.seed, run),
            story.of_figure4,
        ),
    ),
    Experiment("scaling", ("scaling",), _told(_scaling, story.of_scaling), alone=True),
    Experiment("consistency", ("consistency",), _told(_consistency, story.of_consistency)),
    Experiment(
        "theorems",
        ("theorems",),
        _told(
            lambda plan, run: theorems.theorems(plan.trials(400), plan.seed, run),
            story.of_theorems,
        ),
    ),
)
NAMES = tuple(name for experiment in EXPERIMENTS for name in experiment.outputs)


def parse_names(only: str) -> tuple[str, ...]:
    """The names in a comma-separated list; all names if the list is empty."""
    asked = [name.strip() for name in only.split(",") if name.strip()]
    for name in asked:
        if name not in NAMES:
            raise ValueError(f"--only: unknown name {name!r}; choose from {', '.join(NAMES)}")
    return tuple(name for name in NAMES if name in asked) if asked else NAMES


def open_output(plan: Selection, out: Path, markdown_file: Path | None) -> OutputFolder:
    """Check before the run whether its result can be drawn and written."""
    if any(not name.startswith("table") for name in plan.names):
        require_matplotlib()
    if markdown_file is not None:
        _require_ours(markdown_file)
    folder = OutputFolder(out)
    folder.open()
    return folder


def reproduce(
    plan: Selection, folder: OutputFolder, follow: Follow, markdown_file: Path | None = None
) -> Report:
    """Run the plan and write it: index.html, tables/*.csv, figures/*.svg and *.png.

    If ``markdown_file`` is given, the report is also written there as Markdown, with the figures
    in a folder of the same name.
    """
    report = _report(plan, follow)
    drawn = {}
    for figure in report.figures:
        canvas = figure.draw()
        drawn[figure.name] = svg(canvas)
        folder.write(f"figures/{figure.name}.svg", drawn[figure.name])
        folder.write(f"figures/{figure.name}.png", png(canvas))
    for table in report.tables:
        folder.write(f"tables/{table.name}.csv", _csv(table))
    folder.write("index.html", page(report, drawn))
    folder.close()
    if markdown_file is not None:
        write_below(markdown_file, markdown(report, markdown_file.stem))
        for name, image in drawn.items():
            write_below(markdown_file.with_suffix("") / f"{name}.svg", image)
    return report


def _require_ours(markdown_file: Path) -> None:
    """Raise an error if ``dkmd reproduce`` did not write the file."""
    if markdown_file.is_dir():
        raise IsADirectoryError(f"{markdown_file} is a folder: --markdown needs a file")
    if markdown_file.is_file() and not markdown_file.read_text().startswith(MARK):
        raise FileExistsError(
            f"{markdown_file} was not written by `dkmd reproduce`: choose another --markdown"
        )


def _report(plan: Selection, follow: Follow) -> Report:
    """Run the experiments of the plan and collect their sections."""
    wanted = [e for e in EXPERIMENTS if set(e.outputs) & set(plan.names)]
    told = _run(plan, wanted, follow)
    sections = [_only(plan.names, told[experiment.name]) for experiment in wanted]
    introduction = story.introduction(sections)
    return Report("The paper, reproduced", introduction, sections, _facts(plan, wanted))


def _run(plan: Selection, wanted: Sequence[Experiment], follow: Follow) -> dict[str, Section]:
    """Sections by name: first the experiments that share the cores, then those that run alone."""
    sections = {}
    for alone in (False, True):
        group = [experiment for experiment in wanted if experiment.alone is alone]
        if group:
            with one_at_a_time() if alone else workers() as processes:
                for experiment in group:
                    run = processes(follow(experiment.name))
                    sections[experiment.name] = experiment.run(plan, run)
    return sections


def _only(names: Sequence[str], section: Section) -> Section:
    """The section without tables and figures that are not in ``names``."""
    return replace(
        section,
        tables=[t for t in section.tables if t.name.partition("-")[0] in names],
        figures=[f for f in section.figures if f.name in names],
    )


def _facts(plan: Selection, wanted: Sequence[Experiment]) -> dict[str, str]:
    """Version, seed, command and machine of the run."""
    options = ["--quick"] if plan.quick else []
    options += [f"--seed {plan.seed}"] if plan.seed != SEED else []
    options += [f"--only {','.join(plan.names)}"] if len(wanted) < len(EXPERIMENTS) else []
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return {
        "Paper": "Directional Kernel Mean Difference: A Fast Signed Statistic for Univariate "
        "Distribution Comparison",
        "Version": f"dkmd {version('dkmd')}",
        "Seed": str(plan.seed),
        "Command": f"`{' '.join(['dkmd reproduce', *options])}`",
        "Run on": f"Python {platform.python_version()}, {packages}, {os.cpu_count()} cores",
    }


def _csv(table: PaperTable) -> str:
    """The table as CSV with all digits; a missing number is an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(table.records())
    return buffer.getvalue()
