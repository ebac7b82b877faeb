"""Sizes and kinds in MAT files of version 5, held against the file before it is read.

SciPy asks for as much memory as an element says that it has, whatever the file has: up to 4 GiB for one damaged word.
It looks kinds of numbers up in a table whose end it does not know, and reads on in the next matrix where one has fewer
parts than its flags say: both may end the process.
An element is a tag (type, number of bytes) and its data, padded to 8 bytes; up to 4 bytes may stand in the tag itself
(MathWorks, MAT-File Format).
"""

from __future__ import annotations

import struct
import zlib

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
SHORT = 4  # bytes that may stand in a tag
CLASSES, NUMERIC, OPAQUE, COMPLEX = range(1, 18), range(6, 16), 17, 0x800  # of matrices: all, numbers, objects
FLAGS, SIZES, NAMES, NUMBERS = {6}, {5, 6}, {1, 16}, {1, 2, 3, 4, 5, 6, 7, 9, 12, 13}  # kinds of parts


def checked_elements(data: bytes, largest: int) -> bytes:
    """The file without MATLAB's objects, which are no numbers, and which SciPy cannot list.

    ValueError where an element says that it has more than the file. largest: bytes of what is compressed.
    """
    order = ">" if data[126:128] == b"MI" else "<"
    at, kept = HEADER, [data[:HEADER]]
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, at)
        if size > len(data) - at - 8:
            raise ValueError(f"an element at byte {at} has {size} bytes, and {len(data) - at - 8} are left")
        element = data[at : at + 8 + size]
        if kind == COMPRESSED:
            found = _check_matrix(_unfolded(element[8:], largest), order)
        else:
            found = _check_matrix(element, order) if kind == MATRIX else 0
        if found != OPAQUE:
            kept.append(element)
        at += 8 + size
    return b"".join([*kept, data[at:]])


def _unfolded(data: bytes, largest: int) -> bytes:
    try:
        unfolded = zlib.decompressobj().decompress(data, largest + 1)
    except zlib.error as error:
        raise ValueError(f"a compressed element is damaged ({error})") from None
    if len(unfolded) > largest:
        raise ValueError(f"a compressed element has more than {largest} bytes")
    return unfolded


def _check_matrix(data: bytes, order: str) -> int:
    """The class of a matrix with its tag; its parts are elements within it."""
    if len(data) < 24:
        raise ValueError("a matrix ends within its flags")
    _, size = struct.unpack_from(order + "II", data)
    flags = int(struct.unpack_from(order + "I", data, 16)[0])
    at, end = 8, 8 + size
    if end > len(data):
        raise ValueError(f"a matrix has {size} bytes, and {len(data) - 8} are left")
    kinds = []
    while at + 8 <= end:
        word, size = struct.unpack_from(order + "II", data, at)
        kinds.append(word & 0xFFFF)
        if word >> 16:  # the data stand in the tag
            if word >> 16 > SHORT:
                raise ValueError(f"a tag at byte {at} holds {word >> 16} bytes; expected {SHORT} at most")
            at += 8
            continue
        if size > end - at - 8:
            raise ValueError(f"a part at byte {at} has {size} bytes, and {end - at - 8} are left")
        at += 8 + size + -size % 8
    _check_kinds(flags, kinds)
    return flags & 0xFF


def _check_kinds(flags: int, kinds: list[int]) -> None:
    """Flags, sizes and name, and of a matrix of numbers no more than what its flags say. Of what MATLAB keeps as
    objects, texts of its newer kind among them, flags and three names."""
    kind, parts = flags & 0xFF, 2 if flags & COMPLEX else 1
    first = (FLAGS, NAMES, NAMES, NAMES) if kind == OPAQUE else (FLAGS, SIZES, NAMES)
    if kind not in CLASSES or len(kinds) < 2 or not all(k in known for k, known in zip(kinds, first)):
        raise ValueError(f"a matrix of class {kind} with parts of kinds {kinds[:4]}")
    if kind in NUMERIC and not (len(kinds) == 3 + parts and {*kinds[3:]} <= NUMBERS):
        raise ValueError(f"a matrix of numbers with parts of kinds {kinds[:6]}")
