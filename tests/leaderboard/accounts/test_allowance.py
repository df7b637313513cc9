"""Limits hold whoever counts: in parallel, for a household's addresses, and when the clock was wrong."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from leaderboard.accounts.allowance import network_of, spend
from leaderboard.accounts.models import Allowance
from leaderboard.core.errors import Refusal
from tests.leaderboard.cast import later

pytestmark = pytest.mark.django_db(transaction=True)


def allowed(*names, limit=3):
    try:
        spend("look", dict.fromkeys(names, limit))
    except Refusal:
        return False
    return True


def test_of_many_at_once_exactly_so_many_are_allowed():
    start = Barrier(12)

    def one(number):
        try:
            start.wait()
            return allowed(f"user:{number % 2}", "address:here", limit=5)
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(one, range(12))) == 5


def test_each_name_has_its_own_limit_and_a_refusal_counts_for_none():
    assert [allowed("a", "x") for _ in range(4)] == [True, True, True, False]
    assert not allowed("b", "x")
    assert [allowed("b") for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(("minutes", "anew"), [(-11, True), (-9, False), (0.1, False), (60, True)])
def test_a_window_begins_anew_when_it_is_over_or_far_ahead_and_not_for_a_clock_a_little_late(minutes, anew):
    while allowed("a"):
        pass
    Allowance.objects.update(began=later(minutes=minutes))
    assert allowed("a") == anew


def test_a_refusal_says_how_long_to_wait():
    assert allowed("a", limit=1)
    with pytest.raises(Refusal) as caught:
        spend("look", {"a": 1})
    assert (caught.value.code, caught.value.status) == ("too_many", 429)
    assert 590 < caught.value.data["retry_after"] <= 601


def test_names_are_not_readable_from_the_table():
    allowed("address:192.0.2.7")
    assert "192.0.2.7" not in str(Allowance.objects.values().get())


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("", "unknown"),
        ("unix:", "unknown"),
    ],
)
def test_an_address_counts_for_its_network(address, network):
    assert network_of(address) == network
