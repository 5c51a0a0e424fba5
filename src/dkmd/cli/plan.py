"""``dkmd plan``: how many values a change needs, or what shift a number of values can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.completion import data_files
from dkmd.cli.options import Alpha, Column, Decimal, Groups, Json, PlanCovariates, PlanStrata, Quiet
from dkmd.cli.show import show_answer, show_json, working
from dkmd.inference.defaults import ALPHA

if TYPE_CHECKING:
    from dkmd.base.arrays import Array
    from dkmd.binned.summary import Summary
    from dkmd.inference.planning import Given, Planned
    from dkmd.sources.column_data import LabelledColumn, Labels


def plan(
    pilot: Annotated[
        str,
        typer.Argument(
            metavar="PILOT",
            autocompletion=data_files,
            help="Data like the data to come: a file or a summary.",
        ),
    ],
    column: Column = None,
    shift: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="Shift to detect: a number in data units, 3%, or 0.1sd. For yes/no data, a "
            "difference of shares: 0.01 is one percentage point.",
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Change to detect: all values, or the share of yes, times this number. If at "
            "least half of the values are equal, only the others are multiplied.",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Change to detect in the share of values that say yes, or that differ from the "
            "most common value: 0.01 is one percentage point more.",
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("-n", metavar="COUNT", min=2, help="Values per side; with --ratio A:B, of A."),
    ] = None,
    ratio: Annotated[
        str | None,
        typer.Option(metavar="A:B", help="Sizes of the two sides, such as 1:4; equal by default."),
    ] = None,
    groups: Groups = None,
    covariate: PlanCovariates = None,
    strata: PlanStrata = None,
    power: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability of detecting the change.")
    ] = 0.8,
    alpha: Alpha = ALPHA,
    decimal: Decimal = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """How many values does it take to detect a change? With -n: what shift, or with what power?

    A pilot of two values (0 and 1, true and false) is planned as shares. If at least half of the
    values are equal (most customers buy nothing), give --factor or --share. With --ratio A:B the
    change happens on side A. With --groups the answer also says how many groups it needs. A
    pilot of fewer than 200 values, groups, or values of the rarer kind gives a range.

    \b
    Examples:
      dkmd plan examples/data/latency_before.csv --shift 3 --power 0.9
      dkmd plan examples/data/latency_before.csv --factor 1.1 --ratio 1:4
      dkmd plan examples/data/latency_before.csv -n 500
      dkmd plan examples/data/latency_before.csv -n 500 --shift 3%
      dkmd plan examples/data/visits.csv -c converted --shift 0.01
      dkmd plan examples/data/visits.csv -c revenue_usd --factor 1.5 --power 0.9
      dkmd plan examples/data/experiment.csv -c revenue --factor 1.1 --covariate revenue_before
      dkmd plan examples/data/flights_july.parquet -c arr_delay --shift 5 --groups date
    """
    from dkmd.answers.comparison import to_json
    from dkmd.inference import planning
    from dkmd.sources.beside import Columns
    from dkmd.sources.files.conventions import reading_text
    from dkmd.sources.loading import load, summarized

    if n is None and shift is None and factor is None and share is None:
        raise ValueError(
            "give the change to detect (--shift, --factor or --share), the number of values (-n), "
            "or both"
        )
    with working("reading …", quiet), reading_text(decimal):
        known_before = tuple(covariate or ()), tuple(strata or ())
        beside = Columns.named(*known_before) if any(known_before) else None
        sample = load(pilot, "pilot", column, groups, beside=beside)
        summary = summarized(sample)
    given, labels = (summary, None) if groups is None else _with_labels(sample)
    known = labels_before = None
    if any(known_before):
        given, known, labels_before = _with_columns(sample)
    found = planning.plan(
        given,
        None if shift is None else _shift(shift, summary, given),
        n,
        power,
        alpha,
        ratio=_ratio(ratio),
        factor=factor,
        share=share,
        groups=labels,
        covariate=known,
        strata=labels_before,
    )
    if json:
        show_json(to_json(_document(found, sample, summary)))
    else:
        names = zip(("covariates", "strata"), known_before, strict=True)
        adjusted = " and ".join(word for word, given_names in names if given_names)
        words = _headline(found, sample.unit and f" {sample.unit}", adjusted)
        show_answer(words, [] if quiet else [*_notes(summary), *filter(None, [sample.note])])
    return 0


def _with_labels(sample: LabelledColumn) -> tuple[Array, Labels]:
    """The values that are not missing, and their group labels."""
    import numpy as np

    from dkmd.sources.column_data import HeldColumn

    if not isinstance(sample.data, HeldColumn) or sample.data.groups is None:
        raise ValueError("--groups needs a pilot of at most 2,000,000 values: give a part of it")
    there = ~np.isnan(sample.data.values)
    return sample.data.values[there], sample.data.groups[there]


def _with_columns(sample: LabelledColumn) -> tuple[Array, Array | None, Labels | None]:
    """The values that are not missing, and their covariates and strata, a column each."""
    import numpy as np

    from dkmd.sources.column_data import HeldColumn

    data = sample.data
    if not isinstance(data, HeldColumn) or data.beside is None:
        raise ValueError(
            "--covariate and --strata need a pilot of at most 2,000,000 values: give a part of it"
        )
    there = ~np.isnan(data.values)
    numbers, labels = (
        np.column_stack(list(columns.values()))[there] if columns else None
        for columns in (data.beside.covariates, data.beside.strata)
    )
    return data.values[there], numbers, labels


def _ratio(text: str | None) -> float:
    """B/A of a ratio A:B; a single number is B/A itself."""
    if text is None:
        return 1.0
    first, colon, second = text.partition(":")
    try:
        ratio = float(second) / float(first) if colon else float(first)
    except (ValueError, ZeroDivisionError):
        ratio = math.nan
    if not 0.0 < ratio < math.inf:
        raise ValueError(f"--ratio needs two positive numbers such as 1:4, got {text!r}")
    return ratio


def _shift(text: str, summary: Summary, given: Given) -> float:
    """A shift in data units, from data units, percent of the median or robust scales."""
    from dkmd.inference.margins import parse_amount
    from dkmd.inference.plan_pilot import YES_NO, pilot_of
    from dkmd.inference.pooled_shape import median_and_spread

    amount, kind = parse_amount(text)
    if math.isnan(amount):
        raise ValueError(f"--shift needs a number, 3% or 0.1sd, got {text!r}")
    pilot = pilot_of(given, None)
    if kind == "pp":
        if pilot.kind != YES_NO:
            raise ValueError(f"--shift {text}: percentage points are for yes/no data")
        return amount / 100.0 * (pilot.special[1] - pilot.special[0])
    if kind and pilot.kind == YES_NO:
        raise ValueError(
            f"--shift {text}: for yes/no data give a difference of shares (--shift 1pp, one "
            "percentage point) or a relative change (--factor 1.2)"
        )
    if kind == "%":
        if summary.minimum <= 0.0:
            raise ValueError(f"--shift {text}: a percentage needs values above 0 only")
        return amount * summary.median() / 100.0
    return amount * median_and_spread(summary)[1] if kind == "sd" else amount


def _document(found: Planned, sample: LabelledColumn, summary: Summary) -> dict[str, object]:
    """The answer as JSON; numbers that were not asked for are left out."""
    from dkmd.answers.comparison import FORMAT_VERSION

    answer: dict[str, object] = {
        "format": "dkmd-plan", "version": FORMAT_VERSION, "name": sample.name, "unit": sample.unit,
        "pilot_size": summary.size, "alpha": found.alpha, "n": found.n, "power": found.power,
        "shift": found.change.shift if found.by_shift else None,
    }  # fmt: skip
    more: dict[str, object] = {}
    if found.m != found.n:
        more["m"] = found.m
    if found.change.factor != 1.0:
        more["factor"] = found.change.factor
    if found.change.share:
        more["share"] = found.change.share
    if found.range is not None:
        more["range"] = {"of": found.asked, "low": found.range[0], "high": found.range[1]}
    if found.groups is not None:
        more["groups"] = list(found.groups)
        more["design_effect"] = found.design_effect
    if found.worth is not None:
        more["worth"] = found.worth
    return answer | more


def _headline(found: Planned, unit: str, adjusted: str = "") -> str:
    """The answer in one sentence; ``adjusted`` says for what."""
    ranges = {found.asked: _range_in_words(found, unit)} if found.range else {}
    change = _change_in_words(found, unit) + ranges.get("shift", "")
    sizes = _sizes_in_words(found, ranges.get("n", ""))
    worth = ""
    if found.worth is not None:
        worth = f" The {adjusted} are as good as {found.worth:.2g} × the data."
    if found.asked == "n":
        return f"To detect {change} with power {found.power:g}, you need {sizes}.{worth}"
    power = f"{found.power:.3g}{ranges.get('power', '')}"
    return f"{sizes} detect {change} with power {power}.{worth}"


def _sizes_in_words(found: Planned, range_: str) -> str:
    """Values and groups of both sides."""
    if found.n == found.m:
        of = f" in {found.groups[0]:,} groups" if found.groups else ""
        return f"{found.n:,} values per side{of}{range_}"
    sides = [f"{size:,} values" for size in (found.n, found.m)]
    if found.groups:
        sides = [f"{s} in {g:,} groups" for s, g in zip(sides, found.groups, strict=True)]
    return f"{sides[0]}{range_} on the changed side and {sides[1]} on the other"


def _change_in_words(found: Planned, unit: str) -> str:
    """What is to be detected."""
    change, parts = found.change, []
    shares = [f"{100 * share:.3g}%" for share in found.shares or ()]
    if found.kind == "yes/no":
        goes = f"from {shares[0]} to {shares[1]}"
        shift = f"a shift of {change.shift:.3g}{unit} ({goes})"
        return shift if found.by_shift else f"a share that goes {goes}"
    if found.by_shift:
        return f"a shift of {change.shift:.3g}{unit}"
    if change.factor != 1.0:
        parts.append(f"a factor of {change.factor:g}")
    if found.kind == "two parts":
        common = f"{found.common:g}"
        parts = [f"{part} in the values other than {common}" for part in parts]
        if change.share:
            parts.append(
                f"a share of values other than {common} that goes from {shares[0]} to {shares[1]}"
            )
    return " and ".join(parts)


def _range_in_words(found: Planned, unit: str) -> str:
    """The range of a small pilot."""
    assert found.range is not None
    from dkmd.inference.planning import FEW

    low, high = found.range
    if found.asked == "n":
        span = f"{low:,.0f} or more" if math.isinf(high) else f"{low:,.0f} to {high:,.0f}"
    else:
        span = f"{low:.3g} to {high:.3g}{unit if found.asked == 'shift' else ''}"
    rarer = min(found.shares[0], 1.0 - found.shares[0]) if found.shares else 1.0
    few = found.pilot_size >= FEW and found.telling == round(rarer * found.pilot_size)
    rare = f"only {found.telling} of the pilot's values are of the rarer kind"
    return f" ({span}, because {rare if few else 'the pilot is small'})"


def _notes(summary: Summary) -> list[str]:
    """Warnings about the pilot."""
    notes = [f"the pilot has only {summary.size} values"] if summary.size < 30 else []
    return notes + (
        [f"missing values in the pilot, left out: {summary.nan:,}"] if summary.nan else []
    )
