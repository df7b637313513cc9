"""`manage.py agent add`: a key in a file that only its owner reads."""

import stat
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaderboard.core.secrets import digest
from leaderboard.runs import agents
from leaderboard.runs.models import Agent

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def key_file():
    path = Path(settings.HOME) / "agent" / "agent.key"
    path.unlink(missing_ok=True)
    return path


def add(*words):
    call_command("agent", "add", *words)


def test_it_registers_the_agent_and_writes_its_key(key_file, capsys):
    add("local", "--hardware", "cpu")
    assert agents.of_key(key_file.read_text().strip()).name == "local"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    said = capsys.readouterr().out
    assert str(key_file) in said
    assert key_file.read_text().strip() not in said


def test_a_second_time_it_leaves_a_key_that_fits(key_file):
    add("local", "--hardware", "cpu")
    key = key_file.read_text()
    add("local", "--hardware", "cpu")
    assert key_file.read_text() == key


def test_a_lost_key_is_replaced_and_the_old_one_is_nobody(key_file):
    add("local", "--hardware", "cpu")
    old = key_file.read_text().strip()
    key_file.unlink()
    add("local", "--hardware", "cpu")
    assert Agent.objects.count() == 1
    assert Agent.objects.get().digest == digest(key_file.read_text().strip()) != digest(old)


@pytest.mark.parametrize("words", [("../x",), ("local", "--hardware", "hw.*"), ("",)])
def test_odd_names_are_refused(words):
    with pytest.raises(CommandError):
        add(*words)
