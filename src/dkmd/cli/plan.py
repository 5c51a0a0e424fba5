"""``dkmd plan``: how many values a shift needs, or what shift a number of values can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.options import Alpha, Column, Json, Quiet
from dkmd.cli.show import show_answer, show_json, working
from dkmd.inference.defaults import ALPHA

if TYPE_CHECKING:
    from dkmd.binned.summary import Summary


def plan(
    pilot: Annotated[
        str,
        typer.Argument(metavar="PILOT", help="Data like the data to come: a file or a summary."),
    ],
    column: Column = None,
    shift: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="Shift to detect: a number in data units, 3%, or 0.1sd."
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", metavar="COUNT", min=2, help="Values per side.")
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability of detecting the shift.")
    ] = 0.8,
    alpha: Alpha = ALPHA,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """How many values does it take to detect a shift? With -n: what shift, or with what power?

    \b
    Examples:
      dkmd plan examples/data/latency_before.csv --shift 3 --power 0.9
      dkmd plan examples/data/latency_before.csv -n 500
      dkmd plan examples/data/latency_before.csv -n 500 --shift 3%
    """
    from dkmd.answers.comparison import FORMAT_VERSION, to_json
    from dkmd.inference import planning
    from dkmd.sources.loading import load, summarized

    if shift is None and n is None:
        raise ValueError("give the shift to detect (--shift), the number of values (-n), or both")
    with working("reading …", quiet):
        sample = load(pilot, "pilot", column)
        summary = summarized(sample)
    unit = sample.unit and f" {sample.unit}"
    answer: dict[str, object] = {
        "format": "dkmd-plan", "version": FORMAT_VERSION, "name": sample.name, "unit": sample.unit,
        "pilot_size": summary.size, "alpha": alpha,
    }  # fmt: skip
    if shift is None:
        assert n is not None
        amount = planning.detectable_shift(summary, n, power=power, alpha=alpha)
    else:
        amount = _shift(shift, summary)
    if n is None:
        n = planning.sample_size(summary, amount, power, alpha)
        words = (
            f"To detect a shift of {amount:.3g}{unit} with power {power:g}, you need {n:,} values "
            "per side."
        )
    else:
        if shift is not None:
            power = planning.power(summary, amount, n, alpha=alpha)
        words = (
            f"{n:,} values per side detect a shift of {amount:.3g}{unit} with power {power:.3g}."
        )
    answer |= {"n": n, "shift": amount, "power": power}
    if json:
        show_json(to_json(answer))
    else:
        notes = [] if quiet else _notes(summary)
        show_answer(words, [], notes)
    return 0


def _shift(text: str, summary: Summary) -> float:
    """A shift in data units, from data units, percent of the median or robust scales."""
    from dkmd.inference.margins import parse_amount
    from dkmd.inference.pooled_shape import median_and_spread

    amount, kind = parse_amount(text)
    if math.isnan(amount):
        raise ValueError(f"--shift needs a number, 3% or 0.1sd, got {text!r}")
    if kind == "%":
        if summary.minimum <= 0.0:
            raise ValueError(f"--shift {text}: a percentage needs values above 0 only")
        return amount * summary.median() / 100.0
    return amount * median_and_spread(summary)[1] if kind == "sd" else amount


def _notes(summary: Summary) -> list[str]:
    """Warnings about the pilot."""
    notes = [f"the pilot has only {summary.size} values"] if summary.size < 30 else []
    return notes + ([f"NaN in the pilot, left out: {summary.nan:,}"] if summary.nan else [])
