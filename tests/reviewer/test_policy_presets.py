"""Ready-made policies name every rule; a file builds on one, and what comes of it is complete without it."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reviewer.policies
from reviewer import Policy, PolicyError, policy, review
from reviewer.catalogue import CATALOGUE
from reviewer.policies import PRESETS, preset
from reviewer.policyfile import policy_in, read_toml

FOLDER = Path(reviewer.policies.__file__).parent
DEMO = FOLDER.parents[1] / "deploy/demo/competition.toml"
LOADER = "def load(n):\n    return list(range(n))\n"
SECTIONS = [
    {"name": "Loader", "definitions": ["load"], "accepted": [{"name": "a", "date": "2026-01-01", "text": LOADER}]}
]
NEEDED: dict[str, dict[str, Any]] = {"speed-run": {"sections": SECTIONS}}


def made(name: str, **over: Any) -> Policy:
    return Policy.from_mapping({"preset": name, **NEEDED.get(name, {}), **over})


def test_each_preset_is_a_file_and_each_file_a_preset() -> None:
    assert {file.stem for file in FOLDER.glob("*.toml")} == set(PRESETS)
    with pytest.raises(KeyError):
        preset("../catalogue")


@pytest.mark.parametrize("file", [*(f"{FOLDER}/{name}.toml" for name in PRESETS), str(DEMO)], ids=[*PRESETS, "demo"])
def test_every_rule_stands_there_once_with_a_word_of_what_it_is(file: str) -> None:
    text = Path(file).read_text(encoding="utf-8")
    table = tomllib.loads(text)
    assert list(table.get("policy", table)["rules"]) == list(CATALOGUE)
    for line in text.splitlines():
        if line[:4] in CATALOGUE:
            assert len(line.partition("# ")[2]) > 10, line


def test_the_demos_policy_is_the_one_without_a_word() -> None:
    assert Policy.from_mapping(tomllib.loads(DEMO.read_text(encoding="utf-8"))["policy"]) == Policy()


@pytest.mark.parametrize("name", PRESETS)
def test_a_file_overrides_single_rules_and_settings_of_a_preset(name: str) -> None:
    plain, own = made(name), made(name, rules={"K101": "warn"}, max_bytes=7, allow_env=["A"], version="9")
    assert plain != Policy.from_mapping(NEEDED.get(name, {}))
    assert own.rules == {**plain.rules, "K101": "warn"}
    assert (own.max_bytes, own.allow_env, own.version) == (7, frozenset({"A"}), "9")


@pytest.mark.parametrize("name", PRESETS)
def test_a_later_change_of_a_preset_changes_no_policy_that_was_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made(name)
    table = before.to_mapping()
    assert "preset" not in table
    assert list(table["rules"]) == list(CATALOGUE)
    monkeypatch.setattr(policy, "preset", lambda _: {"rules": dict.fromkeys(CATALOGUE, "off")})
    monkeypatch.setattr(policy, "CATALOGUE", {code: (name, "off") for code, (name, _) in CATALOGUE.items()})
    assert made(name).rules != before.rules
    assert Policy.from_mapping(table) == before


def test_a_speed_run_needs_its_sections() -> None:
    with pytest.raises(PolicyError, match=r"policy\.preset: speed-run holds scripts to frozen sections"):
        Policy.from_mapping({"preset": "speed-run"})


PACKED = "import base64\nexec(base64.b64decode('eCA9IDEK'))\n"
DATA = "W = '" + "aB3dEf7hIj1LmN0pQr5sTuVw" * 40 + "'\n"
FALLBACK = "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n"


@pytest.mark.parametrize(
    ("text", "rule", "standard", "severities"),
    [
        (PACKED, "O601", "review", ("review", "reject", "review")),
        (DATA, "D306", "review", ("review", "review", "reject")),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr')\n", "K102", "review", ("reject",) * 3),
        (LOADER.replace("range(n)", "range(n + 1)"), "F801", None, (None, "reject", None)),
        ("import torch\ntorch.manual_seed(1)\n", "H704", "warn", ("review", "review", "warn")),
    ],
)
def test_presets_are_as_strict_as_their_contests(
    text: str, rule: str, standard: str | None, severities: tuple[str | None, ...]
) -> None:
    def worst(policy: Policy) -> str | None:
        found = [f.severity for f in review(text, policy, isolated=False).findings if f.rule == rule]
        return found[0] if found else None

    assert worst(Policy()) == standard
    assert tuple(worst(made(name)) for name in PRESETS) == severities


def test_packed_code_of_a_size_limited_contest_is_judged_by_its_inner_text() -> None:
    import base64

    inner = base64.b64encode(b"import requests\n").decode()
    report = review(f"import base64\nexec(base64.b64decode('{inner}'))\n", made("size-limited"), isolated=False)
    assert ("O601", "review", "source") in [(f.rule, f.severity, f.view) for f in report.findings]
    assert ("D301", "reject", "unpacked") in [(f.rule, f.severity, f.view) for f in report.findings]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        (tmp_path / "first.py").write_text(LOADER, encoding="utf-8")
        file = tmp_path / "policy.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return written


def test_a_policy_file_may_build_on_a_preset_and_name_scripts_beside_it(write: Callable[[str], Path]) -> None:
    file = write(
        'preset = "speed-run"\n[rules]\nK105 = "off"\n[[sections]]\nname = "Loader"\ndefinitions = ["load"]\n'
        '[[sections.accepted]]\nname = "a"\ndate = 2026-01-01\nfile = "first.py"\n'
    )
    found = policy_in(read_toml(file), file)
    assert (found.severity("K105"), found.severity("H704")) == ("off", "review")
    assert found.sections[0].newest.text.strip() == LOADER.strip()
    with pytest.raises(PolicyError, match=r"policy\.sections\.0\.accepted\.0\.file: 'none\.py' cannot be read"):
        policy_in(read_toml(write(file.read_text(encoding="utf-8").replace("first.py", "none.py"))), file)
