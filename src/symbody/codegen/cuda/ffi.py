"""XLA's foreign function interface: its structures, and what a handler reads in them.

They are those of xla/ffi/api/c_api.h, version 0.x, as far as they are read here: it lies in the folder that
`jax.ffi.include_dir()` names. Minor versions add fields at the ends of structures.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, DeviceError

MAJOR = 0  # version of the interface that the structures are of
METADATA, EXECUTE, STRING = 1, 3, 4  # an extension, a stage, a kind of attribute
INVALID_ARGUMENT, INTERNAL = 3, 13  # codes of errors
KINDS: dict[int, np.dtype[Any]] = {
    11: np.dtype(np.float32),
    12: np.dtype(np.float64),
    4: np.dtype(np.int32),
}  # XLA_FFI_DataType


class Version(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )


class Extension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension; others have the first three fields."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    )


class Metadata(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("version", Version), ("traits", ctypes.c_uint32))


class Message(ctypes.Structure):
    """XLA_FFI_Error_Create_Args, and with another last field the ones that ask an error for its message."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


class OneAddressCall(ctypes.Structure):
    """Arguments of what takes one address and answers with another: Stream_Get (context, stream), Error_GetMessage
    (error, text), Error_Destroy (error, nothing)."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("given", ctypes.c_void_p),
        ("answer", ctypes.c_void_p),
    )


ASK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(OneAddressCall))


class Api(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("version", Version),
        ("internal", ctypes.c_void_p),
        ("error_create", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Message))),
        ("error_message", ctypes.CFUNCTYPE(None, ctypes.POINTER(OneAddressCall))),
        ("error_destroy", ctypes.CFUNCTYPE(None, ctypes.POINTER(OneAddressCall))),
        ("handler_register", ctypes.c_void_p),
        ("stream_get", ASK),
    )


class Buffer(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


class Span(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


class Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("buffers", ctypes.POINTER(ctypes.POINTER(Buffer))),
    )


class Attributes(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("names", ctypes.POINTER(ctypes.POINTER(Span))),
        ("values", ctypes.POINTER(ctypes.POINTER(Span))),
    )


class CallFrame(ctypes.Structure):
    """XLA_FFI_CallFrame: one call of the handler."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.POINTER(Extension)),
        ("api", ctypes.POINTER(Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("operands", Buffers),
        ("results", Buffers),
        ("attributes", Attributes),
    )


def declared_version() -> tuple[int, int]:
    """The version of the interface by JAX's own header."""
    import jax

    text = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text))
    if found.get("MAJOR") != str(MAJOR) or "MINOR" not in found:
        raise DefinitionError(
            f"the interface of JAX {jax.__version__} is of version {found.get('MAJOR', 'unknown')}; expected {MAJOR}. "
            "Take an older JAX, or a newer symbody."
        )
    return MAJOR, int(found["MINOR"])


def answer_version(frame: CallFrame, declared: tuple[int, int]) -> bool:
    """Answer where registration asks for the version of the handler; False: the call is one to compute.

    The version is that of the caller, whose minor ones all have the structures above. JAX 0.5 does not tell its own.
    """
    start = frame.extension_start
    if not start or start.contents.type != METADATA:
        return False
    told = Metadata.from_address(start.contents.metadata).version
    told.major, told.minor = declared
    if frame.api and frame.api.contents.version.major == MAJOR:
        told.minor = frame.api.contents.version.minor
    return True


def error(frame: CallFrame, sentence: str, code: int) -> int | None:
    """An error of XLA, which the handler returns; XLA frees it."""
    if not frame.api:
        return None
    given = Message(Message.code.offset + ctypes.sizeof(ctypes.c_int), None, sentence.encode(), code)
    made: int | None = frame.api.contents.error_create(given)
    return made


def stream(frame: CallFrame) -> int:
    """The stream of the computation, as the driver of its platform takes it."""
    api = frame.api.contents
    asked = OneAddressCall(ctypes.sizeof(OneAddressCall), None, frame.context, None)
    failure = api.stream_get(asked)
    if failure:
        told = OneAddressCall(ctypes.sizeof(OneAddressCall), None, failure, None)
        api.error_message(told)
        sentence = ctypes.string_at(told.answer).decode() if told.answer else "no reason was given"
        api.error_destroy(OneAddressCall(OneAddressCall.answer.offset, None, failure, None))
        raise DeviceError(f"XLA has no stream for this computation: {sentence}.")
    return asked.answer or 0


def text_attribute(frame: CallFrame) -> str:
    """The one attribute of the call, a text."""
    given = frame.attributes
    if given.size != 1 or given.types[0] != STRING:
        raise DefinitionError(f"a computation has {given.size} attributes; expected one, the digest of a kernel.")
    span = given.values[0].contents
    return ctypes.string_at(span.data, span.size).decode()


def arrays(given: Buffers) -> list[tuple[int, tuple[int, ...], np.dtype[Any] | None]]:
    """(address, shape, type of the numbers) of operands or results; None: a type that no kernel takes."""
    found = []
    for k in range(given.size):
        b = given.buffers[k].contents
        found.append((int(b.data or 0), tuple(b.dims[: b.rank]), KINDS.get(b.dtype)))
    return found
