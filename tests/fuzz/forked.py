"""Processes apart, forked from one that has the parser loaded: thirty times as many inputs as by new interpreters.

The program, its bounds and its files are those of `symbody.model.files.parser_process`; only the start of Python and
the imports are made once. What a process takes is judged as what the attack itself takes is.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

from symbody.model.files import parser_process

_SERVER = """
import json, os, resource, signal, socket, sys, traceback
folder, begin, seconds, link = sys.argv[1:]
sys.path.append(folder)
exec(begin)
loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
link = socket.socket(fileno=int(link))
while True:
    message, files, _, _ = socket.recv_fds(link, 1 << 20, 2)
    if not message:
        break
    process = os.fork()
    if not process:
        link.close()
        os.dup2(files[0], 1)
        os.dup2(files[1], 2)
        signal.alarm(int(seconds))
        program, *sys.argv[1:] = json.loads(message)
        status = 0
        try:
            exec(program, {"__name__": "__main__"})
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            status = 1
        os._exit(status)
    for file in files:
        os.close(file)
    _, status, used = os.wait4(process, 0)
    said = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss - loaded << 10]
    link.sendall(json.dumps(said).encode())
"""


class Server:
    """Forks behind what the programs that import a package begin with; with `with`, as its process has to end."""

    def __init__(self, package: str, begin: str) -> None:
        ours, theirs = socket.socketpair()
        folder = str(parser_process.package_folder(package))
        command = [sys.executable, "-I", "-S", "-c", _SERVER, folder, begin, str(parser_process.SECONDS)]
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PXR_WORK_THREAD_LIMIT": "1"},  # as the program sets it before it imports
            )
        self.link = ours

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()
        self.process.wait()

    def run(self, command: Sequence[str], made: IO[bytes], told: IO[bytes]) -> tuple[int, float, int]:
        """The status of a command of `apart`; what it took: s of CPU time, and bytes beyond what is loaded."""
        program = command[command.index("-c") + 1 :]
        socket.send_fds(self.link, [json.dumps(program).encode()], [made.fileno(), told.fileno()])
        status, seconds, memory = json.loads(self.link.recv(1000))
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, parser_process.SECONDS)
        return status, seconds, memory
