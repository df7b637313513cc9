import json

import pytest

from scoring.sandbox import doctor
from scoring.sandbox.spec import SandboxError


@pytest.mark.sandbox
def test_this_host_is_looked_at_from_inside_a_real_sandbox(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    grades = {finding["name"]: finding["grade"] for finding in report["findings"]}
    assert report["sealed"] is True
    assert {grades[name] for name in ("canary", "network", "proc", "environ", "writable")} == {"ok"}
    for finding in report["findings"]:
        assert (finding["grade"] == "ok") == (finding["remedy"] == ""), finding
        assert "\n" not in finding["remedy"]


def test_a_leak_fails_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_probe", lambda: {"canary": True, "network": False, "proc": False, "writable": []})
    grades = {finding.name: finding.grade for finding in doctor.check_inside()}
    assert grades["canary"] == "failed"
    assert grades["environ"] == "failed", "an answer that is missing is a failure"
    assert grades["network"] == "ok"


def test_a_sandbox_that_does_not_start_fails_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> dict[str, object]:
        raise SandboxError("bubblewrap: no permissions")

    monkeypatch.setattr(doctor, "_probe", refuse)
    (finding,) = doctor.check_inside()
    assert (finding.grade, finding.found) == ("failed", "bubblewrap: no permissions")


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"user/max_user_namespaces": "0"}, "sysctl -w user.max_user_namespaces=15000"),
        ({"kernel/unprivileged_userns_clone": "0"}, "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ({}, ""),
    ],
)
def test_each_switch_of_a_distribution_has_its_line(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], remedy: str
) -> None:
    monkeypatch.setattr(doctor, "_sysctl", settings.get)
    assert doctor.check_namespaces().remedy == remedy
