"""The cost plot: its marks stand where the figures are."""

from __future__ import annotations

import pytest

from agent.contract import CostDoc
from agent.report.html.plot import Entry, plot_costs
from tests.agent.report.runs_on_disk import a_cost


def entries(*values: float | None, basis: str = "predicted") -> list[Entry]:
    costs = [None if value is None else CostDoc.model_validate(a_cost(value, basis)) for value in values]
    return [Entry(n, cost, "kept" if n else "baseline") for n, cost in enumerate(costs)]


def test_cheaper_rounds_lie_lower_and_later_ones_to_the_right() -> None:
    (plot,) = plot_costs(entries(100.0, 80.0, 60.0), 700, 300)
    assert not plot.is_log
    assert [m.x for m in plot.marks] == sorted(m.x for m in plot.marks)
    assert [m.y for m in plot.marks] == sorted(m.y for m in plot.marks)
    assert all(m.high < m.y < m.low for m in plot.marks)
    # A linear axis begins at nothing: half the cost is half the height.
    (zero,) = [tick for tick in plot.up if tick.label == "0"]
    assert zero.at == plot.floor
    heights = [plot.floor - m.y for m in plot.marks]
    assert heights[2] / heights[0] == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("values", [(774.0, 57.0, 44.4), (0.002, 5.0), (3e6, 1.0), (1.0,), (5.0, 5.0), (0.0, 0.0)])
@pytest.mark.parametrize("width", [330, 760])
def test_every_mark_and_tick_lies_inside(values: tuple[float, ...], width: int) -> None:
    for plot in plot_costs(entries(*values), width, 260):
        places = [y for m in plot.marks for y in (m.y, m.low, m.high)] + [tick.at for tick in plot.up]
        assert all(0 < y <= plot.floor for y in places)
        assert all(plot.left <= m.x <= plot.right for m in plot.marks)
        assert 1 <= len(plot.up) <= 12


def test_a_wide_range_has_a_logarithmic_axis_that_says_so() -> None:
    (plot,) = plot_costs(entries(800.0, 40.0), 700, 300)
    assert plot.is_log
    assert [tick.label for tick in plot.up] == ["50", "100", "200", "500"] or len(plot.up) > 3


def test_a_round_without_a_cost_stands_on_the_axis_and_the_best_goes_on() -> None:
    (plot,) = plot_costs(entries(100.0, None, 60.0), 700, 300)
    assert plot.marks[1].y == plot.floor
    assert plot.best.count("V") == 1


def test_without_any_cost_there_is_no_plot() -> None:
    assert plot_costs(entries(None, None), 700, 300) == ()
    assert plot_costs([], 700, 300) == ()


def test_predicted_and_measured_have_a_plot_each() -> None:
    both = [*entries(100.0, 80.0), *entries(90.0, basis="measured")]
    assert [plot.basis for plot in plot_costs(both, 700, 300)] == ["predicted", "measured"]


def test_labels_of_many_rounds_do_not_run_into_each_other() -> None:
    (plot,) = plot_costs(entries(*(100.0 - n for n in range(61))), 330, 260)
    gaps = [b.at - a.at for a, b in zip(plot.across, plot.across[1:], strict=False)]
    assert min(gaps) >= 26
