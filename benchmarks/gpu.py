"""Programs on a GPU: kernels against the speed of its memory, marches, batches of all sizes, MJX, the processor.

    python benchmarks/gpu.py --prepare FOLDER     where symbody and its models are; needs no GPU
    python benchmarks/gpu.py FOLDER --out TABLE   where the GPU is: PyTorch, and JAX with mujoco-mjx for that column
    python benchmarks/gpu.py FOLDER --texts FILE  digests of the texts that are measured; needs no GPU

FOLDER has all that the second command reads: equations as saved Systems, states, the MJCF file of the robot. Arrays
live on the device; times are those of the device's own events, the median of several, after a call that is not counted.
Where digests are those of gpu_h200_texts.json, gpu_h200.json has the figures of the same texts.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb

ROBOTS = ("ur5", "panda")
LOOPS = ("four_bar", "stewart", "car")
MARCHES = [("ur5", m, p) for m in ("rk4", "semi_implicit_euler") for p in ("double", "single", "fast")]
MARCHES += [("ur5", "dopri5", "double"), ("panda", "rk4", "double"), ("panda", "rk4", "single")]
STATES = 4_000_000
HUMANOID = "talos_data/robots/talos_reduced.urdf"


# -- what the device's machine may lack


def prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ROBOTS:
        mech = sb.load(name)
        sb.inverse_dynamics(mech).save(folder / f"{name}_inverse.json")
        sb.forward_dynamics(mech).save(folder / f"{name}_forward.json")
    for name in LOOPS:
        _prepare_loop(folder, name)
    sb.save(sb.load("ur5"), folder / "ur5.xml")
    urdf = _humanoid()
    if urdf is not None:
        mech = sb.load(urdf)
        sb.inverse_dynamics(mech, formalism="order_n").save(folder / "talos_inverse.json")
        sb.forward_dynamics(mech, formalism="order_n").save(folder / "talos_forward.json")


def _prepare_loop(folder: Path, name: str) -> None:
    """Equations of a closed mechanism, and states of a motion of it: any others would not close."""
    mech = sb.load(name)
    system = sb.forward_dynamics(mech)
    system.save(folder / f"{name}_forward.json")
    motion = sb.simulate(mech, 0.05, 1e-3, sampling=26)
    known = {"q": motion.q, "qd": motion.qd, "t": motion.t}
    states = {}
    for n, symbols in system.inputs.items():
        values = known.get(n)
        if values is not None and values.shape[1:] == symbols.shape:
            states[n] = values
        else:
            states[n] = np.random.default_rng(0).uniform(-1, 1, (len(motion.t), *symbols.shape))
    np.savez_compressed(folder / f"{name}_states.npz", **states)


def _humanoid() -> Path | None:
    try:
        place = Path(importlib.metadata.distribution("example-robot-data").locate_file("."))
    except importlib.metadata.PackageNotFoundError:
        return None
    found = place / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / HUMANOID
    return found if found.exists() else None


# -- clocks


def seconds(run: Callable[[], Any], most: float = 0.15) -> float:
    """Of one call on the device, by its events: the median of several groups of calls."""
    import torch

    run()
    torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    calls = max(1, min(200, int(most / 5 / max(time.perf_counter() - began, 1e-6))))
    readings = []
    for _ in range(5):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(calls):
            run()
        last.record()
        torch.cuda.synchronize()
        readings.append(first.elapsed_time(last) / 1e3 / calls)
    return statistics.median(readings)


def copy_bandwidth() -> float:
    """Bytes read and written a second, of a large copy within the device."""
    import torch

    source = torch.rand(1 << 29, dtype=torch.float64, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / seconds(lambda: target.copy_(source))


# -- tables


def inputs_of(system: sb.System, n: int, layout: str, dtype: Any, states: dict[str, np.ndarray] | None) -> list[Any]:
    import torch

    made = []
    for name, symbols in system.inputs.items():
        if states is None:
            a = torch.rand((n, *symbols.shape), dtype=dtype, device="cuda") * 2 - 1
        else:
            a = torch.tensor(np.resize(states[name], (n, *symbols.shape)), dtype=dtype, device="cuda")
        made.append(a if layout == "state" else a.movedim(0, -1).contiguous())
    return made


def precisions(path: Path) -> tuple[str, ...]:
    """Those in which a saved System is measured: large ones take long to build."""
    return ("double", "single", "fast") if path.stat().st_size < 100_000 else ("double", "single")


def layouts(name: str) -> tuple[str, ...]:
    return ("component", "state") if name.startswith("ur5") else ("component",)


def kernel_rows(folder: Path, bandwidth: float, table: dict[str, Any]) -> None:
    """States a second of every kernel, the part of the copy's bandwidth, registers and spills."""
    import torch

    rows = table["kernels"] = []
    found = sorted(folder.glob("*_inverse.json")) + sorted(folder.glob("*_forward.json"))
    found.sort(key=lambda path: path.stat().st_size)  # those that take long to build come last
    for path in found:
        system = sb.System.load(path)
        name = path.stem
        given = folder / f"{name.rsplit('_', 1)[0]}_states.npz"
        states = dict(np.load(given)) if given.exists() else None
        for precision in precisions(path):
            dtype = torch.float64 if precision == "double" else torch.float32
            for layout in layouts(name):
                began = time.perf_counter()
                kernel = system.compile("cuda", precision=precision, layout=layout)
                built = time.perf_counter() - began
                n = STATES if "talos" not in name else STATES // 8
                arrays = inputs_of(system, n, layout, dtype, states)
                out = kernel(*arrays)
                size = sum(a.nbytes for a in arrays) + (
                    sum(o.nbytes for o in out) if isinstance(out, tuple) else out.nbytes
                )
                if system.outputs and any(s for s in [kernel.program.blocks]):
                    size += 4 * n * len(kernel.program.blocks)
                taken = seconds(lambda k=kernel, a=arrays, o=out: k(*a, out=o))
                report = kernel.report()
                rows.append({
                    "kernel": name, "precision": precision, "layout": layout, "states/s": n / taken,
                    "of the copy": size / taken / bandwidth, "registers": report.registers,
                    "spills": report.spill_stores, "occupancy": round(report.occupancy, 2), "pieces": report.pieces,
                    "build s": round(built, 2),
                })  # fmt: skip
                print(rows[-1], flush=True)
                del arrays, out


