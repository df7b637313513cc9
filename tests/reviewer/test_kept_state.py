"""What a model keeps without harm is noted and stops nobody; what only a hostile text makes costly goes to a person."""

import pytest

from reviewer import review
from reviewer.policy import Policy
from reviewer.rules.e207_stateful_forward import StatefulForward
from reviewer.script import Script

HEAD = "import torch, torch.nn as nn\nclass GPT(nn.Module):\n    def forward(self, x):\n"
CACHE = (
    "        if self.cos is None:\n            self.cos = torch.arange(x.size(1)).cos()\n        return x * self.cos\n"
)
COUNTED = "        self.calls += 1\n        return x\n"
ANEW = "        self.last = x * 2\n        return self.last\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [(CACHE, "a cache of constants"), (COUNTED, "nothing that it runs reads it"), (ANEW, "anew in each call")],
)
def test_harmless_state_is_noted_with_its_reason(body: str, said: str) -> None:
    found = list(StatefulForward().check(Script(HEAD + body, Policy())))
    assert [f.at_most for f in found] == ["info"]
    assert said in found[0].what


def test_a_cache_of_what_the_model_was_asked_is_no_cache_of_constants() -> None:
    body = CACHE.replace("torch.arange(x.size(1))", "x")
    found = list(StatefulForward().check(Script(HEAD + body, Policy())))
    assert [f.at_most for f in found] == ["reject"]  # the catalogue makes it a review


@pytest.mark.parametrize(("names", "too_many"), [(200, False), (2_500, True)])
def test_names_of_names_are_followed_once_and_not_without_end(names: int, too_many: bool) -> None:
    lines = "".join(f"        a{i + 1} = a{i} + a{i}\n" for i in range(names))
    text = HEAD.replace("x):", "a0, targets):") + lines
    text += f"        return nn.functional.cross_entropy(a{names}, targets)\n"
    said = {f.rule for f in review(text, isolated=False).findings if "take too long" in f.message}
    assert ("E209" in said) is too_many
    assert all(f.rule != "E209" or too_many for f in review(text, isolated=False).findings)
