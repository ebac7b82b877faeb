"""Object code comes to memory wherever there is room, also where the address space is taken in large parts."""

import gc
import subprocess
import sys

import pytest

import symbody as sb
from symbody.basics.errors import CompileError
from symbody.codegen.kernel.signature import Results
from symbody.codegen.llvm.loading import LIBRARIES, LoadedCode, compile_modules

IR = """
define double @twice(double %x) {
  %y = fmul double %x, 2.0e+00
  ret double %y
}
declare double @nowhere(double)
"""
LOST = IR + "define double @lost(double %x) {\n  %y = call double @nowhere(double %x)\n  ret double %y\n}\n"

# room is left in pieces of one size, gigabytes apart: sections that are placed one by one cannot reach each other
SCATTERED = """
import ctypes, mmap, sys
import symbody as sb

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
NORESERVE = 0x4000
def reserve(size):
    return libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, -1, 0)

systems = [sb.inverse_dynamics(sb.load("pendulum2")), sb.forward_dynamics(sb.load("four_bar"))]
large = [reserve(3 << 30) for _ in range(200)]
for size in (1 << 26, 1 << 22, 1 << 18, 1 << 14, 1 << 12):  # what is free among the libraries
    for _ in range(20000):
        found = reserve(size)
        if found < max(large):
            libc.munmap(found, size)
            break
for at in large:
    libc.munmap(at + (1 << 30), int(sys.argv[1]))
for system in systems:
    system.compile()
print("loaded")
"""


def test_a_function_that_is_not_there_has_no_address_and_one_that_needs_it_is_refused():
    loaded = LoadedCode(compile_modules([IR], 0))
    assert loaded.address("twice")
    assert loaded.address("thrice") == 0
    with pytest.raises(CompileError, match="cannot be loaded"):
        LoadedCode(compile_modules([LOST], 0)).address("lost")
    with pytest.raises(CompileError, match="cannot be loaded"):
        LoadedCode([b"no object code" * 20])


def test_functions_outlive_the_engine_that_takes_over():
    objects = compile_modules([IR], 0)
    first = LoadedCode(objects)
    here = first.address("twice")
    others = [LoadedCode(objects).address("twice") for _ in range(2 * LIBRARIES)]
    assert all(others)
    assert first.address("twice") == here


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reserves memory as Linux does")
@pytest.mark.parametrize("room", [8192, 65536])
def test_code_is_loaded_where_the_address_space_is_taken_in_large_parts(room, tmp_path):
    done = subprocess.run([sys.executable, "-c", SCATTERED, str(room)], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "loaded\n", done.stderr[-2000:]


def test_programs_with_ever_other_names_leave_no_classes_behind() -> None:
    """The results of a program are of a class of their own, by the names of its outputs."""
    before = len(Results.__subclasses__())
    with sb.Graph():
        x = sb.symbols("x")
        for k in range(700):
            sb.System("s", inputs={"x": x}, outputs={f"a{k}": x, "b": x}).compile("python")(0.3)
    gc.collect()
    assert len(Results.__subclasses__()) - before < 600
