"""What private totals cost loads and plants: the shares they have, and no more than a release asks."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.check.totals_exposure import TotalsExposure, totals_exposure
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.wall.facts import FactKind
from gridveil.wall.protection import Element


def exposed(network: Network, protect: str, alpha: float = 0.1, **more: object) -> dict[tuple[Element, int], float]:
    found = totals_exposure(network, gv.Plan(1.0, alpha, 0.01, protect=protect, **more))  # type: ignore[arg-type]
    assert isinstance(found, TotalsExposure)
    return dict(zip(zip(found.element, found.name, strict=True), found.total.tolist(), strict=True))


def test_a_load_moves_the_demand_by_its_share() -> None:
    network = gv.load("case14")
    pd, found = network.grid.buses.pd, exposed(network, "loads")
    assert set(found) == {(Element.LOAD, int(k)) for k in network.grid.buses.number[pd != 0]}
    for (_, bus), moved in found.items():
        share = float(pd[network.grid.buses.number == bus].sum() / pd.sum())
        assert moved == pytest.approx(abs(np.log1p(share * np.expm1(0.1))), rel=1e-6)


def test_a_plant_moves_capacity_and_merit_order_together() -> None:
    """With costs protected as well, the only cheap plant moves the merit-order cost by all of its change."""
    network = gv.load("case14")
    limits, both = exposed(network, "limits"), exposed(network, "limits,costs")
    assert both[Element.PLANT, 1] >= limits[Element.PLANT, 1] > 0
    assert both[Element.PLANT, 1] == pytest.approx(0.1, rel=0.01)
    assert limits[Element.PLANT, 3] == 0  # a condenser has no capacity
    wider = exposed(network, "limits", alpha=0.3)
    assert wider[Element.PLANT, 1] > 2.5 * limits[Element.PLANT, 1]


def test_the_cost_follows_the_dispatch_and_classes_move_as_one() -> None:
    network = gv.load("case5")
    found = totals_exposure(network, gv.Plan(1.0, 0.1, 0.01, protect="loads,costs"))
    assert found.kinds == (FactKind.DEMAND, FactKind.MERIT)
    assert np.nanmax(found.cost) > 0.01
    assert not found.infeasible.all()
    polynomial = network.grid.cost_p.polynomial.copy()
    polynomial[1] = polynomial[0]
    equal = Network(replace(network.grid, cost_p=replace(network.grid.cost_p, polynomial=polynomial)), network.lines)
    classes = totals_exposure(equal, gv.Plan(1.0, 0.1, 0.01, protect="costs", classes=True))
    assert set(classes.element) == {Element.COST_CLASS}
    assert len(classes.name) == len(np.unique(polynomial, axis=0))


def test_lines_have_no_totals_and_a_network_without_dispatch_none() -> None:
    network = gv.load("case14")
    with pytest.raises(ReleaseError, match="no totals"):
        totals_exposure(network, gv.Plan(1.0, 0.1, 0.01, protect="lines,ratings"))
    heavy = replace(network.grid, buses=replace(network.grid.buses, qd=network.grid.buses.qd + 5.0))
    with pytest.raises(ReleaseError, match="no optimal power flow"):
        totals_exposure(Network(heavy, network.lines), gv.Plan(1.0, 0.1, 0.01, protect="loads"))


def test_command() -> None:
    runner = CliRunner()
    plain = json.loads(runner.invoke(app, ["exposure", "case5", "--json"]).stdout)
    assert "totals" not in plain
    record = json.loads(runner.invoke(app, ["exposure", "case5", "--protect", "all", "--json"]).stdout)
    assert {key: value for key, value in record.items() if key != "totals"} == plain
    worst = record["totals"]["elements"][0]
    assert worst["loss"] == pytest.approx(0.1 * worst["moved"] / 0.0025)
    assert worst["moved"] == max(one["moved"] for one in record["totals"]["elements"])
    text = " ".join(runner.invoke(app, ["exposure", "case5", "--protect", "loads,limits"]).stdout.split())
    assert "loss by totals" in text and "plant" in text
    assert "total active demand" in text
    assert runner.invoke(app, ["exposure", "case5", "--protect", "lines"]).exit_code == 0
