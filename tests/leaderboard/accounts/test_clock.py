"""A wall clock that is set by an hour: codes never live longer than they were given, tokens and places go on."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.accounts import device
from leaderboard.accounts.services import token_of_text
from leaderboard.core.errors import Refusal
from leaderboard.submissions import quota
from leaderboard.submissions.services import receive
from tests.leaderboard.cast import SCRIPT, make_competition, make_user, token

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
ADDRESS = "192.0.2.1"


@pytest.fixture
def turn(monkeypatch):
    real = timezone.now

    def turn(by):
        monkeypatch.setattr("django.utils.timezone.now", lambda: real() + by)

    return turn


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_a_code_from_before_is_over_and_a_new_one_works(turn, by):
    ada, old = make_user(), device.start(label="laptop", scope="submit", address=ADDRESS)
    turn(by)
    with pytest.raises(Refusal, match="No machine waits"):
        device.find(typed=old.user_code, user=ada, address=ADDRESS)
    with pytest.raises(Refusal) as over:
        device.redeem(device_code=old.device_code)
    assert over.value.code == "expired_token"
    new = device.start(label="laptop", scope="submit", address=ADDRESS)
    login = device.find(typed=new.user_code, user=ada, address=ADDRESS)
    device.answer(login_id=login.pk, user=ada, confirm=True)
    assert device.redeem(device_code=new.device_code).user == ada


def test_a_confirmed_login_from_before_gives_no_token_an_hour_later(turn):
    ada, old = make_user(), device.start(label="laptop", scope="submit", address=ADDRESS)
    login = device.find(typed=old.user_code, user=ada, address=ADDRESS)
    turn(-HOUR)
    with pytest.raises(Refusal, match="no longer waits"):
        device.answer(login_id=login.pk, user=ada, confirm=True)


@pytest.mark.parametrize("by", [timedelta(seconds=20), -timedelta(seconds=20)])
def test_hosts_whose_clocks_differ_by_seconds_understand_each_other(turn, by):
    ada, new = make_user(), device.start(label="laptop", scope="submit", address=ADDRESS)
    turn(by)
    assert device.find(typed=new.user_code, user=ada, address=ADDRESS)


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_a_token_goes_on(turn, by):
    text = token(make_user())
    turn(by)
    assert token_of_text(text).user.username == "ada"


def test_a_place_is_booked_in_the_day_that_the_clock_showed_and_stays_there(turn):
    demo, ada = make_competition(quota={"submissions": 1, "per": "day"}), make_user()

    def send(text):
        return receive(user=ada, competition_slug=demo.slug, phase_slug="open", script=text.encode())

    turn(timedelta(days=1))
    submission = send(SCRIPT)
    turn(timedelta(0))
    phase = submission.phase
    assert quota.standing(submission.team, phase).left == 1, "today's place was not touched"
    send(SCRIPT + "\n# today\n")
    turn(timedelta(days=1))
    with pytest.raises(Refusal, match="All 1 submissions"):
        send(SCRIPT + "\n# tomorrow\n")
