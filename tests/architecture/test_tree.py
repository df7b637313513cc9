"""Rules about the files themselves."""

import ast
import re
import subprocess
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
HARD_CAP, MEDIAN_CAP = 400, 90
TOP = {
    ".pre-commit-hooks.yaml",
    "manage.py",
    "leaderboard",
    "reviewer",
    "scoring",
    "templates",
    "tests",
    "deploy",
    "README.md",
    "pyproject.toml",
    "requirements.lock",
    "Makefile",
    ".ci",
    ".gitignore",
    ".importlinter",
    "LICENSE",
}

EXAMPLES = {"VALID", "INVALID", "FIXED"}
INSIDE = re.compile(r"/work/(out|train\.py|prepare\.py|\{)")  # the sandbox's own working folder


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def modules() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and "migrations" not in path.parts]


def test_the_top_level_is_what_the_architecture_says() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= TOP


def test_no_module_is_over_the_hard_cap() -> None:
    lengths = {path: path.read_text().count("\n") for path in modules()}
    assert {path: n for path, n in lengths.items() if n > HARD_CAP} == {}


def own_lines(path: Path) -> int:
    """Count the lines of a module without the examples of a rule, which stand beside it by design and are its tests."""
    text = path.read_text()
    if "reviewer/rules/" not in path.as_posix():
        return text.count("\n")
    rules = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    examples = [
        node
        for rule in rules
        for node in rule.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and EXAMPLES & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    ]
    return text.count("\n") - sum((node.end_lineno or node.lineno) - node.lineno for node in examples)


def test_the_median_module_is_short() -> None:
    product = [path for path in modules() if "tests" not in path.parts and path.name != "__init__.py"]
    product = [path for path in product if "reviewer/examples/" not in path.as_posix()]
    assert median(own_lines(path) for path in product) <= MEDIAN_CAP


def test_no_text_names_a_machine() -> None:
    """Paths of a developer's machine in a file would be read by a stranger as instructions."""
    private = re.compile(r"(?<![\w.<{$])/(?:work|home/\w+|root/\w+|Users)/")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        if path.suffix in {".py", ".md", ".toml", ".html", ".css", ".sh", ""}
        and path.parts[-2:] != ("architecture", "test_tree.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if private.search(INSIDE.sub("", line))
    ]
    assert found == []
