"""IR text to object code, here or in a process of its own.

This file imports nothing of symbody, so that `python worker.py` starts fast: it reads jobs from standard input, each as
a pickled (ir, level, cpu, features), and answers each with pickled object code, or a text that says what is wrong,
until its input ends.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any, BinaryIO

import llvmlite.binding as llvm


def target_machine(level: int, cpu: str, features: str) -> Any:
    """LLVM's description of the machine; level 0 selects instructions fast, 1 to 3 well."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    # position independent: the code is loaded wherever there is room, also from the cache
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True)


def compile_ir(ir: str, level: int, cpu: str, features: str) -> bytes:
    """Object code of one module. No pass over the IR runs: it is free of common and dead values as it comes."""
    machine = target_machine(level, cpu, features)
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    # a context of its own: names and types are freed with it
    context = llvm.create_context()
    module = llvm.parse_assembly(head + ir, context=context)
    return bytes(machine.emit_object(module))


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            answer: bytes | str = compile_ir(*job)
        except RuntimeError as error:
            answer = str(error)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
