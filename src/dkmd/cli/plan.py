"""``dkmd plan``: how many values a change needs, or what shift a number of values can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dkmd.base.defaults import ALPHA
from dkmd.cli.completion import data_files
from dkmd.cli.options import Alpha, Column, Decimal, Groups, Json, PlanCovariates, PlanStrata, Quiet
from dkmd.cli.show import show_answer, show_json, working

if TYPE_CHECKING:
    from dkmd.bins.summary import Summary
    from dkmd.inference.plan.pilot import Given
    from dkmd.inference.plan.planning import Plan
    from dkmd.sources.column_data import LabelledColumn


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
            help="Change to detect: all values, or the share of yes, times this number. A factor "
            "of 1.03 is a shift of 3%.",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Change to detect in the share of values that say yes, or that differ from a "
            "common value: 0.01 is one percentage point more.",
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

    A pilot of two values (0 and 1, true and false) is planned as shares. If many values are equal
    (most customers buy nothing), --share plans for the share of the others. With --ratio A:B the
    change happens on side A. With --groups the answer also says how many groups it needs. The
    answer is a closed form. Beside it stands the power of simulated comparisons.

    \b
    Examples:
      dkmd plan examples/data/latency_before.csv --shift 3 --power 0.9
      dkmd plan examples/data/latency_before.csv --factor 1.1 --ratio 1:4
      dkmd plan examples/data/latency_before.csv -n 500
      dkmd plan examples/data/latency_before.csv -n 500 --shift 3%
      dkmd plan examples/data/visits.csv -c converted --shift 0.01
      dkmd plan examples/data/visits.csv -c revenue_usd --share 0.02 --power 0.9
      dkmd plan examples/data/experiment.csv -c revenue --factor 1.1 --covariate revenue_before
      dkmd plan examples/data/flights_july.parquet -c arr_delay --shift 5 --groups date
    """
    from dkmd.answers.comparison import to_json
    from dkmd.inference.plan import planning
    from dkmd.sources.beside import Columns
    from dkmd.sources.files.conventions import reading_text
    from dkmd.sources.loading import load, summarized

    if n is None and shift is None and factor is None and share is None:
        raise ValueError(
            "give the change to detect (--shift, --factor or --share), the number of values (-n), "
            "or both"
        )
    if sum(each is not None for each in (shift, factor, share)) > 1:
        raise ValueError("give one change: --shift, --factor or --share")
    known_before = tuple(covariate or ()), tuple(strata or ())
    with working("reading …", quiet), reading_text(decimal):
        beside = Columns.named(*known_before) if any(known_before) else None
        sample = load(pilot, "pilot", column, groups, beside=beside)
        summary = summarized(sample)
    options = _pilot(sample, summary, groups is not None or any(known_before))
    change = _change(shift, factor, share, options["pilot"], summary)
    found = planning.plan(n=n, power=power, alpha=alpha, ratio=_ratio(ratio), **change, **options)
    notes = [*found.notes, *_notes(summary), *filter(None, [sample.note])]
    if json:
        show_json(to_json(_document(found, sample)), notes)
    else:
        names = zip(("covariates", "strata"), known_before, strict=True)
        adjusted = " and ".join(word for word, given_names in names if given_names)
        asked = shift if shift is not None and shift.rstrip().endswith("%") else ""
        words = _headline(found, sample.unit and f" {sample.unit}", asked, adjusted)
        show_answer(words, [] if quiet else notes)
    return 0


def _pilot(sample: LabelledColumn, summary: Summary, rows: bool) -> dict[str, Any]:
    """The pilot, and what belongs to its rows, as arguments of a plan."""
    import numpy as np

    from dkmd.sources.column_data import HeldColumn

    data = sample.data
    if not isinstance(data, HeldColumn):
        if rows:
            raise ValueError(
                "--groups, --covariate and --strata need a pilot of at most 2,000,000 values: give "
                "a part of it"
            )
        return {"pilot": summary}
    there = ~np.isnan(data.values)
    found: dict[str, Any] = {"pilot": data.values[there]}
    if data.groups is not None:
        found["groups"] = data.groups[there]
    if data.beside is not None:
        for name, columns in (
            ("covariate", data.beside.covariates),
            ("strata", data.beside.strata),
        ):
            if columns:
                found[name] = np.column_stack(list(columns.values()))[there]
    return found


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


