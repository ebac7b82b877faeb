"""Mesh files that travel inside a report: STL, OBJ and Collada, each once, none too large."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from symbody.basics.regular_file import TooLarge, inside, read_regular

FORMATS = (".stl", ".obj", ".dae")
LARGEST = 8 * 2**20  # bytes of one file
LARGEST_TOGETHER = 40 * 2**20
PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
GREY_DOT = "data:image/gif;base64,R0lGODlhAQABAIAAALu7uwAAACwAAAAAAQABAAACAkQBADs="

_UNIT = re.compile(r"<unit\b[^<>]*?\bmeter\s*=\s*[\"']([0-9.eE+-]+)[\"']")
_PICTURE = re.compile(r"<init_from>([^<]+)</init_from>")


@dataclass(frozen=True)
class MeshFile:
    """A file ready to be embedded: `data` is base64 of STL, else text; `pictures`: names in it -> data addresses."""

    format: str
    data: str
    unit: float = 1.0
    pictures: dict[str, str] = field(default_factory=dict)


class EmbeddedMeshes:
    """Collects mesh files; one that is used by several shapes is embedded once."""

    def __init__(self) -> None:
        self.files: list[MeshFile] = []
        self._places: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._bytes = 0

    def add(self, reference: str) -> tuple[int, float]:
        """Place of a file among `files` and its unit in m; -1 where it cannot be shown."""
        if reference not in self._places:
            self._places[reference] = self._read(reference)
        place = self._places[reference]
        return place, self.files[place].unit if place >= 0 else 1.0

    def has_colours(self, place: int) -> bool:
        """Whether the file says what colours it has."""
        return self.files[place].format == "dae"

    def notes(self) -> Iterator[str]:
        for reference, why in self._refused.items():
            yield f"mesh {Path(reference).name!r} is not shown: {why}"

    def _read(self, reference: str) -> int:
        path = Path(reference)
        suffix = path.suffix.lower()
        try:
            if suffix not in FORMATS:
                return self._refuse(reference, f"its format is {suffix or 'unknown'}; known are {', '.join(FORMATS)}")
            if not path.is_absolute() or not path.is_file():  # readers give the paths they found as absolute ones
                return self._refuse(reference, "there is no such file")
            content = read_regular(path, min(LARGEST, LARGEST_TOGETHER - self._bytes))
        except TooLarge as error:
            return self._refuse(reference, f"{error.size / 2**20:.1f} MiB is too much for a report")
        except (OSError, ValueError) as error:
            return self._refuse(reference, str(error))
        self._bytes += len(content)
        self.files.append(_stl(content) if suffix == ".stl" else self._text_mesh(path, content))
        return len(self.files) - 1

    def _refuse(self, reference: str, why: str) -> int:
        self._refused[reference] = why
        return -1

    def _text_mesh(self, path: Path, content: bytes) -> MeshFile:
        text = content.decode("utf-8", errors="replace")
        if path.suffix.lower() == ".obj":
            # the loader would look for material libraries beside the page
            return MeshFile("obj", re.sub(r"(?m)^[ \t]*(mtllib|usemtl)\b.*$", "", text))
        found = _UNIT.search(text)
        try:
            unit = float(found[1]) if found else 1.0
        except ValueError:
            unit = 1.0
        names = dict.fromkeys(map(str.strip, _PICTURE.findall(text)))
        pictures = {name: self._picture(path.parent, name) for name in names}
        return MeshFile("dae", text, unit if 1e-6 < unit < 1e6 else 1.0, pictures)

    def _picture(self, folder: Path, name: str) -> str:
        """A picture beside the mesh as a data address; a grey dot where none is taken: nothing is looked for."""
        kind = PICTURES.get(Path(name).suffix.lower())
        target = inside(folder, name) if kind else None
        try:
            content = b"" if target is None else read_regular(target, min(LARGEST, LARGEST_TOGETHER - self._bytes))
        except OSError:
            return GREY_DOT
        self._bytes += len(content)
        return f"data:{kind};base64,{base64.b64encode(content).decode()}" if content else GREY_DOT


def _stl(content: bytes) -> MeshFile:
    return MeshFile("stl", base64.b64encode(content).decode())
