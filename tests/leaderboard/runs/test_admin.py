"""The admin shows an organizer what happened, changes nothing of it, and shows no secret."""

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.runs.models import Agent, Attempt
from leaderboard.submissions import transitions
from tests.leaderboard.cast import PASSWORD, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = [f"submissions_{name}" for name in ("submission", "report", "event", "quotaentry")] + [
    f"runs_{name}" for name in ("agent", "run", "attempt", "receipt", "score")
]


@pytest.fixture
def organizer():
    boss = make_user("olga", organizer=True)
    boss.is_superuser = True
    boss.save()
    browser = Client()
    assert browser.login(username="olga", password=PASSWORD)
    return browser


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_to_read_and_not_to_write(organizer, table):
    submission = queue(send(make_user(), make_competition()))
    Host.register().run()
    submission.refresh_from_db()
    assert submission.state == "ranked"
    page = organizer.get(reverse(f"admin:{table}_changelist"))
    assert page.status_code == 200
    assert organizer.get(reverse(f"admin:{table}_add")).status_code == 403
    rows = page.context["cl"].result_list
    for row in rows[:1]:
        assert organizer.get(reverse(f"admin:{table}_change", args=[row.pk])).status_code == 200
        assert organizer.post(reverse(f"admin:{table}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403


def test_no_digest_of_a_key_or_capability_is_shown(organizer):
    queue(send(make_user(), make_competition()))
    Host.register().claim_next()
    for kind, row in (("agent", Agent.objects.get()), ("attempt", Attempt.objects.get())):
        page = organizer.get(reverse(f"admin:runs_{kind}_change", args=[row.pk])).content.decode()
        assert getattr(row, "digest", None) or row.capability_digest
        assert (getattr(row, "digest", "") or row.capability_digest) not in page


def test_an_organizer_accepts_what_is_in_review_and_it_goes_on(organizer):
    submission = send(make_user(), make_competition())
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="K102", reason="K102 cli-flag, line 3")
    list(take("platform"))
    address = reverse("admin:submissions_submission_changelist")
    for _ in range(2):
        answer = organizer.post(address, {"action": "accept", "_selected_action": [submission.pk]}, follow=True)
        assert answer.status_code == 200
    assert "olga has accepted it" in answer.content.decode()
    assert drive() == ["pipeline.dispatch"]
    submission.refresh_from_db()
    assert submission.state == "queued"
