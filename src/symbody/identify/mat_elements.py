"""Sizes in MAT files of version 5, held against the file before it is read.

SciPy asks for as much memory as an element says that it has, whatever the file has: up to 4 GiB for one damaged word.
An element is a tag (type, number of bytes) and its data, padded to 8 bytes; up to 4 bytes may stand in the tag itself
(MathWorks, MAT-File Format).
"""

from __future__ import annotations

import struct
import zlib

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
SHORT = 4  # bytes that may stand in a tag


def check_elements(data: bytes, largest: int) -> None:
    """ValueError where an element says that it has more than the file. largest: bytes of what is compressed."""
    order = ">" if data[126:128] == b"MI" else "<"
    at = HEADER
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, at)
        if size > len(data) - at - 8:
            raise ValueError(f"an element at byte {at} has {size} bytes, and {len(data) - at - 8} are left")
        if kind == COMPRESSED:
            _check_matrix(_unfolded(data[at + 8 : at + 8 + size], largest), order)
        elif kind == MATRIX:
            _check_matrix(data[at : at + 8 + size], order)
        at += 8 + size


def _unfolded(data: bytes, largest: int) -> bytes:
    try:
        unfolded = zlib.decompressobj().decompress(data, largest + 1)
    except zlib.error as error:
        raise ValueError(f"a compressed element is damaged ({error})") from None
    if len(unfolded) > largest:
        raise ValueError(f"a compressed element has more than {largest} bytes")
    return unfolded


def _check_matrix(data: bytes, order: str) -> None:
    """A matrix with its tag; its parts are elements within it."""
    if len(data) < 8:
        raise ValueError("a matrix ends within its tag")
    _, size = struct.unpack_from(order + "II", data)
    at, end = 8, 8 + size
    if end > len(data):
        raise ValueError(f"a matrix has {size} bytes, and {len(data) - 8} are left")
    while at + 8 <= end:
        word, size = struct.unpack_from(order + "II", data, at)
        if word >> 16:  # the data stand in the tag
            if word >> 16 > SHORT:
                raise ValueError(f"a tag at byte {at} holds {word >> 16} bytes; expected {SHORT} at most")
            at += 8
            continue
        if size > end - at - 8:
            raise ValueError(f"a part at byte {at} has {size} bytes, and {end - at - 8} are left")
        at += 8 + size + -size % 8
