"""C from CasADi's code generator, built by gcc and looped over states inside C, so that no binding is timed."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import Arrays, Built, CasADi
from benchmarks.timing import TooSlow, limited

DRIVER = """
#include "f.c"
/* in: one array of (states, size) for each port */
void run(const double *const *in, const long long *size, int ports, double *out, long long outputs, long long states,
         casadi_int *iw, double *w) {{
  const double *arg[{arguments}];
  double *res[{results}];
  for (long long k = 0; k < states; ++k) {{
    for (int p = 0; p < ports; ++p) arg[p] = in[p] + k * size[p];
    res[0] = out + k * outputs;
    f(arg, res, iw, w, 0);
  }}
}}
"""


class CasadiC:
    """The compiled function; `seconds` reads one pass over the given states."""

    def __init__(self, built: Built, flags: tuple[str, ...], limit: float) -> None:
        self.outputs = len(built.outputs)
        self.ports = list(built.arguments)
        function = CasADi().sx_function(built)
        with tempfile.TemporaryDirectory() as folder:
            self._run = _build(function, Path(folder), flags, limit)
        self._iw = np.zeros(max(function.sz_iw(), 1), dtype=np.int64)
        self._w = np.zeros(max(function.sz_w(), 1))

    def prepare(self, values: Arrays) -> None:
        states = len(values[self.ports[0]])
        self.states = states
        self._given = [
            np.ascontiguousarray(np.broadcast_to(values[n], (states, values[n].shape[-1]))) for n in self.ports
        ]
        self._pointers = (ctypes.c_void_p * len(self.ports))(*(a.ctypes.data for a in self._given))
        self._sizes = np.array([a.shape[1] for a in self._given], dtype=np.int64)
        self.result = np.zeros((states, self.outputs))

    def seconds(self) -> float:
        """For one state, mean over the prepared ones."""
        start = time.perf_counter()
        self._run(
            self._pointers, self._sizes.ctypes.data, len(self.ports), self.result.ctypes.data, self.outputs,
            self.states, self._iw.ctypes.data, self._w.ctypes.data,
        )  # fmt: skip
        return (time.perf_counter() - start) / self.states

    def __call__(self, values: Arrays) -> np.ndarray:
        self.prepare(values)
        self.seconds()
        return self.result


def compiler() -> str | None:
    return shutil.which("gcc")


def _build(function: Any, folder: Path, flags: tuple[str, ...], limit: float) -> Any:
    gcc = compiler()
    if gcc is None:
        raise TooSlow("gcc is not installed")
    import casadi as ca

    generator = ca.CodeGenerator("f.c", {"casadi_int": "long long"})
    generator.add(function)
    generator.generate(str(folder) + "/")
    text = DRIVER.format(arguments=max(function.sz_arg(), 1), results=max(function.sz_res(), 1))
    (folder / "driver.c").write_text(text, encoding="ascii")
    library = folder / "driver.so"
    command = [gcc, *flags, "-fPIC", "-shared", "driver.c", "-o", library.name, "-lm"]
    try:
        status, _, errors = limited(command, limit, cwd=folder)
    except TooSlow as why:
        raise TooSlow(f"gcc {why}") from None
    if status:
        raise RuntimeError(f"gcc failed on CasADi's C: {errors[:300]}")
    run = ctypes.CDLL(str(library)).run
    run.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong,
        ctypes.c_void_p, ctypes.c_void_p,
    ]  # fmt: skip
    run.restype = None
    return run