def accuracy_rows(folder: Path, table: dict[str, Any]) -> None:
    """Against the interpreter in double precision, on 1000 states."""
    rows = table["accuracy"] = []
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_size):
        system = sb.System.load(path)
        given = folder / f"{path.stem.rsplit('_', 1)[0]}_states.npz"
        rng = np.random.default_rng(0)
        states = [rng.uniform(-1, 1, (500, *s.shape)) for s in system.inputs.values()]
        if given.exists():
            stored = np.load(given)
            states = [stored[n] for n in system.inputs]
        row: dict[str, Any] = {"kernel": path.stem}
        for precision in precisions(path):
            kernel = system.compile("cuda", precision=precision)
            row[precision] = max(kernel.accuracy(*states).values())
        rows.append(row)
        print(row, flush=True)


def size_rows(folder: Path, table: dict[str, Any]) -> None:
    """Batches of all sizes; what a call costs from Python; two streams at once."""
    import torch

    system = sb.System.load(folder / "ur5_forward.json")
    kernel = system.compile("cuda", layout="component")
    rows = table["sizes"] = []
    for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000):
        arrays = inputs_of(system, n, "component", torch.float64, None)
        out = kernel(*arrays)
        taken = seconds(lambda a=arrays, o=out: kernel(*a, out=o))
        rows.append({"states": n, "us": 1e6 * taken, "states/s": n / taken})
        print(rows[-1], flush=True)
    arrays = inputs_of(system, 1000, "component", torch.float64, None)
    calls = []
    for _ in range(7):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(500):
            kernel(*arrays)
        calls.append((time.perf_counter() - began) / 500)
        torch.cuda.synchronize()
    alone = []
    for _ in range(200):
        began = time.perf_counter()
        kernel(*arrays)
        torch.cuda.synchronize()
        alone.append(time.perf_counter() - began)
    table["call of 1000 states, us"] = {"launched": 1e6 * min(calls), "and waited for": 1e6 * statistics.median(alone)}
    print(table["call of 1000 states, us"], flush=True)
    streams = [torch.cuda.Stream() for _ in range(2)]
    arrays = inputs_of(system, 1_000_000, "component", torch.float64, None)
    outs = [kernel(*arrays) for _ in range(2)]
    torch.cuda.synchronize()

    def two() -> None:
        for stream, out in zip(streams, outs):
            with torch.cuda.stream(stream):
                kernel(*arrays, out=out)

    two()
    torch.cuda.synchronize()
    table["two streams agree"] = bool(torch.equal(outs[0], outs[1]))


