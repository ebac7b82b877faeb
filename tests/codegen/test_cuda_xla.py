"""Kernels in computations of JAX, launched by XLA's own calls.

Where JAX computes on a GPU, on that one; elsewhere XLA for the processor, on a device that it plays.
"""

import gc

import numpy as np
import pytest

import symbody as sb
from contracts import test_target_agrees_with_interpreter as kinds
from helpers.cuda_on_host import needs_compiler, play
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError

jax = pytest.importorskip("jax", minversion="0.5")
from symbody.codegen.cuda import driver, ffi, xla  # noqa: E402 - after the skip

pytestmark = needs_compiler
PLAYED = jax.default_backend() == "cpu"
played = pytest.mark.skipif(not PLAYED, reason="is about a device that is played")
N = 5


@pytest.fixture
def device(monkeypatch):
    """Double precision is on. Buffers of XLA for the processor are the memory of the played device."""
    if PLAYED:
        (made,) = play(monkeypatch)
        monkeypatch.setitem(xla.PLACES, "cpu", lambda frame, pointer: (made, 0))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def pendulum() -> sb.System:
    return sb.forward_dynamics(sb.load("pendulum2"))


def numbers(*shapes):
    rng = np.random.default_rng(3)
    return [rng.uniform(-1, 1, shape) for shape in shapes]


def laid(layout, array):
    return array if layout == "state" else np.ascontiguousarray(np.moveaxis(array, 0, -1))


@pytest.mark.parametrize("layout", ["state", "component"])
@pytest.mark.parametrize("precision", ["double", "single", "fast"])
def test_inside_of_jit_the_results_are_those_of_the_interpreter(device, layout, precision):
    system = pendulum()
    kernel = system.compile("cuda", layout=layout, precision=precision)
    q, qd, tau = numbers((N, 2), (N, 2), (2,))  # one effort for all states
    expected = system.compile("python")(q, qd, np.broadcast_to(tau, (N, 2)))
    function = kernel.jax()
    found = jax.jit(lambda *a: 2 * function(*a))(laid(layout, q), laid(layout, qd), tau)
    assert found.dtype == kernel.dtype
    tolerance = 1e-12 if precision == "double" else 1e-4
    np.testing.assert_allclose(found, 2 * laid(layout, expected), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(function(q[0], qd[0], tau), expected[0], rtol=tolerance, atol=tolerance)
    assert function(*(np.zeros((0, 2) if layout == "state" else (2, 0)) for _ in range(3))).size == 0


@pytest.mark.parametrize("make", [kinds.arrays, kinds.solve_block, kinds.mechanism, kinds.tables, kinds.choices])
def test_all_kinds_of_systems_with_all_their_outputs(device, make):
    with sb.Graph():
        system = make()
    state = kinds.states(system, N)
    expected = system.compile("python").call_named(**state)
    found = jax.jit(system.compile("cuda").jax())(*state.values())
    found = found if isinstance(found, tuple) else (found,)
    kinds.same("cuda", dict(zip(system.outputs, map(np.asarray, found), strict=True)), expected)


def test_a_state_whose_block_fails_is_nan(device):
    with sb.Graph():
        system = kinds.solve_block()
    x, y = system.compile("cuda").jax()(np.array([0.3, np.nan, 0.5]))
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[0]).all()
    assert np.isfinite(x[2]).all()


