"""What runs for scoring alone is one answer for all rules."""

import pytest

from reviewer import review

TEXT = """\
import torch.nn as nn
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.loud = False
        self.head = nn.Linear(8, 8)
    def forward(self, x):
        x = self.head(x)
        if self.loud:
            x = x.relu()
        return x
def ready(m):
    m.loud = True
    return m
def load_for_eval(path, device):
    return ready(GPT())
"""


@pytest.mark.parametrize("tried", ["", "if __name__ == '__main__':\n    load_for_eval('out/final.pt', 'cpu')\n"])
def test_a_script_that_tries_its_own_loader_has_the_same_fork(tried: str) -> None:
    found = {(f.rule, f.line) for f in review(TEXT + tried, isolated=False).findings if f.severity == "reject"}
    assert found == {("E204", 10)}
