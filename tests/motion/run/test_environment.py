"""Environments: copies of a model stepped together are the motions of `simulate`, in Gymnasium's vector form."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError


def cart_pole() -> sb.Mechanism:
    b = sb.Mechanism.builder("cart_pole")
    b.body("cart", 1.0)
    b.body("pole", b.parameter("m", 0.2, "kg"), (0, 0, -0.5), (0.01, 0.01, 0))
    b.joint("slide", "prismatic", "world", "cart", axis="x")
    b.joint("hinge", "revolute", "cart", "pole", axis="y")
    return b.done()


def made(**options):
    given = dict(step=0.02, actions={"slide": (-10, 10)}, count=4, substeps=2, limit=5)
    return sb.environment(
        cart_pole(), "cos(q.hinge) - 0.01*tau.slide^2", {"q.hinge": (-0.1, 0.1), "qd": 0.2}, **{**given, **options}
    )


def test_steps_are_the_motion_of_simulate():
    env = made()
    first, info = env.reset(seed=1)
    assert first.shape == (4, 4)
    assert info == {}
    forces = np.array([[1.0], [-2.0], [30.0], [0.0]])
    seen, reward, terminated, truncated, _ = env.step(forces)
    cut = np.clip(forces, -10, 10)
    motion = sb.simulate(cart_pole(), 0.02, 0.01, first[:, :2], first[:, 2:], inputs={"slide": cut})
    np.testing.assert_allclose(seen, np.concatenate([motion.q[:, -1], motion.qd[:, -1]], axis=1), rtol=1e-12)
    np.testing.assert_allclose(reward, np.cos(motion.q[:, -1, 1]) - 0.01 * cut[:, 0] ** 2, rtol=1e-12)
    assert not terminated.any()
    assert not truncated.any()


def test_episodes_end_and_begin_again():
    env = made(terminate="q.slide - 0.35", limit=50)
    env.reset(seed=2)
    ended = np.zeros(4, dtype=bool)
    for _ in range(40):
        seen, _, terminated, _, info = env.step(np.full((4, 1), 10.0))
        if terminated.any():
            ended |= terminated
            assert (info["final_obs"][terminated, 0] > 0.35).all()
            assert (abs(seen[terminated, 0]) < 1e-12).all()
    assert ended.all()
    env = made()
    env.reset(seed=2)
    truncations = [env.step(np.zeros((4, 1)))[3].all() for _ in range(10)]
    assert truncations == [False] * 4 + [True] + [False] * 4 + [True]


def test_spaces_are_those_of_gymnasium():
    gymnasium = pytest.importorskip("gymnasium")
    env = made(observe=["p.pole", {"height": "cos(q.hinge)"}])
    first, _ = env.reset(seed=0)
    assert env.single_observation_space.shape == (4,)
    assert env.observation_space.contains(first)
    assert env.action_space.shape == (4, 1)
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert env.single_action_space.contains(np.array([10.0]))
    again, _ = made(observe=["p.pole", {"height": "cos(q.hinge)"}]).reset(seed=0)
    np.testing.assert_array_equal(first, again)


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(DefinitionError, match="reset the environment"):
        made().step(np.zeros((4, 1)))
    env = made()
    env.reset()
    with pytest.raises(ShapeError, match=r"actions has shape \(4,\); expected \(4, 1\)"):
        env.step(np.zeros(4))
    with pytest.raises(NameLookupError, match=r"no state 'q\.hing'"):
        sb.environment(cart_pole(), "1", {"q.hing": 0.0}, step=0.1, actions=["slide"]).reset()
    with pytest.raises(NameLookupError, match="no input 'slid'"):
        made(actions=["slid"])
    with pytest.raises(DefinitionError, match="lower one first"):
        made(actions={"slide": (1, -1)})
    with pytest.raises(sb.errors.SymbodyError, match=r"driver|device|nvrtc|torch"):
        made(device="cuda")