@pytest.mark.parametrize("layout", ["state", "component"])
def test_vmap_is_one_launch_of_all_states(device, layout, monkeypatch):
    system = pendulum()
    function = system.compile("cuda", layout=layout).jax()
    launched = []
    run = xla._run
    monkeypatch.setattr(xla, "_run", lambda *a: (launched.append(1), run(*a)))
    q, qd, tau = numbers((4, N, 2), (4, N, 2), (2,))
    exact = system.compile("python")(q, qd, np.broadcast_to(tau, q.shape))
    found = jax.vmap(function, in_axes=(0, 0, None))(q[:, 0], qd[:, 0], tau)  # over single states
    np.testing.assert_allclose(found, exact[:, 0], rtol=1e-12)
    both = jax.vmap(jax.vmap(function, in_axes=(0, 0, None)), in_axes=(0, 0, None))(q, qd, tau)
    np.testing.assert_allclose(both, exact, rtol=1e-12)
    assert len(launched) == 2
    # over batches of states: some that all batches share, some that all states of a batch share
    lay = np.stack([laid(layout, a) for a in q]), laid(layout, qd[0])
    efforts = numbers((4, 2))[0]
    found = jax.vmap(function, in_axes=(0, None, 0))(*lay, efforts)
    wanted = system.compile("python")(q, np.broadcast_to(qd[0], q.shape), np.repeat(efforts[:, None], N, axis=1))
    np.testing.assert_allclose(found, np.stack([laid(layout, a) for a in wanted]), rtol=1e-12)
    assert len(launched) == 3


