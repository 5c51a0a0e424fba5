"""Figures of answers: notebooks and plots show the curves of the page."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from outcomes import exact_outcome

import dkmd
from dkmd.answers.gate import gate
from dkmd.render.figures import colours, drawings
from dkmd.render.figures.curves import curves_of
from dkmd.render.plot import ForestLine, plot_forest
from dkmd.sources.files.benchmarks import Measurements


def test_notebook_and_plot_show_the_curves_of_the_page() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(12)
    answer = dkmd.compare(rng.normal(0, 1, 500), rng.normal(1, 1, 500))
    curves = curves_of(exact_outcome(answer.result))
    axes = answer.plot()
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    height = max(curves.reference.density.max(), curves.current.density.max())
    assert drawn["current"] == pytest.approx(curves.current.density / height)
    assert colours.LIGHT["up"] in {line.get_color() for line in axes.lines}
    plt.close(axes.figure)
    axes = answer.plot(kind="cdf")
    shares = {line.get_label(): line.get_ydata() for line in axes.lines}["reference"]
    assert shares == pytest.approx(curves.reference.steps[1])
    plt.close(axes.figure)
    with pytest.raises(ValueError, match="'density' or 'cdf', got 'pie'"):
        answer.plot(kind="pie")
    shown = answer._repr_html_()
    assert drawings.density(curves, colours.in_notebook("up")) in shown
    assert drawings.cdf(curves, colours.in_notebook("up")) in shown


def test_several_comparisons_have_bars_and_sparklines_in_a_notebook() -> None:
    rng = np.random.default_rng(3)
    old = pd.DataFrame({"a<b": rng.normal(size=300), "same": np.ones(300)})
    old.loc[0, "same"] = np.nan  # a constant has a row only if values are missing
    new = old.assign(**{"a<b": old["a<b"] + 1.0})
    text = dkmd.drift(old, new)._repr_html_()
    assert "a&lt;b" in text
    assert text.count("<svg") == 1 + 2 + 1  # an axis, a bar each, and one that can be drawn
    assert 'class="' not in text


def test_a_gate_in_a_notebook_is_a_table_with_pictures() -> None:
    rng = np.random.default_rng(3)

    def build(**factors: float) -> dict[str, Measurements]:
        return {
            name: Measurements("s", (f * rng.gamma(90.0, 0.01, 30)).tolist(), list(range(30)))
            for name, f in factors.items()
        }

    before = build(slow=1.0, same=1.0, **{"<b>gone</b>": 1.0})
    found = gate(before, build(slow=1.4, same=1.0), margin="5%")
    text = found._repr_html_()
    assert text.count("<svg") == 1 + 2 * 2  # the axis, and a bar and a picture for each row
    assert "<b>gone" not in text
    assert colours.EITHER["up"] in text  # the alarm of the slow one
    assert "FAILED" in text


def test_a_drift_is_plotted_as_a_forest() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(5)
    old = pd.DataFrame({"a$b": rng.normal(size=300), "far": rng.normal(size=300), "c": 1.0})
    old = old.assign(near=rng.normal(size=300))
    new = old.assign(**{"far": 900.0 + 0.01 * old["far"], "a$b": rng.normal(0.1, 1.0, 300)})
    found = dkmd.drift(old, new, ["a$b", "near", "far"], margin="0.2sd")
    axes = found.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(names) == [r"a\$b", "far", "near"]
    assert axes.get_xscale() == "asinh"
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert dots == pytest.approx([c.shift_in_scales for c in found.values()])
    axes.figure.canvas.draw()
    plt.close(axes.figure)
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_forest([ForestLine("a", "inconclusive", math.nan, (math.nan, math.nan))], "")


def test_counts_are_plotted_as_bars() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(13)
    axes = dkmd.compare(rng.poisson(3, 300), rng.poisson(3, 300)).plot()
    assert len(axes.collections) == 2
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["reference", "current"]
    plt.close(axes.figure)
