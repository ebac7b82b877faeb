"""`symbody examples` tells stored facts: they must be those of the models."""

from __future__ import annotations

import pytest

from symbody.model.load import bundled_names
from symbody.show.cli import bundled_facts
from symbody.show.cli.bundled_facts import computed_facts, facts


@pytest.mark.parametrize("name", ["pendulum2", "four_bar", "three_rrr_1", "slider_crank"])
def test_stored_facts_are_those_of_the_model(name, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(bundled_facts, "computed_facts", lambda name: pytest.fail(f"the facts of {name} are not stored"))
        stored = facts(name)
    assert stored == computed_facts(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled_names())
def test_stored_facts_of_all_models(name):
    assert facts(name) == computed_facts(name)


def test_all_models_have_stored_facts(monkeypatch):
    """After a change of a model: python -m symbody.show.cli.bundled_facts"""
    monkeypatch.setattr(bundled_facts, "computed_facts", lambda name: pytest.fail(f"the facts of {name} are old"))
    assert {facts(name)["closures"] > 0 for name in bundled_names()} == {True, False}


def test_a_changed_file_is_looked_at_again(monkeypatch):
    monkeypatch.setattr(bundled_facts, "_digest", lambda name: "another")
    assert facts("pendulum2") == computed_facts("pendulum2")


def test_degrees_of_freedom_are_those_of_textbooks():
    known = {"four_bar": 1, "slider_crank": 1, "stewart": 6, "delta": 3, "andrews_squeezer": 1, "bricard": 1, "ur5": 6}
    assert {name: facts(name)["mobility"] for name in known} == known
