"""xacro macro files -> Mechanism, through the package `xacro` (extra `xacro`) and the reader of URDF.

A xacro file is a program: properties are Python expressions, and $(...) reads the environment and looks for packages.
Files from others are data here, never code, so only macros without such expressions are expanded: names, numbers and
arithmetic of them. Anything else is refused with its line and the command that expands it.

xacro itself sees what was checked and nothing else: the elements as they were read, written anew. It would also run
expressions in comments, and include files by elements whose names are made when it runs.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from symbody.basics.errors import ModelError
from symbody.model.files.parser_process import Failed, output_of, package_folder
from symbody.model.files.urdf import read_tree
from symbody.model.files.xml_file import MAX_BYTES, XmlElement, expand_xacro, parse_xml, read_xml
from symbody.model.record.mechanism import Mechanism

# what may stand in ${...}: names, numbers, arithmetic, and these functions; no attribute, index, string or call besides
_TOKENS = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\*\*|[-+*/(),])")
FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "radians", "degrees", "abs", "min", "max")
OUTSIDE = ("include", "arg")  # what reads from outside the file
MADE = ("element", "attribute")  # what has a name that is made when it runs


def read(
    path: str | Path,
    root: str = "fixed",
    symbolic: bool = True,
    ignore: Collection[str] = (),
    packages: Sequence[str | Path] = (),
) -> Mechanism:
    """The Mechanism of a xacro file; options as of the reader of URDF."""
    path = Path(path)
    top = read_xml(path)
    if package_folder("xacro") is None:
        raise ModelError(
            f"{path.name}: this is a xacro macro file; expected plain URDF, or the package xacro (pip install xacro). "
            f"{expand_xacro(path)}"
        )
    _refuse_programs(top, path)
    plain = parse_xml(_expanded(top, path), path.name)
    mechanism = read_tree(plain, path, root, symbolic, ignore, packages)
    note = f"{path.name}: xacro macros were expanded; lines in other notes are those of the expanded text"
    return mechanism.replace(notes=(*mechanism.notes, note))


_PROGRAM = """
import xacro
text = xacro.process_file(file).toprettyxml(indent=" ")
sys.stdout.buffer.write(text.encode()[:enough])
"""


def _expanded(top: XmlElement, path: Path) -> bytes:
    """The plain URDF, made by a separate process that has little time and memory: macros may call each other."""
    try:
        with tempfile.TemporaryDirectory(prefix="symbody_xacro_") as folder:
            checked = Path(folder, path.name)
            checked.write_bytes("".join(_written(top)).encode())
            return output_of(_PROGRAM, "xacro", checked, MAX_BYTES)
    except (Failed, OSError) as error:
        raise ModelError(f"{path.name}: xacro cannot expand it ({error}). {expand_xacro(path)}") from None


def _written(element: XmlElement) -> Iterator[str]:
    """The text of an element and all in it; its own text stands before its children."""
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    yield f"<{element.tag}{attributes}>{escape(element.text)}"
    for child in element.children:
        yield from _written(child)
    yield f"</{element.tag}>"


def _refuse_programs(top: XmlElement, path: Path) -> None:
    """Expressions that are more than arithmetic, and files and values from outside."""
    stack = [top]
    while stack:
        element = stack.pop()
        stack.extend(element.children)
        word = element.tag.removeprefix("xacro:")
        if element.tag.startswith("xacro:") and word in OUTSIDE:
            raise element.error(f"<{element.tag}> reads from outside the file, which is not done. {expand_xacro(path)}")
        if element.tag.startswith("xacro:") and word in MADE:
            raise element.error(f"<{element.tag}> makes names when it runs, which is not done. {expand_xacro(path)}")
        for text in (*element.attributes.values(), element.text):
            if "$" in re.sub(r"\$\{[^{}$]*\}", "", text):  # $(...), and pieces that would make another expression
                raise element.error(f"{text.strip()[:60]!r} asks the system, which is not done. {expand_xacro(path)}")
            for inner in re.findall(r"\$\{([^}]*)\}", text):
                _check(inner, element, path)


def _check(inner: str, element: XmlElement, path: Path) -> None:
    at = 0
    tokens: list[str] = []
    while at < len(inner.rstrip()):
        found = _TOKENS.match(inner, at)
        if found is None:
            raise element.error(
                f"the expression ${{{inner[:60]}}} is more than arithmetic of names and numbers, and is not run. "
                f"{expand_xacro(path)}"
            )
        tokens.append(found[1])
        at = found.end()
    for word, after in zip(tokens, [*tokens[1:], ""]):
        # a function can also be called through brackets: (name)(...)
        called = after == "(" and (word[0].isalnum() or word[0] in "_.)") and word not in FUNCTIONS
        if called or word.startswith("__") or word in ("lambda", "import", "exec", "eval"):
            raise element.error(
                f"the expression ${{{inner[:60]}}} calls {word!r}, and is not run. {expand_xacro(path)}"
            )
    if "**" in tokens:
        raise element.error(f"the expression ${{{inner[:60]}}} has a power, and is not run. {expand_xacro(path)}")
