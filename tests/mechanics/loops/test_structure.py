"""Block triangular form: the structures that are published (robotran 4.5, 4.6, 4.9), and its defining properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanics.loops.loop_models import three_loops, three_rrr
from symbody.basics.errors import ShapeError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.structure import block_triangular, match, unmatched
from symbody.mechanics.loops.rows.constraint_rows import constraints


def pattern_of(mechanism):
    return constraints(build_tree(mechanism)).pattern


def blocks(pattern, independent):
    """Blocks of J_v as (dependent coordinates, blocks before) with coordinates counted from 1."""
    v = [j for j in range(pattern.shape[1]) if j + 1 not in independent]
    return [({v[c] + 1 for c in b.columns}, b.after) for b in block_triangular(pattern[:, v])]


def sizes(found):
    return sorted(len(columns) for columns, _ in found)


# -- 4.5: a planar mechanism with three loops


def test_three_loops_have_the_published_pattern():
    rows = [{j + 1 for j in np.flatnonzero(row)} for row in pattern_of(three_loops())]
    assert rows == [{1, 2, 3}] * 2 + [{1, 5, 6}] * 2 + [{2, 4, 5, 7}] * 2


def test_two_independent_blocks_then_one_that_needs_both():
    first, second, third = blocks(pattern_of(three_loops()), {1})
    assert [len(b[0]) for b in (first, second, third)] == [2, 2, 2]
    assert first[1] == second[1] == ()
    assert third == ({4, 7}, (0, 1))


def test_three_blocks_in_cascade():
    assert blocks(pattern_of(three_loops()), {2}) == [({1, 3}, ()), ({5, 6}, (0,)), ({4, 7}, (1,))]


@pytest.mark.parametrize(
    ("independent", "expected"),
    [(1, [2, 2, 2]), (2, [2, 2, 2]), (3, [2, 2, 2]), (4, [6]), (5, [2, 2, 2]), (6, [2, 2, 2]), (7, [6])],
)
def test_every_choice_of_the_one_independent_coordinate(independent, expected):
    assert sizes(blocks(pattern_of(three_loops()), {independent})) == expected


# -- 4.6: four modellings of the planar 3-RRR


@pytest.mark.parametrize("model", [1, 2])
def test_serial_modellings_of_the_3rrr_have_the_published_pattern(model):
    rows = [{int(j) + 1 for j in np.flatnonzero(row)} for row in numbered(model)]
    short, long = {1, 2, 3, 4, 5}, {1, 2, 3, 7, 8}
    assert rows == [short, short, short | {6}, long, long, long | {9}]


def numbered(model, centre=False):
    """Pattern with columns in the order q1, q2, ... of the thesis."""
    mech = three_rrr(model, centre)
    names = [j.name for j in mech.joints if j.kind != "fixed"]
    order = sorted(range(len(names)), key=lambda i: int(names[i][1:]))
    return pattern_of(mech)[:, order]


@pytest.mark.parametrize(
    ("model", "centre", "independent", "expected"),
    [
        (1, False, {1, 6, 9}, [6]), (1, False, {3, 4, 7}, [1, 1, 4]), (1, False, {1, 2, 3}, [1, 1, 2, 2]),
        (2, False, {1, 4, 7}, [1, 1, 4]), (2, False, {3, 6, 9}, [6]), (2, False, {1, 2, 3}, [1, 1, 2, 2]),
        (3, True, {10, 11, 12}, [3, 3, 3]), (3, False, {10, 11, 12}, [1, 1, 1, 2, 2, 2]),
        (4, False, {7, 8, 9}, [2, 2, 2]),
    ],
)  # fmt: skip
def test_blocks_of_the_3rrr(model, centre, independent, expected):
    assert sizes(blocks(numbered(model, centre), independent)) == expected


# -- 4.9: BA2000 tram bogie, from its pattern


def test_blocks_of_the_tram_bogie():
    order = [23, 21, 22, 7, 8, 11, 12]
    rows = [{23}, {21}, {23, 22, 7, 8}, {23, 22, 7, 8}, {21, 7, 8}, {22, 11}, {23, 22, 7, 8, 12}]
    pattern = np.array([[j in row for j in order] for row in rows])
    found = [({order[c] for c in b.columns}, b.after) for b in block_triangular(pattern)]
    assert found == [({23}, ()), ({21}, ()), ({22, 7, 8}, (0, 1)), ({11}, (2,)), ({12}, (0, 2))]


# -- properties


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(0.05, 0.6))
def test_the_form_is_block_triangular_and_its_blocks_cannot_be_split(seed, n, density):
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < density
    pattern[np.arange(n), rng.permutation(n)] = True
    found = block_triangular(pattern)
    assert sorted(r for b in found for r in b.rows) == sorted(c for b in found for c in b.columns) == list(range(n))
    for k, b in enumerate(found):
        for other in found[k + 1 :]:
            assert not pattern[np.ix_(b.rows, other.columns)].any()  # nothing to the right
        needed = {m for m in range(k) if pattern[np.ix_(b.rows, found[m].columns)].any()}
        assert set(b.after) == needed
        assert all(pattern[r, c] for r, c in zip(b.rows, b.columns))
        assert not splits(pattern[np.ix_(b.rows, b.columns)])


def splits(square):
    """Whether a subset of rows needs just as many columns (Hall): then the block would be two."""
    n = len(square)
    for mask in range(1, 2**n - 1):
        rows = [i for i in range(n) if mask >> i & 1]
        if square[rows].any(axis=0).sum() <= len(rows):
            return True
    return False


def test_a_pattern_without_full_structural_rank_is_refused():
    pattern = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1]], dtype=bool)
    with pytest.raises(ShapeError, match="structural rank 2 of 3"):
        block_triangular(pattern)
    assert len(unmatched(pattern)) == 1
    assert (match(pattern) >= 0).sum() == 2
