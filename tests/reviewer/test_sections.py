"""Frozen sections: how they are found, graded and told, and how a baseline becomes the text of one."""

from typing import Any

import pytest

from reviewer import Policy, PolicyError, Report, review
from reviewer.baselines.frozen import Accepted, Frozen, FrozenError, sections_of, with_texts

LOADER = '''\
CHUNK = 4

def load(path):
    """Yield pieces."""
    return np.memmap(path)[:CHUNK]
'''
MODEL = "class GPT(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
TOP = "import numpy as np\nfrom torch import nn\n\n"


GIVEN = {"name": "a", "date": "2026-01-01", "text": "x"}


def boxed(title: str) -> str:
    return f"{'#' * 30}\n#{title:^28}#\n{'#' * 30}\n\n"


SCRIPT = TOP + boxed("Dataloader") + LOADER + "\n" + boxed("Architecture") + MODEL + "\n" + boxed("Rest")
SCRIPT += "print(load('x'), GPT())\n"
OLDER = LOADER.replace("CHUNK = 4", "CHUNK = 2")

TABLES: list[dict[str, Any]] = [
    {
        "name": "Loading",
        "banner": "Dataloader",
        "accepted": [
            {"name": "second", "date": "2026-02-01", "text": LOADER.strip(), "imports": {"np": "numpy"}},
            {"name": "first", "date": "2026-01-01", "text": OLDER.strip(), "imports": {"np": "numpy"}},
        ],
    },
    {
        "name": "Model",
        "definitions": ["class GPT"],
        "accepted": [{"name": "only", "date": "2026-01-01", "text": MODEL.strip(), "imports": {"nn": "torch.nn"}}],
    },
]


def judged(text: str, tables: list[dict[str, Any]] = TABLES, **policy: Any) -> Report:
    return review(text, Policy.from_mapping({"sections": tables, **policy}), isolated=False)


def grades(text: str) -> list[tuple[str, str, str]]:
    return [(each.name, each.grade, each.baseline) for each in judged(text).sections]


def said(text: str, **more: Any) -> list[tuple[int, str]]:
    found = [f for f in judged(text, **more).findings if f.rule == "F801"]
    return [(f.line, f.message.split("\n")[0]) for f in found]


def test_a_script_that_keeps_its_sections_has_them_in_its_report() -> None:
    assert grades(SCRIPT) == [("Loading", "byte-identical", "second"), ("Model", "byte-identical", "only")]
    assert said(SCRIPT) == []


def test_any_accepted_baseline_will_do() -> None:
    assert grades(SCRIPT.replace(LOADER, OLDER))[0] == ("Loading", "byte-identical", "first")


@pytest.mark.parametrize(
    "change",
    [
        ("CHUNK = 4", "CHUNK = 4  # rows"),
        ("CHUNK = 4", "CHUNK = (4)"),
        ("CHUNK = 4\n\n", "CHUNK = 4\n"),
        ("path)[:CHUNK]", "path)[: CHUNK]"),
        ("\n", "\r\n"),
    ],
)
def test_comments_and_blank_space_are_its_own(change: tuple[str, str]) -> None:
    assert grades(SCRIPT.replace(*change))[0] == ("Loading", "ast-identical", "second")
    assert said(SCRIPT.replace(*change)) == []


def test_a_docstring_is_code() -> None:
    assert grades(SCRIPT.replace("Yield pieces", "Yields pieces"))[0] == ("Loading", "changed", "second")


def test_the_first_line_that_differs_is_named_and_where_it_is() -> None:
    text = SCRIPT.replace("path)[:CHUNK]", "path)[:CHUNK + 1]")
    line = text[: text.index("CHUNK = 4")].count("\n") + 1
    differs = text[: text.index("CHUNK + 1")].count("\n") + 1
    there = "return np.memmap(path)[:CHUNK]"
    assert said(text) == [
        (line, f"The frozen section `Loading` is not the accepted baseline `second`: line {differs} is not `{there}`.")
    ]
    report = judged(text)
    assert (report.verdict, report.sections[0].grade) == ("reject", "changed")


