"""The target cuda without a device: nvrtc takes its text; played by the processor it agrees with the interpreter."""

import numpy as np
import pytest

import symbody as sb
from contracts import test_target_agrees_with_interpreter as kinds
from helpers.cuda_on_host import needs_compiler, play
from symbody.basics.errors import CompileError, DefinitionError, DeviceError, ShapeError
from symbody.codegen.cuda import nvrtc
from symbody.codegen.cuda.device_array import DeviceArray
from symbody.codegen.cuda.kernel_source import kernel_text
from symbody.codegen.cuda.texts import folded
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.system.ports import gather_parameters
from symbody.symbolic.system.together import together

needs_nvrtc = pytest.mark.skipif(bool(nvrtc.lacks()), reason="nvrtc is not here")


def everything() -> sb.System:
    makers = (kinds.scalars, kinds.arrays, kinds.solve_block, kinds.tables, kinds.externals, kinds.choices)
    return together("everything", {make.__name__: make() for make in makers})


SYSTEMS = [everything, kinds.mechanism, kinds.loop]


@needs_nvrtc
@pytest.mark.parametrize("precision", ["double", "single", "fast"])
def test_nvrtc_compiles_the_text_without_a_device(precision):
    with sb.Graph():
        program = lower(everything())
    for layout, parameters in (("state", "shared"), ("component", "each")):
        made = kernel_text(program, precision, layout, parameters)
        image = nvrtc.compiled(made.text, "sm_90", made.options, keep=False)
        taken = image.resources[made.entry]
        assert image.code[:4] == b"\x7fELF"
        assert 0 < taken.registers <= 255


@needs_nvrtc
def test_a_long_program_is_cut_so_that_it_compiles_and_says_so():
    program = lower(sb.forward_dynamics(sb.load("puma560"), formalism="order_n"))
    made = kernel_text(program, long=200)
    assert made.functions.pieces > 1
    assert f"cut into {made.functions.pieces} functions" in made.text
    assert nvrtc.compiled(made.text, "sm_90", keep=False).resources[made.entry].stack >= 8 * made.functions.work


@needs_nvrtc
def test_the_compiler_says_what_is_wrong():
    with pytest.raises(CompileError, match="makes no code for sm_13"):
        nvrtc.compiled("", "sm_13", keep=False)
    with pytest.raises(CompileError, match="identifier"):
        nvrtc.compiled("__global__ void f() { nobody(); }", keep=False)


@needs_compiler
@pytest.mark.parametrize("make", SYSTEMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("long", [6000, 40])
def test_played_by_the_processor_it_agrees_with_the_interpreter(monkeypatch, make, long):
    play(monkeypatch)
    with sb.Graph():
        system = make()
    kernel, interpreter = system.compile("cuda", long=long), system.compile("python")
    for loop in ((), (5,), (2, 3)):
        state = kinds.states(system, *loop)
        kinds.same("cuda", kernel.call_named(**state), interpreter.call_named(**state))
    state = kinds.states(system, 4)
    if system.parameters:
        name = next(iter(system.parameters))
        default = np.asarray(system.default(name), float).reshape(system.parameters[name].shape)
        for value in (default * 1.2, default + np.linspace(0.1, 0.2, 4).reshape(4, *[1] * default.ndim)):
            expected = interpreter.call_named(**state, parameters={name: value})
            kinds.same("cuda", kernel.call_named(**state, parameters={name: value}), expected)
            kinds.same("cuda", kernel.bind({name: value}).call_named(**state), expected)


@needs_compiler
def test_a_block_that_fails_has_its_status_and_gives_no_number(monkeypatch):
    play(monkeypatch)
    with sb.Graph():
        system = kinds.solve_block()
    a = np.array([0.3, np.nan, 0.5])
    result, status = system.compile("cuda").call_with_status(a)
    expected, outcome = system.compile("python").call_with_status(a)
    np.testing.assert_array_equal(status, outcome)
    np.testing.assert_allclose(result.x, expected.x, rtol=1e-13)
    assert np.isnan(result.y[1]).all()
    with pytest.raises(sb.errors.SolveError):
        system.compile("cuda")(np.nan)


@needs_compiler
@pytest.mark.parametrize("layout", ["state", "component"])
@pytest.mark.parametrize("precision", ["double", "single", "fast"])
def test_arrays_on_the_device_stay_there(monkeypatch, layout, precision):
    (device,) = play(monkeypatch)
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel = system.compile("cuda", layout=layout, precision=precision)
    dtype = kernel.dtype
    rng = np.random.default_rng(1)
    host = [rng.uniform(-1, 1, (7, 2)) for _ in range(3)]
    lay = (lambda a: a) if layout == "state" else (lambda a: np.ascontiguousarray(a.T))
    given = [DeviceArray.of(lay(a), device, dtype) for a in host]
    expected = system.compile("python")(*host)
    found = kernel(*given)
    assert isinstance(found, DeviceArray)
    assert found.dtype == dtype
    tolerance = 1e-12 if precision == "double" else 1e-4
    np.testing.assert_allclose(lay(np.asarray(found)), expected, rtol=tolerance, atol=tolerance)
    # parameters per state, on the device and not; results into an array that is there
    masses = rng.uniform(0.5, 2, 7)
    out = DeviceArray((7, 2) if layout == "state" else (2, 7), dtype, device)
    kernel(*given, parameters={"m2": DeviceArray.of(masses, device, dtype)}, out=out)
    expected = system.compile("python")(*host, parameters={"m2": masses})
    np.testing.assert_allclose(lay(np.asarray(out)), expected, rtol=tolerance, atol=tolerance)
    again = kernel.bind({"m2": masses})(*given)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(out))
    with pytest.raises(ShapeError, match=f"by {layout}"):
        kernel(*(DeviceArray.of(lay(a).T, device, dtype) for a in host))
    with pytest.raises(ShapeError, match="numbers of type"):
        kernel(*(DeviceArray.of(lay(a), device, np.int32) for a in host))
    with pytest.raises(DeviceError, match="'qd' is not on a CUDA device"):
        kernel(given[0], host[1], given[2])
    with pytest.raises(ShapeError, match="'qd' has 3 states"):
        kernel(given[0], DeviceArray.of(lay(host[1][:3]), device, dtype), given[2])
    with pytest.raises(sb.errors.NameLookupError, match="no parameter 'mm'"):
        kernel(*given, parameters={"mm": given[0]})


