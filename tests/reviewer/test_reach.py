"""A report lists the functions that can run once `load_for_eval` does."""

import pytest

from reviewer.evaluation.reach import MOST, reached_at_evaluation
from reviewer.facts import Reached
from reviewer.policy import Policy
from reviewer.script import Script

LOADER = "def load_for_eval(checkpoint_path, device):\n    return {}\n"


def reached(text: str) -> list[str]:
    return [one.name for one in reached_at_evaluation(Script(text, Policy()))]


def test_a_script_without_the_function_has_none() -> None:
    assert reached("class GPT:\n    def forward(self): pass\n") == []


def test_a_method_of_that_name_is_another() -> None:
    assert reached("class GPT:\n    def load_for_eval(self): pass\n") == []


def test_they_come_in_source_order_with_their_lines() -> None:
    text = """\
def helper(x): return x
def trained(x): return helper(x)
class GPT:
    @staticmethod
    def part(x):
        def inner(y): return y
        return inner(x)
    def forward(self, x): return self.part(helper(x))
    def train_step(self): return trained(1)
async def load_for_eval(checkpoint_path, device): return GPT()
"""
    found = reached_at_evaluation(Script(text, Policy()))
    assert found == (
        Reached("helper", 1),
        Reached("GPT.part", 5),
        Reached("GPT.part.inner", 6),
        Reached("GPT.forward", 8),
        Reached("load_for_eval", 10),
    )


MODEL = "class GPT:\n    def forward(self, x): return x\n"
RETURNED = {
    "made there": (MODEL + LOADER.format("GPT()"), ["GPT.forward"]),
    "made by a helper": (
        MODEL + "def make(): return GPT()\n" + LOADER.format("make()"),
        ["GPT.forward", "make"],
    ),
    "a class under another name": (MODEL + "Model = GPT\n" + LOADER.format("Model()"), ["GPT.forward"]),
    "inherited from a class of the file": (
        MODEL + "class Wide(GPT):\n    width = 2\n" + LOADER.format("Wide()"),
        ["GPT.forward"],
    ),
    "inherited twice over": (
        MODEL + "class Wide(GPT): pass\nclass Wider(Wide):\n    def __init__(self): pass\n" + LOADER.format("Wider()"),
        ["GPT.forward", "Wider.__init__"],
    ),
    "classes that inherit from each other": (
        "class A(B):\n    def forward(self): pass\nclass B(A): pass\n" + LOADER.format("B()"),
        ["A.forward"],
    ),
    "loaded from nowhere that is known": (MODEL + LOADER.format("torch.load(checkpoint_path)"), ["GPT.forward"]),
    "a property": (
        "class GPT:\n    @property\n    def size(self): return 1\n    def forward(self): return self.size\n"
        + LOADER.format("GPT()"),
        ["GPT.size", "GPT.forward"],
    ),
    "a function in a partial": (
        "def f(x): return g(x)\ndef g(x): return x\nclass GPT:\n    def forward(self): return partial(f, 1)()\n"
        + LOADER.format("GPT()"),
        ["f", "g", "GPT.forward"],
    ),
    "a hook": (
        MODEL + "def hook(m, i, o): return o\n"
        "def load_for_eval(checkpoint_path, device):\n    m = GPT()\n    m.register_forward_hook(hook)\n    return m\n",
        ["GPT.forward", "hook"],
    ),
    "a method that is handed on": (
        "class GPT:\n    def part(self, x): return x\n    def forward(self, x): return checkpoint(self.part, x)\n"
        + LOADER.format("GPT()"),
        ["GPT.part", "GPT.forward"],
    ),
    "another name, the same word": (
        MODEL + "def scale(x): return x\ndef f(scale): return scale\n" + LOADER.format("f(GPT())"),
        ["GPT.forward", "f"],
    ),
    "the same word as a keyword": (
        MODEL + "def scale(x): return x\ndef f(**k): return k\n" + LOADER.format("GPT() or f(scale=1)"),
        ["GPT.forward", "f"],
    ),
}


@pytest.mark.parametrize("how", RETURNED)
def test_the_model_that_is_returned_is_followed(how: str) -> None:
    text, names = RETURNED[how]
    other = "" if "nowhere" in how else "class Other:\n    def forward(self, x): return x\n"
    assert reached(other + text) == [*names, "load_for_eval"]


def test_what_a_shell_defines_has_no_place_in_the_text() -> None:
    outside = Script("def q(): return 1\n", Policy()).tree.module.body
    script = Script("class M:\n    def forward(self): return q()\n" + LOADER.format("M()"), Policy(), None, 1, outside)
    assert [r.name for r in reached_at_evaluation(script)] == ["M.forward", "load_for_eval"]


def test_a_long_list_ends() -> None:
    text = "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(2 * MOST)) + LOADER.format("f0()")
    assert len(reached(text)) == MOST