def _change(
    shift: str | None, factor: float | None, share: float | None, pilot: Given, summary: Summary
) -> dict[str, float]:
    """The change as arguments of a plan. A percentage is a factor, and points are a share."""
    from dkmd.inference.plan.pilot import read_pilot, yes_and_no
    from dkmd.inference.test.margins import parse_amount
    from dkmd.inference.test.sides import Side
    from dkmd.inference.test.width import robust_scale

    if shift is None:
        given = {"factor": factor, "share": share}
        return {name: value for name, value in given.items() if value is not None}
    amount, kind = parse_amount(shift)
    if math.isnan(amount):
        raise ValueError(f"--shift needs a number, 3% or 0.1sd, got {shift!r}")
    if kind in ("%", "sd") and yes_and_no(read_pilot(pilot, "pilot")) is not None:
        raise ValueError(
            f"--shift {shift}: for yes/no data give a difference of shares (--shift 1pp, one "
            "percentage point) or a relative change (--factor 1.2)"
        )
    if kind == "%":
        return {"factor": 1.0 + amount / 100.0}
    if kind == "pp":
        return {"share": amount / 100.0}
    return {"shift": amount * robust_scale(Side.of(summary)) if kind == "sd" else amount}


def _document(found: Plan, sample: LabelledColumn) -> dict[str, object]:
    """The answer as JSON; numbers that were not asked for are left out."""
    from dkmd.answers.comparison import FORMAT_VERSION

    answer: dict[str, object] = {
        "format": "dkmd-plan", "version": FORMAT_VERSION, "name": sample.name, "unit": sample.unit,
        "pilot_size": found.pilot_size, "alpha": found.alpha, "n": found.n, "power": found.power,
        "shift": found.shift,
    }  # fmt: skip
    more = {
        "m": found.m if found.m != found.n else None,
        "factor": found.factor,
        "share": found.share,
        "groups": found.groups and list(found.groups),
        "design_effect": found.design_effect,
        "worth": found.worth,
        "check": found.check and found.check._asdict(),
    }
    return answer | {name: value for name, value in more.items() if value is not None}


def _headline(found: Plan, unit: str, asked: str, adjusted: str) -> str:
    """The answer in one sentence, and what stands beside it.

    ``asked`` is a percentage as it was given, and ``adjusted`` says what a plan is adjusted for.
    """
    change, sizes = _change_in_words(found, unit, asked), _sizes_in_words(found)
    told = f"{sizes} detect {change} with power {found.power:.3g}."
    if found.asked == "n":
        told = f"To detect {change} with power {found.power:g}, you need {sizes}."
    if found.worth is not None:
        told += f" The {adjusted} are as good as {found.worth:.2g} × the data."
    if found.check is not None:
        power, error, trials = found.check
        told += f" {trials:,} simulated comparisons have power {power:.2f} ± {error:.2f}."
    return told


def _sizes_in_words(found: Plan) -> str:
    """Values and groups of both sides."""
    sides = [f"{size:,} values" for size in (found.n, found.m)]
    of = [f" in {count:,} groups" for count in found.groups or ()] or ["", ""]
    if found.n == found.m:
        return f"{sides[0]} per side{of[0]}"
    return f"{sides[0]}{of[0]} on the changed side and {sides[1]}{of[1]} on the other"


def _change_in_words(found: Plan, unit: str, asked: str) -> str:
    """What is to be detected."""
    if found.shares is not None:
        before, after = (f"{100 * share:.3g}%" for share in found.shares)
        goes = f"from {before} to {after}"
        if found.shift is not None:
            return f"a shift of {found.shift:.3g}{unit} ({goes})"
        of = "" if found.common is None else f" of values other than {found.common:g}"
        return f"a share{of} that goes {goes}"
    if found.shift is not None:
        return f"a shift of {found.shift:.3g}{unit}"
    return f"a shift of {asked}" if asked else f"a factor of {found.factor:g}"


def _notes(summary: Summary) -> list[str]:
    """What to watch out for in the file."""
    return [f"missing values in the pilot, left out: {summary.nan:,}"] if summary.nan else []
