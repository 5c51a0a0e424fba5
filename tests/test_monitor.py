"""Monitors: the evidence against its definition, looks that cost nothing, state that adds up."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from conftest import VECTORS
from looks_arms import CELLS, Plan, asymptotic_evidence, fill, frozen, side_from, stopping_times
from scipy.stats import binom

import dkmd
from dkmd import Grid, Monitor, PairMonitor, StateFileError, Summary, Witness
from dkmd.base.errors import ColumnError, TooLittleError
from dkmd.inference.scale import unit_form
from dkmd.inference.sides import Form, Side
from dkmd.sequential.arms import TwoArms, evidence, spot
from dkmd.sequential.gathering import MOST_WAITING
from dkmd.sequential.looks import FILES
from dkmd.sequential.mixture import critical_t, log_evidence, prior_information


def _arms(seed: int, n: int, m: int, shift: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return shift + rng.normal(0.0, 1.0, n), rng.standard_t(3, m) * 1.7


@pytest.mark.parametrize("t", [0.0, 0.7, -2.4, 9.0])
@pytest.mark.parametrize(("df", "information", "r"), [(7.5, 3.0, 11.0), (900.0, 220.0, 4.0)])
def test_the_evidence_is_the_ratio_of_two_densities(
    t: float, df: float, information: float, r: float
) -> None:
    assert log_evidence(t, df, information, r) == pytest.approx(
        naive.log_mixture(t, df, information, r), abs=1e-11
    )


@pytest.mark.parametrize("limit", [math.log(20.0), math.log(1000.0)])
@pytest.mark.parametrize(("df", "information", "r"), [(30.0, 40.0, 5.0), (4000.0, 900.0, 60.0)])
def test_the_critical_t_is_where_the_evidence_reaches_its_limit(
    df: float, information: float, r: float, limit: float
) -> None:
    t = critical_t(df, information, r, limit)
    assert log_evidence(t, df, information, r) == pytest.approx(limit, abs=1e-10)


ORACLES = json.loads((VECTORS / "looks.json").read_text())
"""Made by benchmarks/looks_oracles.py."""


@pytest.mark.parametrize("case", ORACLES["savvi"])
def test_the_evidence_and_its_limit_are_those_of_savvi(case: dict[str, Any]) -> None:
    numbers = case["df"], case["information"], case["r"]
    assert log_evidence(case["t"], *numbers) == pytest.approx(-math.log(case["pvalue"]), abs=1e-9)
    reach = critical_t(*numbers, -math.log(case["alpha"])) * case["error"]
    ends = case["estimate"] - reach, case["estimate"] + reach
    assert ends == pytest.approx(case["ends"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLES["gbstats"])
def test_the_rival_sequence_of_means_is_that_of_gbstats(case: dict[str, Any]) -> None:
    """gbstats counts information as the number of values in both arms together."""
    total, alpha = case["total"], case["alpha"]
    r = prior_information(alpha, case["expected_total"])
    log_e = asymptotic_evidence(case["t"] ** 2, total, r)
    assert min(math.exp(-log_e), 1.0) == pytest.approx(case["pvalue"], rel=1e-9)
    for end in case["ends"]:
        z = (end - case["estimate"]) / case["error"]
        assert asymptotic_evidence(z**2, total, r) == pytest.approx(-math.log(alpha), abs=1e-9)


def test_no_t_is_enough_with_hardly_any_information() -> None:
    assert critical_t(3.0, 0.01, 5.0, math.log(20.0)) == math.inf
    assert log_evidence(math.inf, 3.0, 0.01, 5.0) < math.log(20.0)


def test_the_prior_is_best_where_a_decision_is_expected() -> None:
    """The shift that just decides at the expected information is smallest near this r."""
    alpha, expected = 0.02, 300.0
    r = prior_information(alpha, expected)

    def just_enough(prior: float) -> float:
        return critical_t(1e9, expected, prior, -math.log(alpha))

    assert just_enough(r) < just_enough(1.5 * r)
    assert just_enough(r) < just_enough(r / 1.5)


@pytest.mark.parametrize(("n", "m"), [(60, 25), (31, 170)])
def test_the_evidence_of_two_arms_is_that_of_the_definition(n: int, m: int) -> None:
    x, y = _arms(3, n, m)
    psi = Witness(1.3, 1.3)
    grid = Grid(0.0, 1.3 / 8)
    arms = TwoArms(Side.of(Summary.of(x, grid)), Side.of(Summary.of(y, grid)), psi, 0.9, 17.0)
    expected = naive.arms_log_e(x, y, (psi, psi.derivative), 0.9, 17.0)
    assert arms.evidence(0.0, 3.0).log_e == pytest.approx(expected, abs=1e-7)


def test_the_evidence_of_pairs_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0.3, 1.0, 70), rng.normal(0.0, 0.4, 70)
    psi = Witness(0.8, 0.8)
    result = PairMonitor(alpha=0.1, expected_n=90, witness=psi).update(x, y).result
    d = x - y
    center = naive.m_center(d, psi)
    own = d - center
    variance = psi(own).var(ddof=1) / (70 * np.mean(psi.derivative(own)) ** 2)
    t = psi(d).mean() / math.sqrt(psi(d).var(ddof=1) / 70)
    log_e = naive.log_mixture(t, 69, 0.8**2 / variance, prior_information(0.1, 90))
    assert result.shift == pytest.approx(center, abs=1e-8)
    assert math.log(result.evalue) == pytest.approx(log_e, abs=1e-7)


def test_the_sequence_holds_exactly_the_shifts_that_are_not_rejected() -> None:
    x, y = _arms(5, 90, 40, shift=0.4)
    witness = Witness(1.0, 1.0)
    low, high = Monitor(0.03, 100, witness=witness).update(x, y).result.interval
    for delta, inside in ((low + 1e-6, True), (low - 1e-6, False), (high - 1e-6, True)):
        result = Monitor(0.03, 100, witness=witness).update(x - delta, y).result
        assert (result.evalue < 1.0 / 0.03) is inside


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.5, 2.0, 40.0, -1e4])
def test_zero_is_outside_exactly_when_the_evidence_decides(shift: float) -> None:
    x, y = _arms(11, 120, 260, shift)
    result = Monitor(expected_n=150).update(x, y).result
    low, high = result.interval
    assert (low <= 0.0 <= high) == (result.evalue < 20.0)
    assert result.decided == (result.evalue >= 20.0)
    assert low < result.shift < high
    if result.decided:
        assert result.verdict == ("higher" if shift > 0 else "lower")


def test_swapping_the_arms_flips_the_signs() -> None:
    x, y = _arms(6, 150, 80, 1.6)
    witness = Witness(1.5, 1.5)
    one = Monitor(expected_n=100, witness=witness).update(x, y).result
    other = Monitor(expected_n=100, witness=witness).update(y, x).result
    assert (one.verdict, other.verdict) == ("higher", "lower")
    assert (one.direction, other.direction) == ("x is larger", "y is larger")
    assert one.shift == pytest.approx(-other.shift, abs=1e-9)
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-6)
    assert one.evalue == pytest.approx(other.evalue, rel=1e-9)


@pytest.mark.parametrize(("offset", "factor"), [(0.0, 1e-7), (1e9, 1.0), (-3.0, 1e12)])
def test_other_units_and_zero_points_give_the_same_answer(offset: float, factor: float) -> None:
    x, y = _arms(7, 200, 90, 0.4)
    plain = Monitor().update(x, y).result
    moved = Monitor().update(offset + factor * x, offset + factor * y).result
    assert moved.evalue == pytest.approx(plain.evalue, rel=1e-5)
    assert moved.shift == pytest.approx(factor * plain.shift, rel=1e-6)
    assert moved.information == pytest.approx(plain.information, rel=1e-5)


@pytest.mark.parametrize("how", ["witness", "reference"])
def test_order_and_batches_do_not_matter_with_a_witness_or_a_reference(how: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300), rng.normal(size=260)
    given: dict[str, Any] = {"reference": y} if how == "reference" else {"witness": Witness(1, 1)}
    whole, pieces = Monitor(**given), Monitor(**given)
    whole.update(x=x)
    for part in np.array_split(rng.permutation(x), 17):
        pieces.update(x=part)
    if how == "witness":
        whole.update(y=y)
        for value in y[::-1]:
            pieces.update(y=value)
    assert pieces.result.evalue == pytest.approx(whole.result.evalue, rel=1e-9)
    assert pieces.result.interval == pytest.approx(whole.result.interval, abs=1e-9)


def test_a_reference_fixes_y() -> None:
    monitor = Monitor(reference=np.random.default_rng(2).normal(size=80))
    with pytest.raises(ValueError, match="fixed reference"):
        monitor.update(y=[1.0])
    with pytest.raises(TooLittleError, match="24 values, of which 23"):
        Monitor(reference=np.arange(24.0))
    with pytest.raises(TooLittleError, match="4 differ from the most"):
        Monitor(reference=np.r_[np.zeros(90), 1, 2, 3, 4])


def test_looking_twice_gives_the_same_answer_and_the_smallest_p_stays() -> None:
    rng = np.random.default_rng(4)
    monitor = Monitor(expected_n=60, alpha=0.001)
    monitor.update(rng.normal(0.9, 1, 60), rng.normal(0, 1, 60))
    first = monitor.result
    assert monitor.result is first
    with pytest.warns(RuntimeWarning, match="neighbouring values of x are alike"):
        monitor.update(rng.normal(-2.0, 1, 60), rng.normal(0, 1, 60))
    assert monitor.result.evalue < first.evalue
    assert monitor.result.pvalue == first.pvalue == pytest.approx(1.0 / first.evalue)
    assert monitor.result.looks == 2


def test_a_decision_stays() -> None:
    rng = np.random.default_rng(4)
    monitor = Monitor(expected_n=60).update(rng.normal(2, 1, 50), rng.normal(0, 1, 40))
    assert monitor.result.verdict == "higher"
    monitor.update(x=rng.normal(-3, 1, 60))
    assert monitor.result.decided
    assert monitor.result.verdict == "higher"
    assert "decided after 50 and 40 values" in monitor.result.reason
    assert monitor.result.reason.endswith("of this look alone would not show it.")


def test_the_burn_in_needs_values_on_both_sides_that_vary() -> None:
    monitor = Monitor(burn_in=10).update(x=np.zeros(40), y=np.zeros(9))
    assert monitor.result.reason == "Too early: 40 and 9 values, and the burn-in needs 10 per side."
    monitor.update(y=[0.0, 1.0, 2.0, 3.0, 4.0])
    assert "of which 4 differ from the most frequent one" in monitor.result.reason
    assert monitor.grid is None
    monitor.update(y=[1.0])
    assert monitor.grid is not None
    assert math.isfinite(monitor.result.shift)
    assert monitor.result.verdict == "inconclusive"


def test_infinite_values_alone_have_no_scale() -> None:
    monitor = Monitor().update(np.full(60, math.inf), np.full(60, -math.inf))
    assert monitor.result.reason.startswith("Too early: 60 and 60 values, most of them infinite.")
    x, y = _arms(9, 400, 400)
    with pytest.warns(RuntimeWarning, match="neighbouring values of y are alike"):  # first −inf
        monitor.update(x, y)
    assert monitor.witness is not None


def test_the_batch_that_completes_the_burn_in_fixes_the_scale() -> None:
    x, y = _arms(9, 400, 400)
    monitor = Monitor().update(x[:30], y[:30])
    witness = monitor.witness
    monitor.update(100.0 * x[:89], 100.0 * y)
    assert monitor.witness == witness
    assert witness is not None
    assert witness.sigma == pytest.approx(dkmd.fit_witness(x[:30], y[:30]).sigma, rel=1e-3)


def test_a_fourfold_smaller_arm_chooses_the_width_again_but_not_the_margin() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(0.0, 2.0, 120), rng.lognormal(0.0, 2.0, 300)
    monitor = Monitor(margin="0.1sd").update(x[:30], y[:30])
    first, region = monitor.witness, monitor.region
    monitor.update(x[30:119], y[30:])
    assert monitor.witness == first
    monitor.update(x=x[119])
    assert monitor.witness is not None
    assert monitor.witness.sigma == pytest.approx(dkmd.fit_witness(x, y).sigma, rel=1e-2)
    assert monitor.witness != first
    assert monitor.region == region


def test_a_large_monitor_and_a_given_witness_keep_their_width() -> None:
    rng = np.random.default_rng(3)
    large = Monitor().update(rng.normal(size=1_600), rng.normal(size=1_600))
    given = Monitor(witness=Witness(2.0, 2.0)).update(rng.normal(size=30), rng.normal(size=30))
    fixed = Monitor(reference=rng.normal(size=100)).update(x=rng.normal(size=30))
    for monitor in (large, given, fixed):
        witness = monitor.witness
        monitor.update(x=9.0 * rng.normal(size=8_000))
        if monitor is not fixed:
            monitor.update(y=9.0 * rng.normal(size=8_000))
        assert monitor.witness == witness


def test_a_saved_monitor_chooses_its_width_when_the_first_one_does(tmp_path: Path) -> None:
    x, y = _arms(21, 100, 100)
    monitor = Monitor().update(x[:25], y[:25])
    monitor.save(tmp_path / "state")
    again = Monitor.load(tmp_path / "state")
    for each in (monitor, again):
        each.update(x[25:99], y[25:99]).update(x[99:], y[99:])
    assert again.witness == monitor.witness
    assert again.witness != Monitor.load(tmp_path / "state").witness


def test_a_monitor_saved_before_widths_were_chosen_again_goes_on_with_its_width(
    tmp_path: Path,
) -> None:
    path, (x, y) = tmp_path / "state", _arms(24, 200, 200, 0.5)
    monitor = Monitor(expected_n=50).update(x[:40], y[:30])
    before = monitor.result
    monitor.save(path)
    document = FILES.read(path)
    del document["frame"]["chosen_at"]
    FILES.write(path, document)
    old = Monitor.load(path)
    assert old.result == before
    assert (monitor.until_choice, old.until_choice) == (90, math.inf)
    for each in (monitor, old):
        each.update(x[40:], y[30:])
    assert monitor.witness != old.witness == Monitor.load(path).witness
    given = Monitor(expected_n=50, witness=old.witness).update(x, y)
    assert old.result.shift == pytest.approx(given.result.shift, rel=1e-3)


def test_a_long_burn_in_does_not_keep_all_values() -> None:
    monitor = Monitor()
    for _ in range(3):
        monitor.update(x=np.full(MOST_WAITING, 7.0), y=7.0)
    assert monitor.result.n_x == 3 * MOST_WAITING
    assert sum(batch.strides[0] * batch.size for batch in monitor._gathering.waiting[0]) == 0
    rng = np.random.default_rng(0)
    varied = Monitor().update(x=rng.normal(size=MOST_WAITING + 1))
    assert varied.grid is not None
    assert varied.witness is None
    assert varied.update(y=rng.normal(size=25)).witness is not None


def test_constants_that_differ_are_decided_by_their_number_only() -> None:
    """Nothing varies: E is at most half the number of relabellings."""
    result = Monitor().update(np.ones(25), np.zeros(30)).result
    assert result.verdict == "higher"
    assert result.evalue == pytest.approx(math.comb(55, 25) / 2, rel=1e-6)
    assert result.interval == (result.shift, result.shift)


def test_infinite_values_are_data_and_missing_values_are_counted() -> None:
    rng = np.random.default_rng(3)
    order = np.random.default_rng(0)
    x = order.permutation(np.r_[rng.normal(size=60), [math.inf] * 40, math.nan, math.nan])
    result = Monitor().update(x, np.r_[rng.normal(size=90), math.nan]).result
    assert (result.n_x, result.n_y, result.missing_x, result.missing_y) == (100, 90, 2, 1)
    assert result.verdict == "higher"
    far = order.permutation(np.r_[rng.normal(size=10), [math.inf] * 40])
    mostly = Monitor(expected_n=50).update(far, rng.normal(size=200))
    assert mostly.result.shift == mostly.result.interval[1] == math.inf
    assert mostly.result.verdict == "higher"
    assert mostly.result.to_dict()["shift"] is None


@pytest.mark.parametrize("kind", [bool, np.int32, np.float32])
def test_numbers_of_any_type_are_taken(kind: Any) -> None:
    x, y = np.arange(60) % 3 > 0, np.arange(45) % 3 > 1
    plain = Monitor().update(x.astype(float), y.astype(float)).result
    assert Monitor().update(x.astype(kind), y.astype(kind)).result == plain


def test_a_margin_gives_all_four_verdicts() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(10, 1, 3000)
    for shift, margin, verdict in (
        (0.5, 0.2, "higher"),
        (-0.5, "0.2sd", "lower"),
        (0.02, 0.2, "equivalent"),
        (0.2, 0.2, "inconclusive"),
    ):
        result = Monitor(margin=margin).update(rng.normal(10 + shift, 1, 3000), y).result
        assert result.verdict == verdict
        assert "margin of ±0.2" in result.reason


def test_relative_monitors_speak_percent() -> None:
    rng = np.random.default_rng(0)
    x, y = 1.1 * rng.lognormal(3, 0.2, 900), rng.lognormal(3, 0.2, 900)
    result = Monitor(margin="5%", relative=True).update(x, y).result
    assert result.shift == pytest.approx(0.1, abs=0.03)
    assert "x is larger by +9" in result.reason or "x is larger by +1" in result.reason
    assert result.relative
    logs = Monitor(margin=math.log(1.05)).update(np.log(x), np.log(y)).result
    assert result.shift == pytest.approx(math.expm1(logs.shift))
    with pytest.raises(ColumnError, match="2 of x are 0 or below"):
        Monitor(relative=True).update(x=[1.0, 0.0, -2.0])
    with pytest.raises(ValueError, match="need each other"):
        Monitor(margin="5%")


def test_what_is_not_supported_is_refused_with_a_way_out() -> None:
    for given, says in (
        ({"alternative": "greater"}, "mixture of its own"),
        ({"groups": ["a"]}, "independent values"),
        ({"pair_by": "host"}, "PairMonitor"),
        ({"witness": Witness(weight="linear")}, "bounded weight"),
        ({"alpha": 1.0}, "alpha"),
        ({"expected_n": 0}, "expected_n"),
        ({"burn_in": 1}, "burn_in"),
        ({"margin": "1pp"}, "percentage points"),
    ):
        with pytest.raises(ValueError, match=says):
            Monitor(**given)
    with pytest.raises(TypeError, match="real numbers"):
        Monitor().update(x=["a"])


def test_summaries_and_values_give_the_same_monitor() -> None:
    x, y = _arms(2, 90, 70, 0.5)
    grid = Grid.fit(x, y)
    binned = Monitor().update(Summary.of(x, grid), Summary.of(y, grid))
    assert binned.grid == grid
    assert binned.update(x=x[:5]).result.n_x == 95
    with pytest.raises(ValueError, match="another grid"):
        binned.update(x=Summary.of(x, Grid(0.0, 1.0)))


def test_summaries_of_shards_add_up_to_the_whole() -> None:
    x, y = _arms(12, 300, 210, 0.3)
    witness = Witness(1.2, 1.2)
    monitor, whole = (Monitor(witness=witness) for _ in range(2))
    assert monitor.grid is not None
    for i in range(3):
        monitor.update(*(Summary.of(side[i::3], monitor.grid) for side in (x, y)))
    expected = whole.update(x, y).result
    assert monitor.result.evalue == pytest.approx(expected.evalue, rel=1e-9)
    assert (monitor.result.n_x, monitor.result.n_y) == (300, 210)


def _monitors() -> list[Monitor | PairMonitor]:
    x, y = _arms(14, 80, 60, 0.6)
    young = Monitor(margin="0.1sd", alpha=0.01).update(x[:9], [math.inf, math.nan])
    decided = Monitor(expected_n=50).update(x + 2, y)
    assert decided.result.decided
    return [
        young,
        decided.update(x=[-100.0]),
        Monitor(reference=y).update(x=x),
        PairMonitor(relative=True, margin="3%").update(np.exp(x[:60]), np.exp(y)),
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_saved_monitor_goes_on_as_if_nothing_had_happened(number: int, tmp_path: Path) -> None:
    monitor = _monitors()[number]
    before = monitor.result
    path = tmp_path / "state"
    monitor.save(path)
    again = type(monitor).load(path)
    assert str(again.result) == str(before)  # NaN is not equal to NaN
    more = np.linspace(0.5, 1.5, 40)
    for each in (monitor, again):
        if isinstance(each, PairMonitor):
            each.update(more, more[::-1])
        else:
            each.update(x=more)
    assert str(again.result) == str(monitor.result)


def test_files_that_are_not_a_monitor_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    Monitor().save(path)
    whole = path.read_bytes()
    with pytest.raises(StateFileError, match="not the state of a PairMonitor"):
        PairMonitor.load(path)
    for content, says in (
        (whole[:-9], "truncated"),
        (b"hello", "not a saved dkmd monitor"),
        (gzip.compress(b'{"format": "dkmd-summary"}'), "not a saved dkmd monitor"),
        (_edited(whole, version=2), "install a newer dkmd"),
        (_edited(whole, best=3.0), "checksum does not match"),
    ):
        path.write_bytes(content)
        with pytest.raises(StateFileError, match=says):
            Monitor.load(path)
    with pytest.raises(FileNotFoundError):
        Monitor.load(tmp_path / "nothing")


def _edited(content: bytes, **changes: Any) -> bytes:
    return gzip.compress(json.dumps(json.loads(gzip.decompress(content)) | changes).encode())


def test_a_result_is_json() -> None:
    x, y = _arms(2, 60, 70)
    for monitor in (Monitor(), Monitor().update(x, y)):
        document = json.loads(json.dumps(monitor.result.to_dict(), allow_nan=False))
        assert set(document) >= {"verdict", "decided", "shift", "interval", "pvalue", "reason"}


def test_pairs_keep_what_units_share_out() -> None:
    rng = np.random.default_rng(5)
    unit = rng.normal(0, 30, 120)
    x, y = unit + rng.normal(0.5, 1, 120), unit + rng.normal(0, 1, 120)
    paired, apart = PairMonitor(expected_n=100).update(x, y), Monitor(expected_n=100).update(x, y)
    assert paired.result.verdict == "higher"
    assert apart.result.verdict == "inconclusive"
    assert "after" in paired.result.reason
    assert "pairs" in paired.result.reason


def test_pairs_without_a_difference_are_missing() -> None:
    race = PairMonitor().update([1.0, math.inf, math.nan, math.inf], [0.0, math.inf, 1.0, 2.0])
    assert (race.result.n_x, race.result.missing_x) == (2, 2)
    with pytest.raises(ValueError, match="as many values in x as in y, got 2 and 1"):
        race.update([1.0, 2.0], [1.0])


FEW = 150


@pytest.mark.slow
@pytest.mark.parametrize("family", [1, 6])
def test_false_alarms_are_rare_however_often_one_looks(family: int) -> None:
    """t2 and Bernoulli 1%, arms 1:3, looks at up to 3,000 values; ``make looks`` has more."""
    plan = Plan(family, ratio=3, most=3_000, alpha=0.1)
    stops = stopping_times(plan, FEW, seed=family)
    alarms = np.count_nonzero(stops, axis=0)
    assert alarms[0] <= binom.ppf(0.999, FEW, 0.1)
    assert alarms[1] > 3 * alarms[0]  # repeated Welch tests


def test_the_study_has_the_evidence_of_the_package() -> None:
    """Its coarser cells change ln E by less than a thousandth."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_t(2, 900) + 0.2, rng.standard_t(2, 900)
    monitor, done = Monitor(expected_n=300), 0
    cells = np.zeros((2, 2 * CELLS, 3))
    for n in (25, 140, 900):
        monitor.update(x[done:n], y[done:n])
        done = n
        origin, width, scale = frozen(x[:n], y[:n], unit_form())
        form = Form.of(Witness(width, width))
        cells[:] = 0.0
        sides = []
        for values, table in ((x, cells[0]), (y, cells[1])):
            fill(values, 0, n, origin, width, table)
            sides.append(side_from(table, float(n)))
        numbers = scale, prior_information(0.05, 150.0), math.log(20.0)
        at = spot(sides[0], sides[1], 0.0, 0.0, form)
        found = evidence(sides[0], sides[1], 0.0, 0.0, at, form, numbers)
        assert math.log(monitor.result.evalue) == pytest.approx(found[0], abs=1e-3)


def test_pairs_far_apart_beyond_all_noise_have_a_real_interval() -> None:
    """ψ of all differences is the same at 0, so the score there is infinite."""
    rng = np.random.default_rng(1)
    monitor = dkmd.PairMonitor(expected_n=50, relative=True)
    slow, fast = rng.normal(0.0, 0.001, 40), rng.normal(0.0, 0.01, 40)
    result = monitor.update(0.1 * np.exp(slow), 0.02 * np.exp(fast)).result
    assert result.verdict == "higher"
    assert 3.9 < result.interval[0] < result.shift < result.interval[1] < 4.1
