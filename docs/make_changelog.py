"""Write CHANGELOG.md from the fragments in changelog.d: python docs/make_changelog.py"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text() -> str:
    """Fragments in the order of their numbers, each under its topic."""
    out = ["# Changelog", "", "## Not released yet", ""]
    for path in sorted((ROOT / "changelog.d").glob("[0-9]*.md")):
        topic = path.stem.partition("-")[2].replace("-", " ")
        body = path.read_text(encoding="utf-8").strip()
        lines = [line if not line.startswith("#") else f"##{line}" for line in body.splitlines()]
        out += [f"### {topic.capitalize()}", "", *lines, ""]
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    (ROOT / "CHANGELOG.md").write_text(text(), encoding="utf-8")
