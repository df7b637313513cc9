"""What stands in deploy/ starts what `make run` starts, with settings that exist; README's table is the code's."""

import importlib.util
import re
import shlex
from pathlib import Path

import yaml

from leaderboard.env import PROJECT, Env
from scoring.sandbox.spec import SLOTS

DEPLOY = PROJECT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "container" / "compose.yaml").read_text())["services"]
PROCESSES = ("web", "worker", "beat", "agent", "valkey")


def units() -> dict[str, str]:
    return {path.stem.removeprefix("holdout-"): path.read_text() for path in (DEPLOY / "systemd").glob("*.service")}


def started(command: str) -> list[str]:
    """Return a command without its interpreter, addresses and doubled percent signs, as words."""
    words = shlex.split(command.replace("%%", "%"))
    return [word for word in words[words.index("-m") + 1 :] if not re.fullmatch(r"--host|--port|\d+(\.\d+)*", word)]


def demo_programs() -> dict[str, list[str]]:
    text = (DEPLOY / "demo" / "processes.py").read_text()
    assert all(f'"{name}": ' in text for name in PROCESSES)
    spec = importlib.util.spec_from_file_location("processes", DEPLOY / "demo" / "processes.py")
    assert spec is not None
    assert spec.loader is not None
    import sys

    sys.path.insert(0, str(DEPLOY / "demo"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    configuration = module.Processes(Path("/tmp/nowhere"), 8000)._configuration()
    return {
        name: started(command)
        for name, command in re.findall(r"\[program:(\w+)\]\ncommand=(.*)", configuration)
        if name != "valkey"
    }


def test_units_and_containers_start_what_make_run_starts() -> None:
    demo = demo_programs()
    assert set(units()) == set(PROCESSES)
    assert {*PROCESSES, "postgresql"} <= set(COMPOSE)
    containers = {name: Path(DEPLOY / "container" / f"{name}.Containerfile").read_text() for name in ("site", "agent")}
    for name, words in demo.items():
        unit = re.search(r"(?m)^ExecStart=(.*)$", units()[name])
        assert unit is not None
        assert started(unit[1]) == words, name
        if "command" in COMPOSE[name]:
            assert started(COMPOSE[name]["command"]) == words, name
        else:
            default = re.search(r"(?m)^CMD \[(.*)\]$", containers["agent" if name == "agent" else "site"])
            assert default is not None
            assert started(default[1].replace(",", " ")) == words, name


def test_every_setting_that_is_given_exists() -> None:
    known = {f"HOLDOUT_{name.upper()}" for name in Env.model_fields}
    for path in (path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        assert set(re.findall(r"HOLDOUT_[A-Z_]+[A-Z]", path.read_text())) <= known, path.name


def test_an_agent_reaches_no_database() -> None:
    assert "HOLDOUT_DATABASE_URL" not in COMPOSE["agent"]["environment"]
    assert not any("postgresql" in volume for volume in COMPOSE["agent"]["volumes"])
    assert "UnsetEnvironment=HOLDOUT_DATABASE_URL" in units()["agent"]


def test_readme_shows_the_settings_that_there_are() -> None:
    spec = importlib.util.spec_from_file_location("readme", DEPLOY / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.README.read_text()
    assert module.written(text) == text, "run `make format`"


def steps(text: str) -> list[str]:
    """Return the `manage` commands of a list of steps, in order."""
    return re.findall(r"(?m)^[# ]+\$?manage ([a-z]+(?: [a-z]+)?)", text)


def test_both_ways_take_the_same_steps_in_the_same_order() -> None:
    containers = steps((DEPLOY / "container" / "compose.yaml").read_text())
    systemd = steps((PROJECT / "README.md").read_text())
    assert systemd == ["migrate", *containers]  # which a service of its own does there
    assert containers == ["corpus harvest", "shards build", "competition load", "agent add", "createsuperuser"]


def test_sealed_shards_are_handed_to_the_user_that_the_scorer_is() -> None:
    handed = f"chown -R {SLOTS['scorer']}:{SLOTS['scorer']} /var/lib/holdout/sealed"
    for path in (DEPLOY / "container" / "compose.yaml", PROJECT / "README.md"):
        assert handed in path.read_text(), path.name


def test_what_manage_writes_is_readable_to_the_site() -> None:
    site = re.search(r"useradd --uid (\d+)", (DEPLOY / "container" / "site.Containerfile").read_text())
    assert site is not None
    assert COMPOSE["manage"]["user"] == f"{site[1]}:{site[1]}"