@needs_compiler
def test_arrays_on_two_devices_are_refused(monkeypatch):
    one, two = play(monkeypatch, devices=2)
    kernel = sb.forward_dynamics(sb.load("pendulum2")).compile("cuda")
    first, other = (DeviceArray.of(np.zeros((3, 2)), d) for d in (one, two))
    with pytest.raises(DeviceError, match="'qd' is on device 1, and other arrays on device 0"):
        kernel(first, other, first)


@needs_compiler
def test_too_large_a_batch_is_refused_with_the_largest_that_fits(monkeypatch):
    play(monkeypatch, room=1 << 16)
    kernel = sb.forward_dynamics(sb.load("pendulum2")).compile("cuda")
    with pytest.raises(DeviceError, match="largest batch that fits has 972 states"):
        kernel(*(np.zeros((5000, 2)) for _ in range(3)))


@needs_compiler
def test_folded_parameters_are_in_the_text(monkeypatch):
    play(monkeypatch)
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel = system.compile("cuda", fold={"m2": 1.7})
    state = kinds.states(system, 3)
    expected = system.compile("python").call_named(**state, parameters={"m2": 1.7})
    kinds.same("cuda", kernel.call_named(**state), expected)
    with pytest.raises(DefinitionError, match="folded"):
        kernel.bind({"m2": 2.0})
    program = lower(system)
    assert not folded(program, gather_parameters(program.parameters, None)).parameters


@needs_compiler
def test_report_and_accuracy(monkeypatch):
    play(monkeypatch)
    system = sb.forward_dynamics(sb.load("pendulum2"))
    kernel = system.compile("cuda", precision="single", long=10)
    assert "too long for the registers: it was cut into" in str(kernel.report())
    states = np.random.default_rng(0).uniform(-1, 1, (3, 50, 2))
    assert 1e-9 < kernel.accuracy(*states)["qdd"] < 1e-4
    assert system.compile("cuda").accuracy(*states)["qdd"] < 1e-13


def test_functions_without_device_text_are_refused_by_name():
    with sb.Graph():
        x = sb.symbol("x")
        outside = sb.External("outside", 1, 1, function=lambda a: a)
        system = sb.System("s", inputs={"x": x}, outputs={"y": sb.extern(outside, x)})
        with pytest.raises(CompileError, match="'outside' from outside, which has no text for the device"):
            system.emit("cuda")


def test_without_a_device_the_call_says_what_is_missing():
    from symbody.codegen.cuda import driver

    if not driver.lacks():
        pytest.skip("there is a device")
    with pytest.raises((DeviceError, CompileError), match=r"driver|device|nvrtc"):
        sb.forward_dynamics(sb.load("pendulum2")).compile("cuda")


def test_sine_and_cosine_of_one_argument_share_a_call():
    text = sb.inverse_dynamics(sb.load("puma560"), formalism="base").emit("cuda")
    assert text.count("sincos(") >= 4
    assert " cos(q[" not in text


@needs_compiler
def test_the_transposed_kernel_gives_gradients_of_anything_made_of_the_outputs(monkeypatch):
    play(monkeypatch)
    for make in (kinds.mechanism, kinds.solve_block):
        with sb.Graph():
            system = make()
        kernel = system.compile("cuda")
        names = list(system.inputs)
        rng = np.random.default_rng(4)
        state = kinds.states(system, 6)
        weights = {n: rng.normal(size=(6, *f.shape)) for n, f in system.outputs.items()}
        found = kernel.transposed(names).call_named(**state, **{f"w_{n}": w for n, w in weights.items()})
        for name in names:
            expected = 0
            for n, f in system.outputs.items():
                matrix = system.jacobian(n, name).compile("python")(**state)
                flat = matrix.reshape(6, f.size, -1)
                expected = expected + np.einsum("bi,bik->bk", weights[n].reshape(6, -1), flat)
            np.testing.assert_allclose(found[f"d_{name}"].reshape(6, -1), expected, rtol=1e-9, atol=1e-11)
