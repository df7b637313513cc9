"""API tokens: kept as hashes, expiring, seldom written."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.accounts.models import ApiToken
from leaderboard.accounts.services import issue_token, revoke_token, token_of_text
from leaderboard.core.errors import Refusal
from leaderboard.core.secrets import digest
from tests.leaderboard.cast import later, make_user

pytestmark = pytest.mark.django_db


def test_only_the_hash_is_kept():
    row, text = issue_token(user=make_user(), name="laptop")
    stored = [str(value) for value in ApiToken.objects.values_list().get()]
    assert text.startswith("hold_")
    assert not any(text in value or text[5:] in value for value in stored)
    assert row.digest == digest(text)


def test_a_token_says_whose_it_is():
    ada, bob = make_user(), make_user()
    assert token_of_text(issue_token(user=ada, name="a")[1]).user == ada
    assert token_of_text(issue_token(user=bob, name="a")[1]).user == bob


@pytest.mark.parametrize("text", ["", "hold_", "hold_nobody", "é", "x" * 10_000])
def test_an_unknown_token_is_refused(text):
    with pytest.raises(Refusal) as refused:
        token_of_text(text)
    assert (refused.value.code, refused.value.status) == ("not_authenticated", 401)


def test_a_token_ends_on_its_day():
    row, text = issue_token(user=make_user(), name="laptop", days=1)
    assert timedelta(hours=23) < row.expires - timezone.now() <= timedelta(days=1)
    ApiToken.objects.update(expires=later(seconds=-1))
    with pytest.raises(Refusal) as refused:
        token_of_text(text)
    assert (refused.value.code, refused.value.status) == ("token_expired", 401)
    assert "expired on" in refused.value.message


def test_a_person_who_was_closed_out_has_no_tokens():
    ada = make_user()
    text = issue_token(user=ada, name="laptop")[1]
    ada.is_active = False
    ada.save()
    with pytest.raises(Refusal, match="not known"):
        token_of_text(text)


def test_last_use_is_written_at_most_once_a_minute(django_assert_num_queries):
    row, text = issue_token(user=make_user(), name="laptop")
    token_of_text(text)
    row.refresh_from_db()
    first = row.last_used
    with django_assert_num_queries(1):
        token_of_text(text)
    ApiToken.objects.update(last_used=later(seconds=-61))
    token_of_text(text)
    row.refresh_from_db()
    assert first is not None
    assert row.last_used >= first


@pytest.mark.parametrize(("name", "days"), [("", 1), ("  ", 1), ("x" * 61, 1), ("ok", 0), ("ok", 367)])
def test_a_token_needs_a_name_and_an_end(name, days):
    with pytest.raises(Refusal, match="token"):
        issue_token(user=make_user(), name=name, days=days)


def test_only_ones_own_token_can_be_revoked():
    ada, bob = make_user(), make_user()
    row, text = issue_token(user=ada, name="laptop")
    revoke_token(user=bob, token_id=row.pk)
    assert token_of_text(text).user == ada
    revoke_token(user=ada, token_id=row.pk)
    with pytest.raises(Refusal):
        token_of_text(text)