def march_of(model: Any, method: str, precision: str, **options: Any) -> tuple[Any, Any]:
    """The march of a model on the device, and the Flow that it is of."""
    from symbody.motion.flow.connect import connect
    from symbody.motion.flow.of_mechanism import mechanism_flow
    from symbody.motion.flow.of_system import system_flow
    from symbody.motion.flow.signals import InputSignals
    from symbody.motion.march.device_march import DeviceMarch
    from symbody.motion.march.method_tables import METHODS
    from symbody.motion.methods.device_stepper import equations_of

    flow = mechanism_flow(model) if isinstance(model, sb.Mechanism) else system_flow(model)
    connected = connect(flow, [])
    signals = InputSignals(connected, 0.0, 1e-3, None)
    table = METHODS[method]
    equations = equations_of(connected.flow, signals, splitting=method == "semi_implicit_euler")
    return DeviceMarch(equations, table, precision), connected.flow


def march_rows(table: dict[str, Any]) -> None:
    """Steps a second of the robot with the state in registers."""
    import torch

    from symbody.motion.march.device_march import even_schedule

    rows = table["marches"] = []
    for name, method, precision in MARCHES:
        march, flow = march_of(sb.load(name), method, precision)
        dtype = torch.float64 if precision == "double" else torch.float32
        n, steps = 1_000_000, 200
        x = torch.rand((n, flow.nx), dtype=dtype, device="cuda") - 0.5
        schedule = even_schedule(0.0, 1e-3, steps)
        taken = seconds(lambda m=march, x=x, s=schedule: m.fixed(x, s), most=1.0)
        r = march.resources()
        rows.append({
            "model": name, "method": method, "precision": precision, "members": n, "steps": steps,
            "steps/s": n * steps / taken, "registers": r.registers, "spills": r.spill_stores,
        })  # fmt: skip
        print(rows[-1], flush=True)


def quarter_car() -> sb.System:
    """A wheel and a body on it over a wavy road; m, kg, N/m, N s/m."""
    zw, zb, vw, vb = (sb.symbol(n, "state") for n in ("zw", "zb", "vw", "vb"))
    t = sb.symbol("t", "time")
    mb, mw, k, c, kt = (
        sb.symbol(n, "parameter", default=d)
        for n, d in (("mb", 400.0), ("mw", 40.0), ("k", 2e4), ("c", 1500.0), ("kt", 1.8e5))
    )
    force = k * (zw - zb) + c * (vw - vb)
    road = 0.02 * sb.sin(12 * t)
    return sb.System(
        "quarter_car", inputs={"zw": zw, "zb": zb, "vw": vw, "vb": vb, "t": t},
        outputs={"dzw": vw, "dzb": vb, "dvw": (kt * (road - zw) - force) / mw, "dvb": force / mb},
        states={"zw": "dzw", "zb": "dzb", "vw": "dvw", "vb": "dvb"},
    )  # fmt: skip