@pytest.mark.parametrize("layout", ["state", "component"])
def test_gradients_are_those_of_the_jacobian_also_under_vmap(device, layout):
    system = pendulum()
    function = system.compile("cuda", layout=layout).jax()
    q, qd, tau, w = numbers((N, 2), (N, 2), (2,), (N, 2))
    given = laid(layout, q), laid(layout, qd), tau
    loss = jax.jit(lambda *a: (function(*a) * laid(layout, w)).sum())
    found = jax.grad(loss, argnums=(0, 2))(*given)
    efforts = np.broadcast_to(tau, (N, 2))
    by_q, by_tau = (system.jacobian("qdd", n).compile("python")(q, qd, efforts) for n in ("q", "tau"))
    np.testing.assert_allclose(found[0], laid(layout, np.einsum("bi,bik->bk", w, by_q)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[1], np.einsum("bi,bik->k", w, by_tau), rtol=1e-10, atol=1e-12)
    rows = jax.vmap(jax.jacrev(function), in_axes=(0, 0, None))(q, qd, tau)  # one state each
    np.testing.assert_allclose(rows, by_q, rtol=1e-10, atol=1e-12)


def test_parameters_are_bound_or_given_and_differentiated(device):
    system = pendulum()
    kernel, exact = system.compile("cuda"), system.compile("python")
    state = numbers((N, 2), (N, 2), (N, 2))
    masses = np.linspace(0.5, 2, N)
    for value in (1.7, masses):  # shared; a mass a state
        wanted = exact(*state, parameters={"m2": value})
        np.testing.assert_allclose(kernel.bind({"m2": value}).jax()(*state), wanted, rtol=1e-12)
        given = kernel.jax(["m2"])
        np.testing.assert_allclose(jax.jit(given)(*state, value), wanted, rtol=1e-12)
        found = jax.grad(lambda m, f=given: f(*state, m).sum())(value)
        h = 1e-30j
        by_mass = np.imag(exact(*state, parameters={"m2": value + h})).sum(axis=1) / 1e-30
        np.testing.assert_allclose(found, by_mass if np.ndim(value) else by_mass.sum(), rtol=1e-9)
    bound = kernel.bind({"m2": masses}).jax()
    stacked = [np.stack([a, 2 * a]) for a in state]
    expected = [exact(*(a[k] for a in stacked), parameters={"m2": masses}) for k in range(2)]
    np.testing.assert_allclose(jax.vmap(bound)(*stacked), expected, rtol=1e-12)
    with pytest.raises(NameLookupError, match="no parameter 'mm'"):
        kernel.jax(["mm"])
    with pytest.raises(ShapeError, match="'m2' has 5 states, and an array before it 3"):
        bound(*(a[:3] for a in state))


def test_many_derived_values_go_as_an_array(device, monkeypatch):
    monkeypatch.setattr("symbody.codegen.cuda.kernel_source.BY_VALUE", 8)
    system = pendulum()
    state = numbers((N, 2), (N, 2), (N, 2))
    found = system.compile("cuda").bind({"m2": 1.7}).jax()(*state)
    np.testing.assert_allclose(found, system.compile("python")(*state, parameters={"m2": 1.7}), rtol=1e-12)


def test_a_compiled_computation_keeps_what_it_launches(device):
    system = pendulum()
    state = numbers((N, 2), (N, 2), (N, 2))
    computation = jax.jit(system.compile("cuda").jax())
    before = computation(*state)
    gc.collect()
    np.testing.assert_array_equal(computation(*state), before)
    kept = len(xla._launches)
    system.compile("cuda").jax()(*state)
    assert len(xla._launches) == kept  # the same text with the same parameters


@played
def test_what_is_wrong_is_said(device, monkeypatch):
    kernel = pendulum().compile("cuda")
    function = kernel.jax()
    q = np.zeros((N, 2))
    with pytest.raises(ShapeError, match="'qd' has shape"):
        function(q, np.zeros((N, 3)), q)
    with pytest.raises(ShapeError, match="'qd' has 3 states"):
        function(q, q[:3], q)
    with pytest.raises(DefinitionError, match="2 arrays were given; expected q, qd, tau"):
        function(q, q)

    known = xla.launch_of(kernel)[0].digest

    def call(*arrays, digest=known, dtype=np.float64, shape=(N, 2)):
        return jax.ffi.ffi_call(xla.TARGET, [jax.ShapeDtypeStruct(shape, dtype)])(*arrays, digest=digest)

    for sentence, run in {
        "not in this process": lambda: call(q, q, q, digest="nobody"),
        "2 operands and 1 results": lambda: call(q, q),
        "'qdd' has numbers of type float32; this kernel takes float64": lambda: call(q, q, q, dtype=np.float32),
        "'qdd' has shape": lambda: call(q, q, q, shape=(2, N)),
    }.items():
        with pytest.raises(Exception, match=sentence):  # of XLA's own class
            run()
    monkeypatch.undo()
    with pytest.raises(Exception, match="'pendulum2_forward': its arrays are in the memory of the processor"):
        function(q + 1, q, q)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(DefinitionError, match="jax_enable_x64"):
        function(q.astype(np.float32), q, q)


@played
def test_a_stream_that_xla_does_not_have_is_said(device, monkeypatch):
    monkeypatch.setitem(xla.PLACES, "cpu", xla._on_cuda)
    monkeypatch.setattr(xla.on_device, "ordinal_of", lambda pointer: 0)
    with pytest.raises(Exception, match="XLA has no stream for this computation: "):
        pendulum().compile("cuda").jax()(*numbers((N, 2), (N, 2), (N, 2)))


@played
def test_the_launch_is_on_the_stream_and_the_device_of_the_computation(device, monkeypatch):
    """Stream_Get as XLA for CUDA answers it: this one is played, too."""
    seen = []

    @ffi.ASK
    def stream_get(asked):
        asked.contents.answer = 77
        return None

    def place(frame, pointer):
        api = ffi.Api.from_buffer_copy(frame.api.contents)
        api.stream_get = stream_get
        frame.api.contents = api
        return xla._on_cuda(frame, pointer)

    monkeypatch.setitem(xla.PLACES, "cpu", place)
    monkeypatch.setattr(xla.on_device, "ordinal_of", lambda pointer: seen.append(pointer) or 0)
    kernel = pendulum().compile("cuda")
    launch = xla.launch_of(kernel)[0]
    made = launch.function(driver.device(0))
    run = made.launch
    monkeypatch.setattr(made, "launch", lambda *a: (seen.append(a[-1]), run(*a)))
    kernel.jax()(*numbers((N, 2), (N, 2), (N, 2)))
    assert seen[0] > 0
    assert seen[1] == 77
