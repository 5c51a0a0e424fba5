"""The first sentence of every kind of answer, in both directions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift
from dkmd.base.wording import short_p

RNG = np.random.default_rng(51)
BEFORE = RNG.gamma(4.0, 0.5, 900)


@pytest.mark.parametrize(("factor", "word"), [(1.0, "higher"), (-1.0, "lower")])
def test_a_clear_change_that_may_be_within_the_margin_has_its_direction(
    factor: float, word: str
) -> None:
    """A shift of 0.2 in either direction. It is smaller than 1, so only the sign can decide."""
    answer = compare(factor * BEFORE, factor * (BEFORE[:700] + 0.2), margin=0.2)
    assert answer.is_clear
    assert answer.verdict == "inconclusive"
    told = f"value is {word} in current than in reference, but whether by more than 0.2 is INCONC"
    assert answer.headline().startswith(told)


@pytest.mark.parametrize(("current", "word"), [(1.3, "HIGHER"), (0.7, "LOWER")])
def test_a_change_beyond_the_margin_is_said_in_capitals(current: float, word: str) -> None:
    answer = compare(BEFORE, current * BEFORE[:600], margin=0.1)
    told = f"value is {word} in current than in reference, by more than 0.1: "
    assert answer.headline().startswith(told)


def test_equivalent_unclear_and_impossible_answers_have_words_of_their_own() -> None:
    same = RNG.gamma(4.0, 0.5, 700)
    assert compare(BEFORE, same, margin=3.0).headline().startswith("value is EQUIVALENT up to 3: ")
    assert compare(BEFORE, same).headline().startswith("value: no clear change (INCONCLUSIVE): ")
    assert compare([1.0], [2.0]).headline().startswith("value cannot be compared.")


@pytest.mark.parametrize(
    ("sign", "more", "word"),
    [(1, True, "HIGHER"), (1, False, "LOWER"), (-1, True, "LOWER"), (-1, False, "HIGHER")],
)
def test_shares_at_infinity_are_said_with_a_quantile_that_both_sides_have(
    sign: int, more: bool, word: str
) -> None:
    """One side has 20% finite values, the other 70%. They share the lowest quantiles."""
    few, many = ([*range(1, 1 + k), *[math.inf] * (200 - k)] for k in (40, 140))
    pair = [sign * np.array(side, dtype=float) for side in ((many, few) if more else (few, many))]
    answer = compare(*pair)
    assert answer.verdict == ("higher" if word == "HIGHER" else "lower")
    shares = (80, 30) if more else (30, 80)
    infinity = "+inf" if sign > 0 else "−inf"
    assert answer.headline().startswith(
        f"value: {word} in current than in reference: {shares[0]}% of the values are at {infinity} "
        f"(never finished, for times), before {shares[1]}%; the "
    )
    told = "5% quantile is 10" if sign > 0 else "99% quantile is −2.990"
    assert f"; the {told}" in answer.headline()


def test_a_quantile_that_one_side_lacks_is_not_told() -> None:
    """One side is entirely at infinity, so no quantile is finite on both sides."""
    answer = compare([1.0, 2.0, 3.0, 4.0] * 5, [math.inf] * 30)
    assert "100% of the values are at +inf (never finished, for times), before 0%." in (
        answer.headline()
    )
    assert "quantile" not in answer.headline()


@pytest.mark.parametrize("end", [math.inf, -math.inf])
def test_two_sides_that_are_all_at_infinity_are_alike(end: float) -> None:
    answer = compare([end] * 3, [end] * 4)
    assert (answer.verdict, answer.changed) == ("inconclusive", [])
    assert answer.headline().startswith("value: no clear change (INCONCLUSIVE): 100% of the")


@pytest.mark.parametrize(
    ("name", "value"), [("missing, left out", math.nan), ("−inf", -math.inf), ("+inf", math.inf)]
)
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_missing_or_infinite_has_a_row_if_either_side_has_it(
    name: str, value: float, side: int
) -> None:
    pair = [BEFORE[:50], BEFORE[50:90]]
    pair[side] = np.append(pair[side], [value] * 3)
    rows = {row[0]: row[1:] for row in compare(*pair).rows()}
    assert rows[name] == (("3", "0", "") if side == 0 else ("0", "3", ""))
    assert len(set(rows) & {"missing, left out", "−inf", "+inf"}) == 1


def _two_columns(moved: float) -> dict[str, list[float]]:
    return {"a": [*(BEFORE[:300] + moved)], "b": [*BEFORE[300:600]]}


def test_one_of_several_answers_shows_its_adjusted_p_value() -> None:
    answers = drift(pd.DataFrame(_two_columns(0.0)), pd.DataFrame(_two_columns(0.15)))
    for answer in answers.values():
        assert answer.adjusted_pvalue is not None
        assert answer.adjusted_pvalue >= answer.pvalue
        assert f" (adjusted {short_p(answer.adjusted_pvalue)}), n = " in answer.headline()


@pytest.mark.parametrize(
    ("moved", "margin", "told"),
    [
        (
            2.0,
            0.5,
            "1 of 2 columns shifted (false-discovery rate 0.1), 1 of them by more than 0.5",
        ),
        (2.0, 5.0, "1 of 2 columns shifted (false-discovery rate 0.1), 0 of them by more than 5"),
        (2.0, None, "1 of 2 columns shifted (false-discovery rate 0.1)"),
        (0.0, 0.5, "No clear change in 2 columns (false-discovery rate 0.1)"),
        (0.0, None, "No clear change in 2 columns (false-discovery rate 0.1)"),
    ],
)
def test_a_tally_counts_shifts_beyond_the_margin_only_if_there_are_both(
    moved: float, margin: float | None, told: str
) -> None:
    frames = pd.DataFrame(_two_columns(0.0)), pd.DataFrame(_two_columns(moved))
    assert drift(*frames, margin=margin, alpha=0.1).tally() == told