def text_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every text that is measured, without its comments and empty lines."""
    texts = {}
    for path in sorted([*folder.glob("*_inverse.json"), *folder.glob("*_forward.json")]):
        system = sb.System.load(path)
        for precision in precisions(path):
            for layout in layouts(path.stem):
                texts[f"{path.stem} {precision} {layout}"] = system.emit("cuda", precision=precision, layout=layout)
    for name, method, precision in MARCHES:
        texts[f"{name} {method} {precision}"] = march_of(sb.load(name), method, precision)[0].text().text
    march = march_of(quarter_car(), "rk4", "double")[0]
    texts["quarter_car"] = march.text(each=True).text
    texts["quarter_car reduced"] = march.text(each=True, reduce=True).text
    return {name: hashlib.sha256(_bare(text).encode()).hexdigest() for name, text in texts.items()}


def _bare(text: str) -> str:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in plain.splitlines() if line.strip())


def many_runs(table: dict[str, Any]) -> None:
    """A million quarter-cars with parameters of their own, 1 s at 1 ms: through simulate, and on the device alone."""
    import torch

    from symbody.motion.march.device_march import even_schedule

    n, rng = 1_000_000, np.random.default_rng(0)
    values = {p: rng.uniform(0.7, 1.3, n) * d for p, d in (("mb", 400.0), ("mw", 40.0), ("k", 2e4), ("c", 1500.0))}
    march, flow = march_of(quarter_car(), "rk4", "double")
    x = torch.zeros((n, flow.nx), dtype=torch.float64, device="cuda")
    own = {p: torch.tensor(v, device="cuda") for p, v in values.items()}
    schedule = even_schedule(0.0, 1e-3, 1000)
    taken = seconds(lambda: march.fixed(x, schedule, parameters=own), most=1.0)
    row = table["10^6 quarter-cars of 1 s at 1 ms"] = {"device s": taken, "steps/s": n * 1000 / taken}
    try:
        began = time.perf_counter()
        motion = sb.simulate(quarter_car(), 1.0, 1e-3, parameters=values, states0={"zw": np.zeros(n)}, device="cuda",
                             reduce=["mean", "min", "max"])  # fmt: skip
        row["simulate s"] = time.perf_counter() - began
        few = {p: v[:64] for p, v in values.items()}
        there = sb.simulate(quarter_car(), 1.0, 1e-3, parameters=few, states0={"zw": np.zeros(64)})
        far = max(float(np.abs(motion[s][:64, -1] - there[s][:, -1]).max() / np.abs(there[s]).max())
                  for s in ("zw", "zb", "vw", "vb"))  # fmt: skip
        row["difference from the processor"] = far
    except sb.errors.SymbodyError as error:  # a machine without LLVM has no column of the processor
        row["simulate s"] = str(error)[:80]
    print(row, flush=True)


def processor_rows(folder: Path, table: dict[str, Any]) -> None:
    """The same Systems as native code of one core, and of all."""
    rows = table["processor"] = []
    for path in [*(folder / f"{n}_{w}.json" for n in ROBOTS for w in ("inverse", "forward")),
                 *(folder / f"{n}_forward.json" for n in LOOPS),
                 *(folder / f"talos_{w}.json" for w in ("inverse", "forward"))]:  # fmt: skip
        if not path.exists():
            continue
        system = sb.System.load(path)
        try:
            kernel = system.compile()
            kernel.wait()
        except sb.errors.SymbodyError as error:
            table["processor"] = str(error)[:80]
            return
        given = folder / f"{path.stem.rsplit('_', 1)[0]}_states.npz"
        n = 200_000 if not given.exists() else 20_000
        stored = dict(np.load(given)) if given.exists() else None
        rng = np.random.default_rng(0)
        arrays = [
            rng.uniform(-1, 1, (n, *s.shape)) if stored is None else np.resize(stored[name], (n, *s.shape))
            for name, s in system.inputs.items()
        ]
        row: dict[str, Any] = {"kernel": path.stem}
        for what, threads in (("one core", 1), ("all cores", None)):
            best = np.inf
            for _ in range(3):
                began = time.perf_counter()
                kernel(*arrays, threads=threads)
                best = min(best, time.perf_counter() - began)
            row[f"states/s, {what}"] = n / best
        rows.append(row)
        print(row, flush=True)


def mjx_rows(folder: Path, table: dict[str, Any]) -> None:
    """MJX on the same robot, from the MJCF file that symbody wrote: inverse and forward dynamics of a batch."""
    import os

    os.environ.setdefault("MUJOCO_GL", "disable")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import mujoco
        from mujoco import mjx
    except ImportError as error:
        table["mjx"] = f"not here: {error}"
        return
    model = mujoco.MjModel.from_xml_path(str(folder / "ur5.xml"))
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    there = mjx.put_model(model)
    data = mjx.make_data(there)
    n = 131_072
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    q, qd, a = (jax.random.uniform(k, (n, model.nv), minval=-1, maxval=1) for k in keys)
    inverse = jax.jit(jax.vmap(lambda q, v, a: mjx.inverse(there, data.replace(qpos=q, qvel=v, qacc=a)).qfrc_inverse))
    forward = jax.jit(jax.vmap(lambda q, v, a: mjx.forward(there, data.replace(qpos=q, qvel=v, qfrc_applied=a)).qacc))
    out: dict[str, Any] = {"version": importlib.metadata.version("mujoco-mjx"), "states": n, "precision": "single"}
    table["mjx"] = out
    host = [np.asarray(v, dtype=float) for v in (q, qd, a)]
    for name, function in (("inverse", inverse), ("forward", forward)):
        result = np.asarray(function(q, qd, a).block_until_ready())
        best = np.inf
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(5):
                last = function(q, qd, a)
            last.block_until_ready()
            best = min(best, (time.perf_counter() - began) / 5)
        out[f"{name} states/s"] = n / best
        ours = sb.System.load(folder / f"ur5_{name}.json").compile("cuda")(*host)
        out[f"{name} differs from ours by"] = float(np.abs(ours - result).max() / np.abs(ours).max())
    print(out, flush=True)


def gradient_rows(folder: Path, table: dict[str, Any]) -> None:
    """Gradients on the device against those of the processor's interpreter."""
    import torch

    system = sb.System.load(folder / "ur5_forward.json")
    kernel = system.compile("cuda")
    function = kernel.torch()
    rng = np.random.default_rng(2)
    host = [rng.uniform(-1, 1, (256, *s.shape)) for s in system.inputs.values()]
    weights = rng.normal(size=(256, 6))
    tensors = [torch.tensor(a, device="cuda", requires_grad=True) for a in host]
    (function(*tensors) * torch.tensor(weights, device="cuda")).sum().backward()
    out = next(iter(system.outputs))
    worst = 0.0
    for name, tensor in zip(system.inputs, tensors):
        matrix = system.jacobian(out, name).compile("python")(*host)
        expected = np.einsum("bi,bik->bk", weights, matrix)
        worst = max(worst, float(np.abs(tensor.grad.cpu().numpy() - expected).max() / np.abs(expected).max()))
    table["gradient of ur5 forward differs by"] = worst
    print("gradient", worst, flush=True)


