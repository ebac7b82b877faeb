"""A CUDA device that is played by the processor: emitted text built by the C++ compiler, memory of NumPy.

What it does not play is the driver, the assembler and concurrency; all arithmetic, indexing and the Python side run as
they do on a device.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from symbody.codegen.cuda import driver, nvrtc

SHIM = """
#include <math.h>
#include <string.h>
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __constant__
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __sincosf sincosf
struct sb_index { int x; };
static thread_local sb_index threadIdx, blockIdx, blockDim;
struct double2 { double x, y; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
static inline double2 make_double2(double x, double y) { return {x, y}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
"""


def translated(text: str) -> str:
    """Host C++ with one function `run_NAME(blocks, threads, arguments)` a kernel."""
    out = SHIM + text
    for name, listed in re.findall(r'extern "C" __global__ void[^\n]*\n(\w+)\(\n(.*?)\)\n\{', text, re.DOTALL):
        kinds = [re.sub(r"\w+$", "", a.strip()).replace("const ", "", 1).strip() for a in listed.split(",\n")]
        kinds = [k.replace("__restrict__", "").replace("__grid_constant__", "").strip() for k in kinds]
        kinds = [f"const {k}" if k.endswith("*") else k for k in kinds]
        kinds = [k if "const" in a else k.replace("const ", "") for k, a in zip(kinds, listed.split(",\n"))]
        given = ", ".join(f"*({k} *)arguments[{n}]" for n, k in enumerate(kinds))
        out += f"""
extern "C" void run_{name}(int blocks, int threads, void **arguments)
{{
    blockDim.x = threads;
    for (int b = 0; b < blocks; ++b)
        for (int t = 0; t < threads; ++t) {{
            blockIdx.x = b;
            threadIdx.x = t;
            {name}({given});
        }}
}}
"""
    return out


class HostFunction:
    def __init__(self, run, name):
        self.run, self.name, self.resources = run, name, nvrtc.Resources(registers=32)

    def launch(self, states, block, words, constants=None, stream=0):
        self.prepared(states, block, words, constants)(stream)

    def prepared(self, states, block, words, constants=None):
        return HostLaunch(self, states, block, words, constants)

    def occupancy(self, block):
        return 0.5


class HostLaunch:
    def __init__(self, function, states, block, words, constants):
        self.run, self.constants = function.run, constants
        self.words = (ctypes.c_uint64 * len(words))(*words)
        places = [ctypes.addressof(self.words) + 8 * k for k in range(len(words))]
        places += [0 if constants is None else ctypes.addressof(constants)]
        self.given = (states + block - 1) // block, block, (ctypes.c_void_p * len(places))(*places)

    def __call__(self, stream):
        self.run(*self.given)


class HostModule:
    def __init__(self, library):
        self.library = library

    def function(self, name):
        return HostFunction(getattr(self.library, f"run_{name}"), name)


class HostDevice:
    name, arch, multiprocessors = "played device", "sm_90", 2

    def __init__(self, ordinal=0, room=1 << 30):
        self.ordinal, self.room, self.arrays, self.modules = ordinal, room, {}, {}

    def memory(self):
        return self.room, self.room

    def enter(self):
        pass

    def allocate(self, size):
        array = np.full(max(size, 16) // 8 + 8, np.nan)
        start = array.ctypes.data + (-array.ctypes.data) % 16
        self.arrays[start] = array
        return start

    def free(self, pointer):
        del self.arrays[pointer]

    def upload(self, pointer, array, stream=0):
        ctypes.memmove(pointer, array.ctypes.data, array.nbytes)

    def download(self, array, pointer, stream=0):
        ctypes.memmove(array.ctypes.data, pointer, array.nbytes)

    def synchronize(self, stream=0):
        pass

    def build(self, text, options=()):
        if text not in self.modules:
            with tempfile.TemporaryDirectory() as folder:
                source, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
                source.write_text(translated(text))
                command = ["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off"]
                done = subprocess.run([*command, "-o", library, source], capture_output=True, text=True)
                assert done.returncode == 0, done.stderr[:4000]
                self.modules[text] = HostModule(ctypes.CDLL(str(library)))
        return self.modules[text]


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not here")


def play(monkeypatch, devices=1, room=1 << 30):
    """Devices 0, 1, ... played from now on, in this test."""
    made = [HostDevice(k, room) for k in range(devices)]
    monkeypatch.setattr(driver, "device", lambda ordinal=0: made[ordinal])
    monkeypatch.setattr(driver, "lacks", lambda: "")
    monkeypatch.setattr(nvrtc, "lacks", lambda: "")
    return made
