"""Writes into README.md what is computed from the code: the table of settings. `make format` runs it."""

import re
from pathlib import Path

from leaderboard.env import PROJECT, Env

README = PROJECT / "README.md"
BEGIN, END = "<!-- settings: written by deploy/readme.py -->\n", "<!-- end of settings -->\n"


def settings_table() -> str:
    """Return the table of every variable that `leaderboard/env.py` reads."""
    rows = ["| variable | default | what it is |", "| --- | --- | --- |"]
    for name, field in Env.model_fields.items():
        default = field.default.relative_to(PROJECT) if isinstance(field.default, Path) else field.default
        shown = f"`{str(default).lower() if isinstance(default, bool) else default}`" if default != "" else ""
        about = (field.description or "").replace("|", "\\|")
        rows.append(f"| `HOLDOUT_{name.upper()}` | {shown} | {about} |")
    return "\n".join(rows) + "\n"


def written(text: str) -> str:
    """Return README's text with the table as it is now. Raises ValueError where its place is missing."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"README.md has no one place between {BEGIN.strip()!r} and {END.strip()!r}")
    return re.sub(f"(?s){re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: BEGIN + settings_table() + END, text)


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
