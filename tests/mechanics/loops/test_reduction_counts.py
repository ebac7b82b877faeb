"""Operations of the reduction alone, against table 2.1 of robotran (T13).

The thesis prints no data of these robots. Its 60 operations of the Delta are exactly those of forearms without inertia:
three times I b, (I b) b^T, B^T c' and their sums, 3 (3 + 6 + 6 + 3 + 3), less 3 sums with zeros of M_uu. So
`delta_light` and `stewart_light` are compared; their heavy relatives have no published count, and stand here not to
grow. The six screws of `stewart_light` are alike and share their parameters.
"""

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import closed_state
from symbody.basics.errors import ModelError
from symbody.mechanics.verbs.smallest.reduction_cost import reduction


@pytest.mark.parametrize(
    ("name", "partition", "full", "published", "bound"),
    [
        ("delta_light", ["platform"], 900, 60, 55),
        ("delta_light", "auto", 900, 60, 57),
        ("stewart_light", "auto", 6840, 330, 329),
        ("delta", "auto", 900, None, 225),
        ("stewart", "auto", 6840, None, 1056),
        ("car", "auto", 78036, 1897, 828),
    ],
)
def test_the_reduction_takes_no_more_operations_than_published(name, partition, full, published, bound):
    found = reduction(sb.load(name), partition)
    assert found.dense == full
    assert found.operations <= bound
    assert published is None or found.operations <= published


@pytest.mark.parametrize("name", ["delta_light", "stewart_light"])
def test_what_is_counted_moves_as_the_reference_says(name):
    mech = sb.load(name)
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    found = sb.forward_dynamics(mech, "base", preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10 * np.abs(want).max())


def test_light_forearms_weigh_the_same():
    """Half a forearm at either end: the efforts that hold the robot still stay what they are."""
    heavy, light = sb.load("delta"), sb.load("delta_light")
    q = sb.assemble(heavy)
    zero = np.zeros(12)
    efforts = [sb.inverse_dynamics(m, "base").compile("python")(q, zero, zero) for m in (heavy, light)]
    np.testing.assert_allclose(efforts[1], efforts[0], rtol=1e-10, atol=1e-12)


def test_a_tree_has_nothing_to_reduce():
    with pytest.raises(ModelError, match="no loops"):
        reduction(sb.load("puma560"))