# the processor first: JAX reserves so much address space that LLVM may find no room near its own code afterwards
PARTS = ("processor", "sizes", "marches", "many", "gradient", "kernels", "accuracy", "mjx")


def measure(folder: Path, parts: tuple[str, ...], out: Path | None) -> dict[str, Any]:
    import torch

    from symbody.codegen.cuda import driver, nvrtc

    where = Path(__file__).resolve().parent
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=where, capture_output=True, text=True, check=False)
    stored = folder / "commit"
    table: dict[str, Any] = {
        "commit": stored.read_text().strip() if stored.exists() else commit.stdout.strip(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": torch.cuda.get_device_name(0),
        "driver": ".".join(map(str, driver.driver_version())),
        "nvrtc": ".".join(map(str, nvrtc.version())),
    }
    bandwidth = table["copy, bytes/s"] = copy_bandwidth()
    print(table, flush=True)
    steps = {
        "accuracy": lambda: accuracy_rows(folder, table), "kernels": lambda: kernel_rows(folder, bandwidth, table),
        "sizes": lambda: size_rows(folder, table), "marches": lambda: march_rows(table),
        "many": lambda: many_runs(table), "gradient": lambda: gradient_rows(folder, table),
        "mjx": lambda: mjx_rows(folder, table), "processor": lambda: processor_rows(folder, table),
    }  # fmt: skip
    for part in parts:
        began = time.perf_counter()
        try:
            steps[part]()
        except Exception as error:  # one part that fails leaves the others their figures
            table[part] = f"failed: {type(error).__name__}: {error}"[:300]
            print(table[part], flush=True)
        print(f"-- {part}: {time.perf_counter() - began:.1f} s", flush=True)
        if out is not None:
            out.write_text(json.dumps(table, indent=1) + "\n")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what --prepare wrote")
    parser.add_argument("--prepare", action="store_true", help="write it, without a GPU")
    parser.add_argument("--out", type=Path, help="a .json file for the table")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    parser.add_argument("--texts", type=Path, help="a .json file for the digests of the texts; without a GPU")
    given = parser.parse_args()
    if given.prepare:
        prepare(given.folder)
        return
    if given.texts is not None:
        given.texts.write_text(json.dumps(text_digests(given.folder), indent=1) + "\n")
        return
    measure(given.folder, tuple(given.parts.split(",")), given.out)


if __name__ == "__main__":
    main()
