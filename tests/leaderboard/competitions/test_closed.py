"""What a load refuses of a phase that has closed: to open again once private scores are known, to unsay a release."""

import pytest

from leaderboard.competitions import files
from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.pipeline import private
from leaderboard.submissions.services import receive
from tests.leaderboard.cast import SCRIPT, make_user
from tests.leaderboard.competitions.conftest import edit
from tests.leaderboard.host import Host, queue

pytestmark = pytest.mark.django_db(transaction=True)

OPEN, SHUT = "closes = 2098-02-01T00:00:00Z", "closes = 2021-02-01T00:00:00Z"


@pytest.fixture
def ranked(file):
    """A loaded file whose first phase has a ranked submission and has closed since."""
    edit(
        file,
        "opens = 2026-01-01T00:00:00Z\ncloses = 2026-02-01T00:00:00+01:00",
        f"opens = 2020-01-01T00:00:00Z\n{OPEN}",
    )
    edit(file, "opens = 2026-02-01T00:00:00Z\ncloses = 2026-03-01", "opens = 2098-02-01T00:00:00Z\ncloses = 2098-03-01")
    edit(file, "runs = 3", "runs = 1")
    files.load(file)
    queue(receive(user=make_user(), competition_slug="spring", phase_slug="one", script=SCRIPT.encode()))
    Host.register().run()
    edit(file, OPEN, SHUT)
    files.load(file)
    return file


def one():
    return Phase.objects.select_related("competition").get(slug="one")


def test_a_phase_that_closed_by_mistake_can_be_opened_again_while_nothing_hidden_has_begun(ranked):
    edit(ranked, SHUT, OPEN)
    files.load(ranked)
    assert one().state() == "open"


def test_once_its_private_shard_is_being_scored_it_stays_closed(ranked):
    private.look_at(one())
    edit(ranked, SHUT, OPEN)
    with pytest.raises(files.CompetitionFileError, match=r"phases\[0\].closes: phase 'one' has closed and its private"):
        files.load(ranked)
    assert one().state() == "closed"


def test_what_else_a_file_says_of_it_can_still_be_changed(ranked):
    private.look_at(one())
    edit(ranked, 'title = "One"', 'title = "First"')
    files.load(ranked)
    assert one().title == "First"


@pytest.mark.parametrize(
    ("line", "key"), [("advance = 3", "advance"), ('visibility.scripts = "never"', "visibility.scripts")]
)
def test_what_a_release_has_opened_and_drawn_stays_so(ranked, line, key):
    Phase.objects.filter(slug="one").update(released_at="2026-03-02T00:00:00Z")
    before = Entry.objects.count()
    edit(ranked, "runs = 1\n", f"runs = 1\n{line}\n")
    with pytest.raises(files.CompetitionFileError, match=rf"phases\[0\].{key}: phase 'one' is released"):
        files.load(ranked)
    assert Entry.objects.count() == before


@pytest.mark.parametrize(("line", "key"), [("rounding = 1e-9", "rounding"), ('quota.per = "week"', "quota.per")])
def test_the_step_of_scores_and_the_quotas_windows_are_fixed_with_the_first_submission(ranked, line, key):
    edit(ranked, "runs = 1\n", f"runs = 1\n{line}\n")
    with pytest.raises(files.CompetitionFileError, match=rf"phases\[0\].{key}: phase 'one' has submissions already"):
        files.load(ranked)


def test_more_places_in_a_window_may_be_given(ranked):
    edit(ranked, "runs = 1\n", "runs = 1\nquota.submissions = 30\n")
    files.load(ranked)
    assert one().rules.quota.submissions == 30
