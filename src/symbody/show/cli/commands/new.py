"""`symbody new`: a small commented model file to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from symbody.basics.errors import NameLookupError, nearest
from symbody.show.cli.common import print_json
from symbody.show.cli.options import AS_JSON, FORCE
from symbody.show.cli.output_files import check_overwrite, check_target

FOLDER = Path(__file__).parent / "starters"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def kinds() -> list[str]:
    """Names of the starters, the default first."""
    return sorted((p.stem for p in FOLDER.glob("*.yaml")), key=lambda n: (n != "pendulum", n))


def _complete(incomplete: str) -> list[str]:
    return [n for n in kinds() if n.startswith(incomplete)]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the model; the file is NAME.yaml.")],
    kind: Annotated[
        str,
        typer.Option("--kind", "-k", autocompletion=_complete, help="pendulum, slider, arm, four_bar or vehicle."),
    ] = "pendulum",
    force: FORCE = False,
    as_json: AS_JSON = False,
) -> None:
    """Write a small commented model file to start from: it loads, verifies and simulates."""
    from symbody.basics.atomic_file import write_whole

    if kind not in kinds():
        raise NameLookupError(f"there is no starter {kind!r}. {nearest(kind, kinds())}")
    path = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if not _NAME.fullmatch(path.stem):
        raise typer.BadParameter(
            f"{path.stem!r} is no name for a model; expected letters, digits, _ and -, a letter first.",
            param_hint="NAME",
        )
    check_target(path, "NAME")
    check_overwrite(path, force)
    write_whole(path, starter(kind, path.stem))
    if as_json:
        print_json({"model": path.stem, "kind": kind, "files": [str(path)]})
        return
    print(f"wrote {path}\ntry: symbody info {path}")


def starter(kind: str, name: str) -> str:
    """The text of a starter with the model's name in place."""
    return (FOLDER / f"{kind}.yaml").read_text(encoding="utf-8").replace("{name}", name)
