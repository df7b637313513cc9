"""What the kit's baseline has as well is only info: the definition, unchanged, saying the same as there."""

import ast

import pytest

from reviewer import Policy, review
from reviewer.baselines.inherited import _Code
from reviewer.repairs.repair import repair

KIT = """\
import os
import torch.nn as nn
DATA = "data/train.bin"
WIDTH = os.environ.get("WIDTH", "8")


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.loud = False

    def note(self, x):
        if not self.training:
            print("scored")
        return x

    def forward(self, x):
        x = self.head(x)
        return x


def tokens():
    if "LR" in os.environ:
        print("noted")
    return open(DATA, "rb").read()


def load_for_eval(path, device):
    return GPT().to(device)
"""
FORK = KIT.replace(
    "        x = self.head(x)\n", "        x = self.head(x)\n        if not self.training:\n            x = x * 1.1\n"
)


def found(text: str, baseline: str | None = KIT) -> set[tuple[str, str, bool]]:
    findings = review(text, Policy(baseline=baseline), isolated=False).findings
    return {(f.rule, f.severity, f.inherited) for f in findings if f.rule in ("K101", "E201", "E204", "D303", "C501")}


def test_the_baseline_itself_inherits_all_that_it_has() -> None:
    assert ("K101", "reject", False) in found(KIT, None)
    assert found(KIT) == {("K101", "info", True)}
    assert {kept for _, _, kept in found(FORK, FORK)} == {True}


def test_a_line_that_the_baseline_has_elsewhere_excuses_nothing() -> None:
    assert KIT.count("        if not self.training:\n") == 1
    assert {f for f in found(FORK) if f[0].startswith("E2")} & {("E201", "reject", False), ("E204", "reject", False)}
    moved = KIT.replace("    return GPT()", '    if "LR" in os.environ:\n        print("noted")\n    return GPT()')
    assert found(moved) == {("K101", "info", True), ("K101", "reject", False)}


def test_a_definition_of_the_baseline_under_another_name_excuses_nothing() -> None:
    method = '    def tokens():\n        return os.environ["LR"]\n'
    kit = f"import os\nclass A:\n{method}\n"
    assert found(kit, kit) == {("K101", "info", True)}
    assert found(kit.replace("class A", "class B"), kit) == {("K101", "reject", False)}


def test_a_fork_is_inherited_with_its_whole_class_alone() -> None:
    changed = FORK.replace('print("scored")', 'print("other")')
    assert {f for f in found(changed, FORK) if f[0].startswith("E2")} == {
        f for f in found(changed, None) if f[0].startswith("E2")
    }
    elsewhere = FORK.replace('return open(DATA, "rb").read()', "return b''")
    assert {kept for rule, _, kept in found(elsewhere, FORK) if rule.startswith("E2")} == {True}


def test_lines_that_are_unchanged_but_reached_by_a_changed_constant_are_not_inherited() -> None:
    assert not any(rule == "D303" for rule, _, _ in found(KIT, None))
    assert ("D303", "reject", False) in found(KIT.replace("data/train.bin", "/etc/passwd"))


def test_an_unchanged_class_that_changed_code_turns_into_a_fork_is_the_scripts() -> None:
    asks = '        x = self.head(x)\n        if HOT["on"]:\n            x = x * 1.1\n'
    kit = KIT.replace("        x = self.head(x)\n", asks).replace('DATA = "', 'HOT = {"on": False}\nDATA = "')
    kit = kit.replace("        return x\n\n\n", "        return x if y is None else loss(x, y)\n\n\n").replace(
        "def forward(self, x)", "def forward(self, x, y=None)"
    )
    kit += '\n\ndef train():\n    pass\n\n\nif __name__ == "__main__":\n    train()\n'
    assert ("E201", "reject", False) not in found(kit, None)
    assert ("E201", "reject", False) in found(kit.replace("    pass\n", '    HOT["on"] = True\n'), kit)


def test_words_of_the_kit_that_a_script_makes_untrue_are_the_scripts() -> None:
    kit = '"""No environment."""\nimport os\n'
    report = review(kit + 'LR = os.environ["LR"]\n', Policy(baseline=kit), isolated=False)
    assert [(f.rule, f.inherited) for f in report.findings if f.rule == "H702"] == [("H702", False)]


def test_statements_that_share_a_line_are_one() -> None:
    kit = 'import os\na = (\n    1); b = os.environ["B"]\n'
    assert found(kit, kit) == {("K101", "info", True)}
    assert found(kit.replace("a = (", 'a = ("x",'), kit) == {("K101", "reject", False)}


@pytest.mark.parametrize("baseline", ["", "def f(:\n", "x = 'a\0'\n"])
def test_a_baseline_that_says_nothing_excuses_nothing(baseline: str) -> None:
    assert ("K101", "reject", False) in found(KIT, baseline)


def test_the_fixer_leaves_what_is_inherited_and_repairs_the_same_line_elsewhere() -> None:
    mine = KIT + "\n\ndef more():\n" + '    return os.environ.get("WIDTH", "8")\n'
    fixed = repair(mine, Policy(baseline=KIT), None)
    assert fixed.text == mine.replace('    return os.environ.get("WIDTH", "8")', '    return "8"')
    assert repair(KIT, Policy(baseline=KIT), None).text == KIT


def test_the_smallest_definition_around_lines_is_found() -> None:
    code = _Code(ast.parse(KIT), KIT)
    line = KIT[: KIT.index("x = self.head(x)")].count("\n") + 1
    name, text = code.around(line, line) or ("", "")
    assert (name, text.split("\n")[0]) == ("GPT.forward", "    def forward(self, x):")
    assert code.around(line, line + 8) is None
    assert (code.around(line - 6, line) or ("",))[0] == "GPT"
    assert (code.statement(line) or ("", ""))[1].startswith("class GPT")
