# SPDX-License-Identifier: MIT
"""The generated parts of Docs/Benchmarks.md: their tables, and the markers between which they stand."""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "Docs"


def table(columns, rows):
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def verdict(promise):
    def meets(margin):
        if promise["bound"] == "at most":
            return promise["measured"] <= promise["limit"] * (1 + margin)
        return promise["measured"] >= promise["limit"] * (1 - margin)

    return "holds" if meets(0) else "holds within the margin" if meets(promise["margin"]) else "**broken**"


def write(marker, content):
    """Replaces the text between `<!-- marker -->` and `<!-- end of marker -->`."""
    page, start, end = DOCS / "Benchmarks.md", f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    text, count = re.subn(f"{start}.*{end}", lambda _: f"{start}\n{content}{end}", page.read_text(encoding="utf-8"), flags=re.S)
    if count != 1:
        raise SystemExit(f"{page} needs {start} and {end} once")
    page.write_text(text, encoding="utf-8")
