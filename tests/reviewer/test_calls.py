"""The call graph: who can run whom, also where a function is named and not called."""

import libcst as cst
import pytest

from reviewer import review
from reviewer.policy import Policy
from reviewer.script import Script

MODEL = """\
import torch.nn as nn
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)
    def _other(self, x):
        if not self.training:
            x = x * 1.1
        return x
    @property
    def wide(self):
        a = self.head
        b = a
        c = b
        if not self.training:
            c = lambda x: a(x) * 2
        return c
    def forward(self, x):
        return {}
def run(f, x):
    return f(x)
def load_for_eval(path, device):
    return GPT().to(device)
"""
HANDED_ON = (
    "run(self._other, self.head(x))",
    "next(map(self._other, [self.head(x)]))",
    "[f(self.head(x)) for f in [self._other]][0]",
    "{'a': self._other}['a'](self.head(x))",
    "run(getattr(self, '_other'), self.head(x))",
    "run(self._other.__call__, self.head(x))",
    "run(lambda z: self._other(z), self.head(x))",
    "self.wide(x)",
    "run(self.wide, x)",
)


def reached(text: str, start: str) -> set[str]:
    """Return the names of what a function of this name reaches, without its own."""
    script = Script(text, Policy())
    functions = script.tree.of(cst.FunctionDef)
    found = script.calls.reachable([f for f in functions if f.name.value == start])
    assert min(found) > 0
    return {f.name.value for f in functions if id(f) in found} - {start}


@pytest.mark.parametrize("body", HANDED_ON)
def test_a_fork_in_what_forward_hands_on_is_found(body: str) -> None:
    rules = {f.rule for f in review(MODEL.format(body), isolated=False).findings if f.severity == "reject"}
    assert rules & {"E201", "E204"}


def test_a_model_that_names_neither_has_no_fork() -> None:
    assert not [f for f in review(MODEL.format("self.head(x)"), isolated=False).findings if f.severity == "reject"]


@pytest.mark.parametrize(
    ("use", "runs"),
    [
        ("h()", {"h"}),
        ("k(h)", {"h"}),
        ("h.__call__()", {"h"}),
        ("h = 1", set()),
        ("k(h=1)", set()),
        ("import h", set()),
        ("global h", set()),
        ("o.m", {"m"}),
        ("o.m = 1", set()),
        ("del o.m", set()),
        ("for o.m in k: pass", set()),
        ("o.p", {"p"}),
        ("o.p()", {"p"}),
        ("o.p = 1", {"p"}),
        ("k(A.m)", {"m"}),
        ("k(Own.__init__)", {"__init__"}),
        ("k(Own.m)", set()),
        ("Base()", {"forward", "__init__"}),
        ("Own()", {"forward", "__init__"}),
    ],
)
def test_a_name_that_is_no_value_leads_nowhere(use: str, runs: set[str]) -> None:
    text = f"""\
def h(): pass
class A:
    def m(self): pass
    @property
    def p(self): pass
    @p.setter
    def p(self, v): pass
class Base:
    def __init__(self): pass
    def forward(self): pass
class Own(Base):
    def __init__(self): pass
def start():
    {use}
"""
    assert reached(text, "start") == runs


def test_what_stands_above_a_class_runs_as_well() -> None:
    text = """\
class A:
    def forward(self): first()
    def part(self): second()
class B(A): pass
class C(B):
    BODY
def first(): pass
def second(): pass
def start(): C()
"""
    assert reached(text.replace("BODY", "pass"), "start") == {"forward", "first"}
    assert reached(text.replace("BODY", "def forward(self): super().part()"), "start") > {"second"}


def test_who_reaches_a_function_hands_it_on_or_calls_it() -> None:
    script = Script("def h(): pass\ndef a(): k(h)\ndef b(): a()\ndef c(): pass\n", Policy())
    functions = {f.name.value: id(f) for f in script.tree.of(cst.FunctionDef)}
    found = script.calls.reaching([functions["h"]])
    assert {name for name, key in functions.items() if key in found} == {"h", "a", "b"}


def test_classes_above_each_other_come_to_an_end() -> None:
    assert reached("class A(B): pass\nclass B(A):\n    def forward(self): pass\ndef start(): A()\n", "start") == {
        "forward"
    }
