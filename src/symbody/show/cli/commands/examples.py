"""`symbody examples`: the bundled models, and copies of their files to change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from symbody.basics.errors import ModelError, nearest
from symbody.show.cli import completion
from symbody.show.cli.common import counted, print_json
from symbody.show.cli.options import AS_JSON, FORCE
from symbody.show.cli.output_files import check_overwrite, check_target

LONGEST = 90  # characters of a description in the list


def examples(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="One of them; all if not given.", autocompletion=completion.bundled)
    ] = "",
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="With --copy: the file or folder to copy to.")
    ] = None,
    copy: Annotated[bool, typer.Option("--copy", help="Copy its file, with the parts it includes.")] = False,
    force: FORCE = False,
    as_json: AS_JSON = False,
) -> None:
    """List the bundled models, or copy one to change it: symbody examples four_bar --copy my_linkage.yaml"""
    from symbody.model.load import bundled_names

    known = bundled_names()
    if name and name not in known:
        raise ModelError(f"there is no bundled model {name!r}. {nearest(name, known)}")
    if copy and not name:
        raise typer.BadParameter("say which model to copy.", param_hint="NAME")
    if path is not None and not copy:
        raise typer.BadParameter("a path is for --copy.", param_hint="PATH")
    if copy:
        files = [str(p) for p in copy_model(name, path if path is not None else Path("."), force)]
        if as_json:
            print_json({"models": [example(name)], "files": files})
        else:
            print("\n".join(f"wrote {p}" for p in files))
        return
    rows = [example(n) for n in ([name] if name else known)]
    if as_json:
        print_json({"models": rows, "files": []})
    elif name:
        _print_one(rows[0])
    else:
        _print_all(rows)


def _print_all(rows: list[dict[str, Any]]) -> None:
    width = max(len(r["name"]) for r in rows)
    print(f"{'name':<{width}}  bodies  freedom  closures  description")
    for r in rows:
        text = r["description"]
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 3].rpartition(' ')[0]} ..."
        freedom = "?" if r["mobility"] is None else r["mobility"]
        print(f"{r['name']:<{width}}  {r['bodies']:>6}  {freedom:>7}  {r['closures'] or '':>8}  {short}")


def _print_one(row: dict[str, Any]) -> None:
    freedom = "unknown" if row["mobility"] is None else row["mobility"]
    bodies = counted(row["bodies"], "body", "bodies")
    print(f"{row['name']}: {bodies}, degrees of freedom {freedom}, closures of loops {row['closures']}")
    print(row["comment"])
    print(f"source: {row['source']}")
    print(f"symbody info {row['name']} shows its tree; symbody examples {row['name']} --copy copies its file.")


# -- facts


def example(name: str) -> dict[str, Any]:
    """A bundled model in one row."""
    from symbody.model.load import FOLDER
    from symbody.show.cli.bundled_facts import facts

    comment = leading_comment((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return {
        "name": name,
        **facts(name),
        "description": _first_sentence(comment),
        "comment": comment,
    }


def leading_comment(text: str) -> str:
    """The comment at the top of a model file, without its marks."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return "\n".join(lines)


def _first_sentence(comment: str) -> str:
    flat = " ".join(comment.split())
    found = re.match(r"(.+?)(?:[.;:] |\.?$)", flat)
    return found[1] if found else flat


# -- copies


def copy_model(name: str, target: Path, force: bool) -> list[Path]:
    """Copy a bundled file and what it includes; a target without .yaml is a folder."""
    from symbody.basics.atomic_file import write_whole
    from symbody.model.load import FOLDER

    file = target if target.suffix.lower() in (".yaml", ".yml") and not target.is_dir() else target / f"{name}.yaml"
    pairs = [(FOLDER / f"{name}.yaml", file), *((FOLDER / part, file.parent / part) for part in _included(name))]
    for _, to in pairs:
        check_overwrite(to, force)
    if not target.exists() and file.parent == target:
        target.mkdir(parents=True)
    check_target(file, "--copy")
    for source, to in pairs:
        to.parent.mkdir(exist_ok=True)
        write_whole(to, source.read_bytes())
    return [to for _, to in pairs]


def _included(name: str) -> list[str]:
    """Paths, relative to the folder of bundled models, of all files that a model includes."""
    import yaml

    from symbody.model.load import FOLDER

    found: dict[str, None] = {}
    waiting = [f"{name}.yaml"]
    while waiting:
        file = Path(waiting.pop())
        wanted = yaml.safe_load((FOLDER / file).read_text(encoding="utf-8")).get("include", [])
        for part in [wanted] if isinstance(wanted, str) else wanted:
            path = (file.parent / part).as_posix()
            if path not in found:
                found[path] = None
                waiting.append(path)
    return list(found)
