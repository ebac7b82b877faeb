"""The usual call on tensors of PyTorch: both libraries are played, PyTorch by as much of it as such a call touches."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import symbody as sb
from contracts import test_target_agrees_with_interpreter as kinds
from helpers.cuda_on_host import needs_compiler, play
from symbody.basics.errors import DeviceError, ShapeError

pytestmark = needs_compiler
N = 6


class Tensor:
    """A tensor on a device: memory of NumPy."""

    is_cuda, requires_grad = True, False

    def __init__(self, array, ordinal=0):
        self.array, self.dtype, self.shape = array, TYPES[array.dtype.name], array.shape
        self.device = SimpleNamespace(index=ordinal)

    def get_device(self):
        return self.device.index

    def data_ptr(self):
        return self.array.ctypes.data

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def new_empty(self, shape, dtype=None):
        return made(np.zeros(shape), dtype or self.dtype, self.get_device())


class Kind(str):
    """torch.float64 and such: one object each."""


TYPES = {n: Kind(f"torch.{n}") for n in ("float64", "float32", "int32")}
Tensor.__module__ = "torch"


def made(array, dtype=TYPES["float64"], ordinal=0):
    """A tensor that begins at a multiple of 16 bytes, as PyTorch's do."""
    kind = np.dtype(str(dtype).partition(".")[2])
    room = np.zeros(array.size * kind.itemsize + 16, np.uint8)
    start = -room.ctypes.data % 16
    flat = room[start : start + array.size * kind.itemsize].view(kind).reshape(array.shape)
    flat[...] = array
    return Tensor(flat, ordinal)


@pytest.fixture
def torch(monkeypatch):
    library = SimpleNamespace(
        Tensor=Tensor, **TYPES, empty_like=lambda t: t.new_empty(t.shape), empty=None,
        cuda=SimpleNamespace(current_stream=lambda ordinal: SimpleNamespace(cuda_stream=0)),
        _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: 0),
    )  # fmt: skip
    library.empty = lambda shape, dtype, device: made(np.zeros(shape), dtype, int(device.partition(":")[2]))
    monkeypatch.setitem(sys.modules, "torch", library)
    library.devices = play(monkeypatch, devices=2)
    return library


def numbers(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, n, 2))


@pytest.mark.parametrize("layout", ["state", "component"])
def test_calls_of_several_sizes_devices_and_streams(torch, layout):
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel, exact = system.compile("cuda", layout=layout), system.compile("python")
    lay = (lambda a: a) if layout == "state" else np.transpose
    for n, ordinal in ((N, 0), (3, 0), (N, 0), (N, 1), (2, 0), (N, 1)):
        host = numbers(n, ordinal)
        given = [made(lay(a), ordinal=ordinal) for a in host]
        found = kernel(*given)
        assert type(found) is Tensor
        assert found.get_device() == ordinal
        np.testing.assert_allclose(lay(found.array), exact(*host), rtol=1e-12)
        out = made(np.zeros(found.shape), ordinal=ordinal)
        assert kernel(*given, out=out, stream=7) is out
        np.testing.assert_array_equal(out.array, found.array)
    assert kernel._on_tensors.last is not None
    assert len(kernel._on_tensors.plans) == 4


def test_several_outputs_and_the_status_of_each_state(torch):
    with sb.Graph():
        system = kinds.solve_block()
    a = np.array([0.3, np.nan, 0.5])
    result, status = system.compile("cuda").call_with_status(made(a))
    expected, outcome = system.compile("python").call_with_status(a)
    np.testing.assert_array_equal(status.array, outcome)
    np.testing.assert_allclose(result.x.array, expected.x, rtol=1e-13)
    assert np.isnan(result.y.array[1]).all()


def test_threads_do_not_meet(torch):
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel, exact = system.compile("cuda"), system.compile("python")
    wrong = []

    def work(seed):
        host = numbers(N, seed)
        given, expected = [made(a) for a in host], exact(*host)
        for _ in range(200):
            if not np.allclose(kernel(*given).array, expected, rtol=1e-12):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_what_does_not_suit_is_done_or_refused_the_general_way(torch):
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel, exact = system.compile("cuda"), system.compile("python")
    host = numbers(N)
    given = [made(a) for a in host]
    kernel(*given)
    one = made(host[2][0])  # an effort for all states
    np.testing.assert_allclose(kernel(*given[:2], one).array, exact(*host[:2], np.tile(host[2][0], (N, 1))), rtol=1e-12)
    masses = np.linspace(0.5, 2, N)
    wanted = exact(*host, parameters={"m2": masses})
    np.testing.assert_allclose(kernel(*given, parameters={"m2": made(masses)}).array, wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.bind({"m2": masses})(*given).array, wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.bind({"m2": made(masses)})(*given).array, wanted, rtol=1e-12)
    with pytest.raises(ShapeError, match="'qd' has 3 states"):
        kernel(given[0], made(host[1][:3]), given[2])
    with pytest.raises(ShapeError, match="'qd' has numbers of type <f4"):
        kernel(given[0], made(host[1], TYPES["float32"]), given[2])
    with pytest.raises(ShapeError, match="has strides"):
        kernel(given[0], Tensor(np.zeros((2, N)).T), given[2])
    with pytest.raises(DeviceError, match="'qd' is on device 1"):
        kernel(given[0], made(host[1], ordinal=1), given[2])
    off = Tensor(made(np.zeros(2 * N + 1)).array[1:].reshape(N, 2))  # 8 bytes behind a multiple of 16
    with pytest.raises(ShapeError, match="'qd' begins at an address that is no multiple of 16 bytes"):
        kernel(given[0], off, given[2])
    with pytest.raises(ShapeError, match="'out for qdd' begins at an address"):
        kernel(*given, out=off)
