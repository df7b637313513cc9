"""A competition file that is wrong is refused by key and line, and nothing has changed."""

import pytest
from django.core.management import CommandError, call_command

from leaderboard.competitions import files
from leaderboard.competitions.models import Competition
from leaderboard.ledger.models import Entry
from tests.leaderboard.competitions.conftest import edit

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("threads = 2", "thread = 2", "25: phases[0].budget.thread: there is no such key; did you mean `threads`?"),
        ("runs = 3", "colour = 3", "22: phases[0].colour: there is no such key; there are timezone, hardware"),
        ('title = "Spring"', 'titel = "Spring"', "2: titel: there is no such key; did you mean `title`?"),
        ('title = "Spring"\n', "", "1: title: it is missing"),
        ("seconds = 60\n", "", "23: phases[0].budget.seconds: it is missing"),
        ("seconds = 60", "seconds = -1", "24: phases[0].budget.seconds: it must be greater than 0, and is -1"),
        ("seconds = 60", "seconds = nan", "24: phases[0].budget.seconds: it must be a finite number, and is nan"),
        ("runs = 3", 'runs = "three"', "22: phases[0].runs: it must be a valid integer"),
        ('"Europe/Berlin"', '"Berlin"', "21: phases[0].timezone: not a name of the IANA time zone database"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "19: phases[0].opens: it must have timezone info"),
        ("2026-02-01T00:00:00+01:00", "2025-02-01T00:00:00Z", "20: phases[0].closes: the phase closes before it opens"),
        ("opens = 2026-02-01", "opens = 2026-01-15", "30: phases[1].opens: the phase opens before 'one'"),
        ('slug = "two"', 'slug = "one"', "28: phases[1].slug: there are two phases called 'one'"),
        ('slug = "spring"', 'slug = "Spring!"', "1: slug: "),
        ('K101 = "reject"', 'K999 = "reject"', "14: policy.rules.K999: there is no such rule"),
        ('K101 = "reject"', 'K101 = "forbid"', "14: policy.rules.K101: must be one of reject, review"),
        (
            "[policy.rules]",
            "allow_envs = []\n[policy.rules]",
            "13: policy.allow_envs: there is no such setting; did you",
        ),
        ('path = "kit"', 'path = "none"', "8: kit.path: there is no folder"),
        (
            'set = "demo"',
            'set = "none"',
            "5: shards.set: there is no shard set 'none'; build it first: manage.py shards",
        ),
        ("threads = 2", "threads = ", "25: file: it is not TOML"),
        ('title = "Spring"', 'title = "Spring', "2: file: it is not TOML"),
        ("runs = 3", 'launch.default = "bash"', "22: phases[0].launch"),
        (
            "runs = 3",
            'launch.launchers = ["bash"]',
            "22: phases[0].launch.launchers[0]: it must be 'python' or 'torchrun'",
        ),
    ],
)
def test_what_is_wrong_is_named_by_key_and_line(file, old, new, problem):
    edit(file, old, new)
    with pytest.raises(files.CompetitionFileError) as refused:
        files.load(file)
    assert f"{file}:{problem}" in str(refused.value)
    assert not Competition.objects.exists()
    assert not Entry.objects.exists()


def test_all_problems_are_named_in_the_order_of_their_lines(file):
    edit(file, "threads = 2", "thread = 2")
    edit(file, "runs = 3", "runs = 0")
    with pytest.raises(files.CompetitionFileError) as refused:
        files.load(file)
    assert [problem.split(":")[1] for problem in refused.value.problems] == ["22", "25"]


def test_one_content_has_one_version(file):
    files.load(file)
    edit(file, 'version = "1"', 'version = "2"')
    with pytest.raises(
        files.CompetitionFileError, match=r"9: kit\.version: exactly these files are known as version '1'"
    ):
        files.load(file)


@pytest.mark.parametrize(("content", "says"), [(b"\xff", ":1: file: it is not UTF-8"), (b"#" * 2**21, "more than")])
def test_what_is_no_text_is_refused(file, content, says):
    file.write_bytes(content)
    with pytest.raises(files.CompetitionFileError, match=says):
        files.load(file)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CommandError, match=r"none.toml:1: file: it cannot be read: No such file"):
        call_command("competition", "load", str(tmp_path / "none.toml"))


def test_a_phase_takes_no_larger_scripts_than_the_audit_reads(file):
    edit(file, '[policy]\nversion = "1"\n', '[policy]\nversion = "1"\nmax_bytes = 1000\n')
    edit(file, "threads = 2\n", "threads = 2\n[phases.limits]\nscript_bytes = 1001\n")
    with pytest.raises(files.CompetitionFileError, match=r"script_bytes: policy.max_bytes is 1,000") as caught:
        files.load(file)
    assert len(caught.value.problems) == 2  # the other phase by its default
