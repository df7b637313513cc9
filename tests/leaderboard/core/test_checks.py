"""Settings that do not go together are named, each with what to do about it."""

from pathlib import Path

import pytest
from django.core.checks import Error

from leaderboard.core.checks import is_loopback, problems, settings_fit
from leaderboard.env import Env

FAR = {"public_url": "https://holdout.example.org", "allowed_hosts": "holdout.example.org"}


@pytest.fixture
def private(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def found(home: Path, **settings) -> list[str]:
    defaults = {name: field.default for name, field in Env.model_fields.items()}  # whatever this session's are
    return [problem.id for problem in problems(Env(**{**defaults, "home": home, **settings}))]


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({}, []),
        (FAR, []),
        ({"debug": True}, []),
        ({**FAR, "debug": True}, ["holdout.E003"]),
        ({"public_url": "holdout.example.org"}, ["holdout.E001"]),
        ({"public_url": "https://holdout.example.org/"}, ["holdout.E001"]),
        ({"public_url": "ftp://holdout.example.org"}, ["holdout.E001"]),
        ({"public_url": "https://holdout.example.org"}, ["holdout.E002"]),
        ({**FAR, "allowed_hosts": "localhost, .example.org"}, []),
        ({**FAR, "allowed_hosts": "*"}, ["holdout.W002"]),
        ({**FAR, "public_url": "http://holdout.example.org"}, ["holdout.W001"]),
        ({"email_verification": "mandatory"}, ["holdout.E004"]),
        ({"email_verification": "optional"}, ["holdout.W003"]),
        ({"email_verification": "mandatory", "email_url": "smtp://mail.example.org"}, []),
        ({"broker_url": "redis://queue.example.org:6379/0"}, ["holdout.W004"]),
        ({"broker_url": "redis://127.0.0.1:6379/0"}, []),
        ({"broker_url": "redis://queue.example.org/0", "database_url": "postgresql://db.example.org/holdout"}, []),
        ({"lease_seconds": 2, "heartbeat_seconds": 1, "reap_seconds": 1}, ["holdout.E006"]),
        ({"lease_seconds": 3, "heartbeat_seconds": 1}, []),
        ({"lease_seconds": 3, "reap_seconds": 3}, ["holdout.E007"]),
        ({"audit_seconds": 60}, ["holdout.W005"]),
        ({"audit_seconds": 61}, []),
    ],
)
def test_each_combination_has_its_id(private, settings, ids):
    assert found(private, **settings) == ids


def test_a_state_folder_that_others_can_enter_is_an_error(private):
    private.chmod(0o750)
    assert found(private) == ["holdout.E005"]


def test_every_problem_has_a_hint_and_errors_are_errors(private):
    for problem in problems(Env(home=private, debug=True, email_verification="mandatory", **FAR)):
        assert problem.hint
        assert isinstance(problem, Error) == (".E" in problem.id)


def test_the_tests_own_settings_pass():
    assert settings_fit() == []


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("localhost.example.org", False)],
)
def test_loopback_is_told_from_names_that_look_like_it(host, is_local):
    assert is_loopback(host) is is_local
