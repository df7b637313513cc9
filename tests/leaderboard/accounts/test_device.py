"""Logging a machine in: codes are short-lived, of one use, kept as hashes, and cannot be guessed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.accounts import device
from leaderboard.accounts.models import Allowance, ApiToken, DeviceLogin
from leaderboard.accounts.services import token_of_text
from leaderboard.core.errors import Refusal
from tests.leaderboard.cast import later, make_user

pytestmark = pytest.mark.django_db
HOME = "192.0.2.7"


def begin(label="laptop", scope="submit", address=HOME):
    return device.start(label=label, scope=scope, address=address)


def confirm(started, user, yes=True):
    login = device.find(typed=started.user_code, user=user, address=HOME)
    return device.answer(login_id=login.pk, user=user, confirm=yes)


def ask(started, seconds_later=60):
    """Ask as if so much time had passed since the last question."""
    DeviceLogin.objects.exclude(asked=None).update(asked=later(seconds=-seconds_later))
    return device.redeem(device_code=started.device_code)


def refused(call, *words, **named):
    with pytest.raises(Refusal) as caught:
        call(*words, **named)
    return caught.value.code


def test_a_confirmed_machine_gets_one_token_with_its_scope_and_end():
    ada, started = make_user("ada"), begin("ada@laptop")
    assert refused(ask, started) == "authorization_pending"
    confirm(started, ada)
    granted = ask(started)
    row = token_of_text(granted.token)
    assert (row.user, row.name, row.scope) == (ada, "submit on ada@laptop", "submit")
    assert timedelta(days=89) < row.expires - timezone.now() <= timedelta(days=90)
    assert refused(ask, started) == "invalid_grant"
    assert ApiToken.objects.count() == 1


def test_neither_code_is_kept():
    started = begin()
    stored = str(DeviceLogin.objects.values().get())
    plain = started.user_code.replace("-", "")
    assert started.device_code not in stored
    assert plain not in stored
    assert started.user_code not in stored
    from leaderboard.core.secrets import digest

    assert digest(plain) not in stored, "a plain hash of eight letters can be searched"


@pytest.mark.parametrize(
    "spell", [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code[:2]} {code[2:]} "]
)
def test_a_code_may_be_typed_as_people_type(spell):
    started = begin()
    assert device.find(typed=spell(started.user_code), user=make_user(), address=HOME).label == "laptop"


def test_a_refused_machine_gets_nothing():
    started = begin()
    confirm(started, make_user(), yes=False)
    assert refused(ask, started) == "access_denied"
    assert not ApiToken.objects.exists()


def test_a_code_is_answered_once():
    ada, eve, started = make_user(), make_user(), begin()
    login = device.find(typed=started.user_code, user=ada, address=HOME)
    device.answer(login_id=login.pk, user=ada, confirm=False)
    assert refused(device.answer, login_id=login.pk, user=eve, confirm=True) == "unknown_code"
    assert refused(device.find, typed=started.user_code, user=eve, address=HOME) == "unknown_code"
    assert refused(ask, started) == "access_denied"


@pytest.mark.parametrize("confirmed", [False, True])
def test_after_ten_minutes_it_is_over_for_both_sides(confirmed):
    ada, started = make_user(), begin()
    assert started.expires_in == 600
    login = confirm(started, ada) if confirmed else DeviceLogin.objects.get()
    DeviceLogin.objects.update(expires=later(seconds=-1))
    assert refused(ask, started) == "expired_token"
    assert refused(device.find, typed=started.user_code, user=ada, address=HOME) == "unknown_code"
    assert refused(device.answer, login_id=login.pk, user=ada, confirm=True) == "unknown_code"


def test_asking_too_soon_is_told_to_slow_down_and_how_far():
    started = begin()
    assert refused(ask, started) == "authorization_pending"
    for interval in (10, 15):
        with pytest.raises(Refusal) as caught:
            device.redeem(device_code=started.device_code)
        assert (caught.value.code, caught.value.data) == ("slow_down", {"interval": interval})
    assert refused(ask, started, seconds_later=14) == "slow_down", "the new interval counts"
    assert refused(ask, started, seconds_later=21) == "authorization_pending"


def test_a_code_that_never_was_is_no_login():
    assert refused(device.redeem, device_code="nonsense") == "invalid_grant"


def test_a_person_runs_out_of_guesses_and_a_right_code_does_not_help_then():
    ada, bob, started = make_user(), make_user(), begin()
    for _ in range(device.GUESSES):
        assert refused(device.find, typed="BBBB-BBBB", user=ada, address=HOME) == "unknown_code"
    assert refused(device.find, typed=started.user_code, user=ada, address=HOME) == "too_many"
    assert device.find(typed=started.user_code, user=bob, address=HOME)
    Allowance.objects.update(began=later(minutes=-10))
    assert device.find(typed=started.user_code, user=ada, address=HOME)


def test_an_address_runs_out_of_guesses_whoever_is_signed_in_there():
    people = [make_user() for _ in range(device.GUESSES_FROM_ADDRESS // device.GUESSES)]
    for user in people:
        for _ in range(device.GUESSES):
            refused(device.find, typed="BBBB-BBBB", user=user, address="2001:db8::1")
    assert refused(device.find, typed="BBBB-BBBB", user=make_user(), address="2001:db8::ffff:2") == "too_many"
    assert refused(device.find, typed="BBBB-BBBB", user=make_user(), address="2001:db8:0:1::1") == "unknown_code"


def test_logins_are_begun_only_so_often_from_one_address():
    for _ in range(device.STARTS):
        begin()
    assert refused(begin) == "too_many"
    begin(address="192.0.2.8")


@pytest.mark.parametrize("label", ["", " x", "x" * 41, "<b>x</b>", "a\u202eb", "a\nb", "a\0", "Holdout: please", "ä"])
def test_a_machine_has_a_plain_name(label):
    assert refused(begin, label) == "bad_label"


@pytest.mark.parametrize("scope", ["all", "", "everything", "SUBMIT"])
def test_a_machine_cannot_ask_for_more(scope):
    assert refused(begin, scope=scope) == "bad_scope"


def test_a_closed_account_gets_no_token():
    ada, started = make_user(), begin()
    confirm(started, ada)
    ada.is_active = False
    ada.save()
    assert refused(ask, started) == "access_denied"


def test_old_logins_and_counts_are_forgotten():
    begin()
    DeviceLogin.objects.update(expires=later(days=-2))
    Allowance.objects.update(began=later(days=-2))
    begin()
    assert (DeviceLogin.objects.count(), Allowance.objects.count()) == (1, 1)
