"""What a kernel takes on a device: registers, spills, occupancy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Occupancy:
    """What a kernel takes on a device. occupancy: part of the threads of a multiprocessor that run at once.

    registers, stack, spill_stores, spill_loads: a thread, and bytes a thread; pieces: functions that a long program was
    cut into, between which `travelling` numbers go through local memory
    """

    kernel: str
    device: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    occupancy: float
    operations: int
    pieces: int
    travelling: int

    def __str__(self) -> str:
        told = (
            f"{self.kernel} on {self.device}: {self.operations} operations, {self.registers} registers a thread, "
            f"{self.stack} bytes of local memory, spills {self.spill_stores}/{self.spill_loads} bytes"
        )
        told += f", {100 * self.occupancy:.0f} % of the threads at once" if self.occupancy else ""
        if self.pieces:
            told += (
                f". The program is too long for the registers: it was cut into {self.pieces} functions, between which "
                f"{self.travelling} numbers go through local memory"
            )
        return told + "."
