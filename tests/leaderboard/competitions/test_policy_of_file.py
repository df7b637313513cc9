"""A competition file's policy: stored whole, whatever preset it builds on; what is wrong is named with its line."""

import pytest

from leaderboard.competitions import files
from reviewer import Policy
from reviewer import policy as reading
from reviewer.catalogue import CATALOGUE
from tests.leaderboard.competitions.conftest import edit

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_stored_policy_names_every_rule_and_no_preset(file, monkeypatch):
    edit(
        file, 'version = "1"\n[policy.rules]\n', 'version = "1"\npreset = "time-budget"\n[policy.rules]\nD306 = "off"\n'
    )
    competition = files.load(file)
    body = competition.policies.get().body
    assert "preset" not in body
    assert body["rules"].keys() == CATALOGUE.keys()
    assert [body["rules"][code] for code in ("K101", "K102", "D306")] == ["reject", "reject", "off"]
    assert files.publish(file).changes == ()
    monkeypatch.setattr(reading, "preset", lambda name: {"rules": dict.fromkeys(CATALOGUE, "info")})
    assert Policy.from_mapping(body).severity("K102") == "reject"
    assert files.publish(file).changes == ("policy 2",)  # a change of the preset is seen when the file is loaded again


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('preset = "easy"', "13: policy.preset: must be one of time-budget, speed-run, size-limited"),
        ('preset = "speed-run"', "13: policy.preset: speed-run holds scripts to frozen sections"),
        ('presets = "speed-run"', "13: policy.presets: there is no such setting; did you mean `preset`?"),
        ('allow_flags = ["lr"]', "13: policy.allow_flags: 'lr' is not an option such as `--lr`"),
        ('allow_imports = ["a b"]', "13: policy.allow_imports: 'a b' is not the dotted name"),
        ('only_imports = "torch"', "13: policy.only_imports: must be a list of texts"),
        ('only_import = ["torch"]', "13: policy.only_import: there is no such setting; did you mean `only_imports`?"),
    ],
)
def test_each_new_setting_is_refused_at_its_line(file, line, sentence):
    edit(file, "[policy.rules]", f"{line}\n[policy.rules]")
    with pytest.raises(files.CompetitionFileError) as caught:
        files.load(file)
    assert [problem.partition(":")[2].startswith(sentence) for problem in caught.value.problems] == [True], caught.value
