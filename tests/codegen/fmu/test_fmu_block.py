"""FMUs of others: a block of inputs, states and outputs in a simulation; and our FMUs in an importer of others."""

import gc
import os
import shutil
import tempfile
import zipfile

import numpy as np
import pytest

import symbody as sb
from codegen.fmu.test_fmu import bouncing_ball, dahlquist, state_space, van_der_pol, written
from symbody.basics.errors import DefinitionError, ModelError
from symbody.codegen.interop import load_fmu

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")
VERSIONS = pytest.mark.parametrize("version", [2, 3])


@VERSIONS
def test_a_block_moves_as_the_equations_that_it_was_made_of(version, tmp_path):
    block = load_fmu(written(tmp_path, van_der_pol(), version, start={"x0": 2.0}))
    assert block.start == {"x0": 2.0, "x1": 0.0}
    for parameters in ({}, {"mu": 2.5}):
        found = sb.simulate(block.system, 2.0, states0=block.start, tolerance=1e-9, parameters=parameters)
        exact = sb.simulate(van_der_pol(), 2.0, states0=block.start, tolerance=1e-9, parameters=parameters)
        np.testing.assert_allclose(found["x0"], exact["x0"], rtol=1e-12)


def test_inputs_and_outputs_of_a_block(tmp_path):
    block = load_fmu(written(tmp_path, state_space(), 2, start={"x": [1.0, 2.0, 3.0]}))
    inputs = {name: 2.0 for name in block.system.inputs if name.startswith("u")}
    assert len(inputs) == 3
    outputs = [n for n in block.system.outputs if n.startswith("y")]
    found = sb.simulate(block.system, 1.0, states0=block.start, inputs=inputs, outputs=outputs, tolerance=1e-10)
    for k, name in enumerate(outputs):
        np.testing.assert_allclose(found[name][-1], (3.0 + k) * np.e, rtol=1e-8)


def actuator():
    """A torque that follows the angle q with a lag."""
    force, q = sb.symbol("force", "state"), sb.symbol("q")
    rate = 20 * (-3 * q - force)
    return sb.System("actuator", inputs={"force": force, "q": q}, outputs={"rate": rate, "torque": force},
                     states={"force": "rate"})  # fmt: skip


@VERSIONS
def test_a_block_drives_a_joint(version, tmp_path):
    """The FMU as a controller gives the motion that its own equations give."""
    arm = sb.load("pendulum2")
    joint = arm.joints[0].name

    def driver(system):
        names = {n: a for n, a in system.outputs.items() if n.startswith("torque") or n.endswith(("rate", "_dot"))}
        (torque,) = [n for n in names if n.startswith("torque")]
        (rate,) = [n for n in names if n != torque]
        inputs = {(f"q.{joint}" if n == "q" else n): a for n, a in system.inputs.items()}
        return sb.System(system.name, inputs=inputs, outputs={"force_dot": names[rate], f"tau.{joint}": names[torque]},
                         states={"force": "force_dot"})  # fmt: skip

    block = load_fmu(written(tmp_path, actuator(), version))
    motions = [
        sb.simulate(arm, 1.0, 1e-3, q0={joint: 0.4}, inputs={f"tau.{joint}": driver(system)})
        for system in (actuator(), block.system)
    ]
    np.testing.assert_allclose(motions[1][f"q.{joint}"], motions[0][f"q.{joint}"], rtol=1e-10, atol=1e-12)
    assert np.ptp(motions[0]["force"]) > 0.1


def test_what_cannot_be_a_block_is_refused_by_name(tmp_path):
    with pytest.raises(DefinitionError, match="1 event indicators"):
        load_fmu(written(tmp_path, bouncing_ball(), 2, start={"h": 1.0}))
    with pytest.raises(DefinitionError, match="'x' is an array"):
        load_fmu(written(tmp_path, state_space(), 3))
    with pytest.raises(ModelError, match="no file"):
        load_fmu(tmp_path / "missing.fmu")
    (tmp_path / "text.fmu").write_text("no archive")
    with pytest.raises(ModelError, match="cannot be read as an FMU"):
        load_fmu(tmp_path / "text.fmu")


@pytest.mark.slow
@pytest.mark.parametrize(("make", "start", "shown"), [
    (dahlquist, {"x": 1.0}, "x"), (van_der_pol, {"x0": 2.0}, "x0"), (bouncing_ball, {"h": 1.0}, "h"),
])  # fmt: skip
def test_a_second_importer_moves_it_alike(make, start, shown, tmp_path):
    """libcosim of the Open Simulation Platform, which shares no code with FMPy."""
    pytest.importorskip("libcosimpy")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    path = written(tmp_path, make(), 2, start=start)
    description = fmpy.read_model_description(path)
    place = next(v.valueReference for v in description.modelVariables if v.name == shown)
    execution = CosimExecution.from_step_size(step_size=1e-2 * 1e9)
    slave = execution.add_local_slave(CosimLocalSlave(fmu_path=path, instance_name="ours"))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    times, found = np.arange(1, 101) * 0.01, []
    for _ in times:
        assert execution.step()
        found.append(observer.last_real_values(slave_index=slave, variable_references=[place])[0])
    other = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=1.0, output_interval=0.01)
    np.testing.assert_allclose(found, np.interp(times, other["time"], other[shown]), rtol=1e-7, atol=1e-7)
    assert np.ptp(found) > 0.1


def test_an_fmu_that_cannot_be_loaded_leaves_no_folder_and_the_process_where_it_was(tmp_path, monkeypatch):
    path = written(tmp_path, van_der_pol(), 2)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, b"no library" if name.startswith("binaries/") else data)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = os.getcwd()
    with pytest.raises(ModelError, match="cannot be loaded as an FMU"):
        load_fmu(path)
    assert os.getcwd() == before
    gc.collect()
    assert not list((tmp_path / "temporary").iterdir())


def test_an_fmu_of_one_state_alone(tmp_path):
    x = sb.symbol("x", "state")
    block = load_fmu(
        written(
            tmp_path,
            sb.System("decay", inputs={"x": x}, outputs={"rate": -x}, states={"x": "rate"}),
            2,
            start={"x": 1.0},
        )
    )
    found = sb.simulate(block.system, 1.0, states0=block.start, tolerance=1e-9)
    np.testing.assert_allclose(found["x"][-1], np.exp(-1), rtol=1e-7)
