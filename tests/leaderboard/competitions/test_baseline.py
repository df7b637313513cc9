"""A phase's own baseline is known by the hash of its script; a phase that is released stays closed."""

from hashlib import sha256

import pytest

from leaderboard.competitions import files
from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from tests.leaderboard.cast import later
from tests.leaderboard.competitions.conftest import edit

pytestmark = pytest.mark.django_db


def test_loading_keeps_the_hash_of_the_script_that_stands_beside_the_file(file):
    (file.parent / "own.py").write_text("# the baseline\n")
    edit(file, "threads = 2\n", 'threads = 2\n[phases.probes]\nstrict_per_row = 0.5\nbaseline = "own.py"\n')
    phase = files.load(file).phases.get(slug="one")
    probes = phase.rules.probes
    assert (probes.strict_per_row, probes.baseline) == (0.5, "own.py")
    assert probes.baseline_sha256 == sha256(b"# the baseline\n").hexdigest()


def test_a_script_of_the_project_may_be_named_by_its_path_there(file):
    edit(file, "threads = 2\n", 'threads = 2\n[phases.probes]\nbaseline = "deploy/demo/scripts/baseline.py"\n')
    assert len(files.load(file).phases.get(slug="one").rules.probes.baseline_sha256) == 64


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('baseline = "none.py"', "baseline", "cannot be read: No such file"),
        (f'baseline_sha256 = "{"0" * 64}"', "baseline_sha256", "it is computed"),
        ("strict_per_row = -0.5", "strict_per_row", "greater than or equal to 0"),
        ("strict_per_row = inf", "strict_per_row", "less than or equal to 64"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(file, line, key, words):
    edit(file, "threads = 2\n", f"threads = 2\n[phases.probes]\n{line}\n")
    number = file.read_text().splitlines().index(line) + 1
    with pytest.raises(files.CompetitionFileError) as caught:
        files.load(file)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{file}:{number}: phases[0].probes.{key}: ")
    assert words in problem


def test_a_phase_with_submissions_may_get_a_baseline_but_no_other_power(file):
    (file.parent / "own.py").write_text("# the baseline\n")
    phase = files.load(file).phases.get(slug="one")
    Phase.objects.filter(pk=phase.pk).update(first_upload=later(days=-1))
    edit(file, "threads = 2\n", 'threads = 2\n[phases.probes]\nbaseline = "own.py"\n')
    assert files.load(file).phases.get(slug="one").rules.probes.baseline_sha256
    edit(file, 'baseline = "own.py"\n', 'baseline = "own.py"\nrepeats = 0.5\n')
    with pytest.raises(files.CompetitionFileError, match=r"phases\[0\].probes.repeats: phase 'one' has submissions"):
        files.load(file)


def test_an_open_phase_can_be_ended_by_its_file(file):
    phase = files.load(file).phases.get(slug="one")
    Phase.objects.filter(pk=phase.pk).update(first_upload=later(days=-1))
    edit(file, "closes = 2026-02-01T00:00:00+01:00", "closes = 2026-01-15T00:00:00Z")
    files.load(file)
    phase.refresh_from_db()
    assert phase.closes.isoformat().startswith("2026-01-15")
    assert Entry.objects.filter(kind="phase.published", subject=f"phase:{phase.pk}").count() == 2


def test_a_phase_that_is_released_stays_closed(file):
    phase = files.load(file).phases.get(slug="two")
    Phase.objects.filter(pk=phase.pk).update(released_at="2026-03-02T00:00:00Z")
    edit(file, "closes = 2026-03-01T00:00:00Z", "closes = 2099-03-01T00:00:00Z")
    with pytest.raises(files.CompetitionFileError, match=r"phases\[1\].closes: phase 'two' is released"):
        files.load(file)