def test_what_is_missing_or_goes_on_at_the_end_is_said() -> None:
    assert "is missing at its end" in said(SCRIPT.replace(LOADER[LOADER.index("\ndef") :], ""))[0][1]
    assert "has something that the baseline does not have" in said(SCRIPT.replace(LOADER, LOADER + "load('y')\n"))[0][1]


def test_a_missing_section_is_changed_and_named_with_what_it_is_found_by() -> None:
    text = SCRIPT.replace("Dataloader", "Loaderdata").replace("class GPT", "class GTP")
    assert [grade for _, grade, _ in grades(text)] == ["changed", "changed"]
    assert said(text) == [
        (1, "The frozen section `Loading` is not there: it is what follows the one banner `Dataloader`."),
        (1, "The frozen section `Model` is not there: it is `GPT`, each defined once."),
    ]


def test_a_baseline_script_excuses_no_change_of_a_section() -> None:
    """What a script inherits from the kit's baseline is only info, for every other rule."""
    text = SCRIPT.replace("return np", "np.seed = 1\n    return np")
    found = [f for f in judged(text, baseline=SCRIPT).findings if f.rule == "F801"]
    assert [(f.severity, f.inherited) for f in found] == [("reject", False)]


def test_packed_code_is_judged_by_what_it_unpacks_to() -> None:
    import base64

    payload = base64.b64encode(SCRIPT.encode()).decode()
    report = judged(f"import base64\nexec(base64.b64decode('{payload}'))\n")
    assert [each.grade for each in report.sections] == ["byte-identical", "byte-identical"]
    assert not [f for f in report.findings if f.rule == "F801"]


def test_several_places_are_named_but_not_hundreds() -> None:
    text = SCRIPT + "GPT.forward = print\n" * 300
    assert 1 < len(said(text)) <= 5


def test_without_sections_nothing_is_said() -> None:
    assert review(SCRIPT, isolated=False).sections == ()


def test_the_limited_process_grades_alike() -> None:
    text = SCRIPT.replace("x * 2", "x * 3")
    assert review(text, Policy.from_mapping({"sections": TABLES})).sections == judged(text).sections


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": ""}, "sections.0.name"),
        ({"name": "Model"}, "sections.1.name"),
        ({"colour": 1}, "sections.0.colour"),
        ({"definitions": ["GPT"]}, "sections.0.banner"),
        ({"banner": 3}, "sections.0.banner"),
        ({"accepted": []}, "sections.0.accepted"),
        ({"accepted": ["x"]}, "sections.0.accepted.0"),
        ({"accepted": [{"name": "a", "date": "soon", "text": "x"}]}, "sections.0.accepted.0.date"),
        ({"accepted": [{"name": "a", "date": "2026-01-01", "text": " "}]}, "sections.0.accepted.0.text"),
        ({"accepted": [{"name": "a", "date": "2026-01-01", "text": "x ="}]}, "sections.0.accepted.0.text"),
        ({"accepted": [{"name": "a", "date": "2026-01-01", "file": "x"}]}, "sections.0.accepted.0.file"),
        ({"accepted": [{**GIVEN, "imports": 1}]}, "sections.0.accepted.0.imports"),
    ],
)  # fmt: skip
def test_a_wrong_list_is_refused_with_its_key(change: dict[str, Any], key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping({"sections": [{**TABLES[0], **change}, TABLES[1]]})
    assert caught.value.key == key


def test_names_of_definitions_are_names() -> None:
    for names in ([], "GPT", ["class GPT:"], [3]):
        with pytest.raises(FrozenError, match="definitions"):
            sections_of([{**TABLES[1], "definitions": names}])


def test_a_policy_with_sections_survives_its_table() -> None:
    policy = Policy.from_mapping({"sections": TABLES})
    assert Policy.from_mapping(policy.to_mapping()) == policy
    assert [each.name for each in policy.sections[0].accepted] == ["first", "second"]
    assert policy.sections[0].newest == Accepted("second", "2026-02-01", LOADER.strip(), (("np", "numpy"),))


def named(section: dict[str, Any], file: str = "base.py") -> list[dict[str, Any]]:
    return [{**section, "accepted": [{"name": "base", "date": "2026-01-01", "file": file}]}]


@pytest.mark.parametrize("section", TABLES, ids=["banner", "definitions"])
def test_a_named_script_is_replaced_by_the_text_of_its_section(section: dict[str, Any]) -> None:
    (table,) = with_texts(named(section), lambda name: SCRIPT)  # type: ignore[misc]
    (entry,) = table["accepted"]
    assert entry == {**section["accepted"][0], "name": "base", "date": "2026-01-01"}
    assert sections_of([table])[0].accepted[0].text == entry["text"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "is not there"),
        (SCRIPT + boxed("Dataloader") + "y = 2\n", "stands here 2 times"),
        (SCRIPT + "CHUNK = 5\n", "reads as what runs, but this sets `CHUNK` again"),
        ("x =\n", "cannot be read"),
        ("", "The file is empty"),
    ],
)
def test_a_script_that_would_not_pass_itself_is_no_baseline(text: str, words: str) -> None:
    with pytest.raises(FrozenError, match=words) as caught:
        with_texts(named(TABLES[0]), lambda name: text)
    assert caught.value.key == "0.accepted.0.file"


