"""Frozen sections of a competition file: scripts beside it become the texts that a policy keeps."""

import pytest

from leaderboard.competitions import files
from reviewer import Policy, review
from tests.leaderboard.competitions.conftest import edit

pytestmark = pytest.mark.django_db

BANNER = "# ------------\n# Dataloader\n# ------------\n"
LOADER = "def load(path):\n    return np.load(path)\n"
SCRIPT = f"import numpy as np\n\n{BANNER}{LOADER}\n# ------------\n# Model\n# ------------\nprint(load('x'))\n"
SECTIONS = """\
[[policy.sections]]
name = "Loader"
banner = "Dataloader"
accepted = [
    { name = "first", date = 2026-01-01, file = "first.py" },
    { name = "second", date = "2026-02-01", file = "second.py" },
]

[[phases]]
slug = "one\""""


@pytest.fixture
def frozen(file):
    """The small competition file with a section that has two accepted baselines."""
    (file.parent / "first.py").write_text(SCRIPT)
    (file.parent / "second.py").write_text(SCRIPT.replace("np.load(path)", "np.load(path, mmap_mode='r')"))
    edit(file, '[[phases]]\nslug = "one"', SECTIONS)
    return file


def test_the_policy_keeps_the_sections_own_texts(frozen):
    body = files.load(frozen).policies.get().body
    (section,) = body["sections"]
    first, second = section["accepted"]
    assert first == {"name": "first", "date": "2026-01-01", "text": LOADER.strip(), "imports": {"np": "numpy"}}
    assert "mmap_mode" in second["text"]
    policy = Policy.from_mapping(body)
    assert [each.grade for each in review(SCRIPT, policy, isolated=False).sections] == ["byte-identical"]


def test_a_change_of_a_script_is_a_new_policy_and_no_change_is_none(frozen):
    competition = files.load(frozen)
    files.load(frozen)
    assert competition.policies.count() == 1
    (frozen.parent / "first.py").write_text(SCRIPT.replace("np.load(path)", "np.load(path)[:4]"))
    files.load(frozen)
    newest = competition.policies.latest("number")
    assert newest.number == 2
    assert "[:4]" in newest.body["sections"][0]["accepted"][0]["text"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"first.py"', '"none.py"', "policy.sections[0].accepted[0].file: 'none.py' cannot be read: No such file"),
        ('banner = "Data', 'banner = "Later', "policy.sections[0].accepted[0].file: 'first.py': The frozen section"),
        ("date = 2026-01-01", 'date = "soon"', "policy.sections[0].accepted[0].date: must be a day"),
        ('name = "Loader"', "name = 3", "policy.sections[0].name: must be a non-empty text"),
        ('name = "Loader"', 'name = "Loader"\ncolour = 1', "policy.sections[0].colour: there is no such setting"),
    ],
)
def test_what_is_wrong_is_named_by_key_and_line(frozen, old, new, problem):
    edit(frozen, old, new)
    with pytest.raises(files.CompetitionFileError) as refused:
        files.load(frozen)
    (said,) = refused.value.problems
    line, _, rest = said.removeprefix(f"{frozen}:").partition(": ")
    assert rest.startswith(problem)
    assert 14 <= int(line) <= 23
