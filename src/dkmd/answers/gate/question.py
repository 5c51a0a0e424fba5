"""``gate``: is any benchmark of this build worse? All benchmarks are paired, judged and corrected.

A gate must not pass by accident. Benchmarks that are missing, new or left out are listed.
Two files without a common benchmark are an error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dkmd.answers.gate.decide import decided
from dkmd.answers.gate.judge import judge
from dkmd.answers.gate.limits import Limits, Rule
from dkmd.answers.gate.pair import Judged
from dkmd.answers.gate.result import NOT_JUDGED, Gate
from dkmd.answers.gate.runs import Side, in_one, known_runs
from dkmd.answers.gate.shared_machines import paired_runs
from dkmd.answers.gate.unjudged import NO_DIRECTION
from dkmd.answers.gate.words import processors_differ
from dkmd.base.calls import recorded
from dkmd.base.defaults import ALPHA, require_shares
from dkmd.bins.logarithms import as_factor
from dkmd.inference.test.margins import Margin
from dkmd.render.terminal import named
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks
from dkmd.sources.files.history_file import History

WHEN_MISSING = ("warn", "fail")


@recorded
def gate(
    reference: Side,
    current: Side,
    *,
    margin: Margin = "5%",
    worse: str | None = None,
    better: Mapping[str, str] | None = None,
    alpha: float = ALPHA,
    missing: str = "warn",
    rules: Mapping[str, Rule] | None = None,
    history: History = (),
    pair_by: str | None = None,
) -> Gate:
    """Judge whether any benchmark of ``current`` is worse than the same one of ``reference``.

    Parameters
    ----------
    reference, current : mapping of names to Measurements, or a list of them
        As ``read_benchmarks`` gives them. A list holds several runs of one build. Changes from run
        to run are then part of the answer.
    margin : str or float
        The smallest change that matters: "2%", an amount with a unit ("3ms"), or "0.1sd". A bare
        number is accepted only for values without a unit.
    worse : {"higher", "lower"}, optional
        Which direction is bad. By default each benchmark's unit says it: times must not increase,
        throughputs must not decrease. If it is not known, a benchmark is shown and not judged.
    better : mapping of str to {"higher", "lower"}, optional
        Which values are better, by the name of a benchmark, of a counter ("cache_hits") or of a
        unit ("GB/s"). In a name, * stands for any text. It goes before ``worse`` and ``rules``.
    alpha : float
        A bound on two probabilities: that of a false alarm anywhere (Holm's correction), and that
        of passing a benchmark that is worse than the margin.
    missing : {"warn", "fail"}
        Whether the gate fails if current lacks a benchmark of reference.
    rules : mapping of str to Rule, optional
        Margins and directions of some benchmarks, by patterns of their names.
    history : tuple of StoredRun
        Past runs, oldest first, as ``read_histories`` gives them. They show how much a benchmark
        changes from one run to the next.
    pair_by : {"machine", "round"} or str, optional
        What both builds have in common: the machines that ran both, or the rounds in which they
        took turns. The files must say it: pyperf's ``hostname`` or ``round``, the host of
        google-benchmark and pytest-benchmark, or a column of a table. Each machine counts the same,
        and its own speed cancels. It needs two machines or more on both sides, and no ``history``.

    Returns
    -------
    Gate
        A benchmark is "worse" or "better" when its change is shown to exceed the margin, "same"
        when it is shown to lie within the margin on both sides, and "not worse" when only the
        bad side is shown. Otherwise it is "inconclusive". Values of one process are a group. If no
        value varies on either side, the two values are compared with the margin directly. What has
        no known direction is "not judged".
    """
    if missing not in WHEN_MISSING:
        raise ValueError(f"missing must be 'warn' or 'fail', got {missing!r}")
    require_shares(alpha=alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha must be below 0.5 for a gate, got {alpha!r}")
    limits = Limits(margin, worse, rules or {}, better or {})
    (one, of_one, twice), (other, of_other, twice_too) = in_one(reference), in_one(current)
    before, after = _paired(one, other)
    limits.require_known((*before.items(), *after.items()))
    gone = _gone(before, after)
    names = [name for name in _judged_names(before, after) if name not in gone]
    if not names:
        told = [_nothing_in_common(tuple(before), tuple(after))]
        raise ValueError("; ".join(told + [f"{name} {why}" for name, why in gone.items()][:1]))
    if pair_by:
        runs = paired_runs(before, after, names, (of_one, of_other), pair_by, history)
    else:
        runs = known_runs(before, after, names, (of_one, of_other), history)
    judged = [
        judge(name, before, after, limits, runs.known.get(name), pair_by or "") for name in names
    ]
    rows = decided([j.row for j in judged], [j.tests for j in judged], alpha)
    if all(row.verdict == NOT_JUDGED for row in rows):
        raise ValueError(f"nothing can be judged: {named(names, 3)}: {NO_DIRECTION}")
    changes = _averaged(judged)
    left_out = {**before.left_out, **after.left_out, **gone}
    return Gate(
        rows=tuple(rows),
        missing=tuple(name for name in before if name not in names),
        new=tuple(name for name in after if name not in names),
        margin=margin,
        worse=worse,
        geometric_mean=as_factor(math.fsum(changes) / len(changes)) if changes else math.nan,
        alpha=alpha,
        evidence={j.row.name: j.evidence for j in judged},
        averaged=len(changes),
        left_out={name: why for name, why in left_out.items() if name not in names},
        missing_fails=missing == "fail",
        runs=runs.sides,
        history=runs.history,
        about_runs=runs.about,
        run_notes=(*twice, *twice_too, *runs.notes),
    )


def _judged_names(before: BenchmarkFile, after: BenchmarkFile) -> list[str]:
    """The benchmarks to judge: those that both files name, and new ones that failed."""
    names = [
        *(name for name in before if name in after or name in after.left_out),
        *(name for name in after if name in before.left_out),
        # a benchmark that fails in its first run must not pass
        *(name for name in after if after[name].failure and name not in before),
    ]
    return list(dict.fromkeys(names))


def _gone(before: BenchmarkFile, after: BenchmarkFile) -> dict[str, str]:
    """Benchmarks of the reference that current names without any measurement, and why."""
    gone = {}
    for name, measured in before.items():
        if name in after:
            lost = measured.values and not (after[name].values or after[name].failure)
            why = "has no values in current" if lost else ""
        else:
            why = "" if name in after.unreadable else after.left_out.get(name, "")
        if why:
            gone[name] = why
    return gone


def _averaged(judged: Sequence[Judged]) -> list[float]:
    """The changes that the geometric mean covers: without by-products, all of one direction.

    The bytes of a benchmark do not weigh as much as its time, and a throughput that rises must not
    cancel a time that rises.
    """
    known = [j for j in judged if math.isfinite(j.log_change) and not j.evidence.reference.beside]
    directions = Counter(j.row.better for j in known)
    return [j.log_change for j in known if j.row.better == directions.most_common(1)[0][0]]


def _paired(reference: Benchmarks, current: Benchmarks) -> tuple[BenchmarkFile, BenchmarkFile]:
    """Both sides as benchmark files, with names that can be matched."""
    before, after = (
        side if isinstance(side, BenchmarkFile) else BenchmarkFile(side)
        for side in (reference, current)
    )
    return before.named_as_in(after), after.named_as_in(before)


def _nothing_in_common(before: Sequence[str], after: Sequence[str]) -> str:
    """The error for files of different benchmarks, with some of their names."""
    told = (
        f"the two files have no benchmark in common: reference has {named(before, 3)}; current "
        f"has {named(after, 3)}"
    )
    return "; ".join(filter(None, (told, processors_differ(before, after))))
