"""``dkmd plan``: how many values a shift takes, or what shift a number of values can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.options import Alpha, Column, Json, Quiet
from dkmd.cli.show import show_answer, show_json, working

if TYPE_CHECKING:
    from dkmd.binned.summary import Summary


def plan(
    pilot: Annotated[
        str, typer.Argument(metavar="PILOT", help="Data like those to come: a file or a summary.")
    ],
    column: Column = None,
    shift: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="Shift to be shown: a number in data units, 3%, or 0.1sd."
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", metavar="COUNT", min=2, help="Values on each side.")
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability of showing the shift.")
    ] = 0.8,
    alpha: Alpha = 0.05,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """How many values does a shift take? With -n: what shift can be shown, or with what power?

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
        raise ValueError("say which shift is to be shown (--shift), how many values (-n), or both")
    with working("reading …", quiet):
        sample = load(pilot, "pilot", column)
        summary = summarized(sample)
    unit = sample.unit and f" {sample.unit}"
    answer: dict[str, object] = {
        "format": "dkmd-plan", "version": FORMAT_VERSION, "name": sample.name, "unit": sample.unit,
        "pilot_size": summary.size, "alpha": alpha,
    }  # fmt: skip
    shows = "{:,} values a side show a shift of {:.3g}{} with power {:.3g}."
    if shift is None:
        assert n is not None
        amount = planning.detectable_shift(summary, n, power=power, alpha=alpha)
        answer |= {"n": n, "shift": amount, "power": power}
        words = shows.format(n, amount, unit, power)
    else:
        amount = _shift(shift, summary)
        if n is None:
            n = planning.sample_size(summary, amount, power, alpha)
            words = f"A shift of {amount:.3g}{unit} takes {n:,} values a side at power {power:g}."
        else:
            power = planning.power(summary, amount, n, alpha=alpha)
            words = (
                f"{n:,} values a side show a shift of {amount:.3g}{unit} with power {power:.3g}."
            )
        answer |= {"n": n, "shift": amount, "power": power}
    if json:
        show_json(to_json(answer))
    else:
        notes = [] if quiet else _notes(summary)
        show_answer(words, [], notes)
    return 0


def _shift(text: str, summary: Summary) -> float:
    """A shift in data units: as it is, in percent of the median or in robust scales."""
    from dkmd.inference.scale import median_and_spread

    number, factor = text, 1.0
    if text.endswith("%"):
        if summary.minimum <= 0.0:
            raise ValueError(f"--shift {text}: a percentage needs values above 0 only")
        number, factor = text[:-1], summary.median() / 100.0
    elif text.endswith("sd"):
        number, factor = text[:-2], median_and_spread(summary)[1]
    try:
        return float(number) * factor
    except ValueError:
        raise ValueError(f"--shift takes a number, 3% or 0.1sd, got {text!r}") from None


def _notes(summary: Summary) -> list[str]:
    """What the pilot leaves open."""
    notes = [f"the pilot has {summary.size} values only"] if summary.size < 30 else []
    return notes + ([f"NaN in the pilot, left out: {summary.nan:,}"] if summary.nan else [])