SIZES = "import torch.nn as nn\nWIDTH, CAP = 8, 15.0\nHIDDEN = 4 * WIDTH\nSTEPS = 10\n"
USES = (
    "class Net(nn.Module):\n    def make(self, x):\n        return nn.Linear(WIDTH, HIDDEN)(x) / CAP\n"
    "print(Net(), STEPS)\n"
)
NET = {"name": "net", "definitions": ["Net"]}


def constants_said(text: str, sections: tuple[Frozen, ...]) -> list[tuple[int, str]]:
    findings = review(text, Policy(sections=sections), isolated=False).findings
    return [(f.line, f.severity) for f in findings if f.rule == "F801"]


def test_a_section_comes_with_the_constants_that_it_uses() -> None:
    sections = sections_of(with_texts(named(NET), lambda name: SIZES + USES))
    assert dict(sections[0].accepted[0].constants) == {"WIDTH": "8", "CAP": "15.0", "HIDDEN": "32"}
    assert Policy.from_mapping(Policy(sections=sections).to_mapping()).sections == sections
    assert constants_said(SIZES + USES, sections) == []
    assert constants_said(SIZES.replace("10", "99") + USES, sections) == []
    assert constants_said(SIZES.replace("4 * WIDTH", "24 + 8") + USES, sections) == []
    assert constants_said(SIZES.replace("15.0", "30.0") + USES, sections) == [(2, "review")]
    assert constants_said(SIZES.replace("8, 15", "9, 15") + USES, sections) == [(2, "review"), (3, "review")]
    assert constants_said(SIZES + USES + "CAP = 30.0\n", sections) == [(9, "review")]
    assert constants_said(SIZES + USES + "def f():\n    global CAP\n    CAP = 30.0\n", sections) == [(11, "review")]
    assert constants_said(SIZES.replace("15.0", "float(len(names))") + USES, sections) == [(2, "review")]


def test_each_accepted_baseline_has_constants_of_its_own() -> None:
    texts = {"a.py": SIZES + USES, "b.py": SIZES.replace("15.0", "30.0") + USES}
    dates = {"a.py": "2026-01-01", "b.py": "2026-02-01"}
    accepted = [{"name": file, "date": day, "file": file} for file, day in dates.items()]
    sections = sections_of(with_texts([{**NET, "accepted": accepted}], texts.__getitem__))
    assert [constants_said(text, sections) for text in texts.values()] == [[], []]
    assert constants_said(SIZES.replace("15.0", "20.0") + USES, sections) == [(2, "review")]
