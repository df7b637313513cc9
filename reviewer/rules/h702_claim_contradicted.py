"""H702 claim-contradicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from reviewer.claims import Said, said_in
from reviewer.found import Found
from reviewer.report import Finding, Knob
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.wording import clip

_ENV = "import os\nx = os.environ['LR']\n"
_FORK = (
    "import torch.nn as nn\nclass GPT(nn.Module):\n    def forward(self, x):\n        x = self.head(x)\n"
    "        if not self.training:\n            x = x * 1.1\n"
)
_LOUD = ("warn", "review", "reject")


class ClaimContradicted(Rule):
    """Sends a file whose words deny what it does to a person.

    What it looks for
        A docstring or a comment that claims something which another rule has found to be otherwise: no environment, no
        knobs, everything in this file, the same in training and evaluation, no scaling of logits, no fallback, no
        held-out data, no network, no pretrained weights, a pure function, causal, deterministic, no adaptation, nothing
        hidden, no stored data, the platform's seed. Questions, wishes, conditions and quotes claim nothing.

    Why it is refused
        It is not, a person looks. Readers believe what stands on top of a file; a sentence that was true once misleads
        them as much as one that never was.

    Do instead
        Take the sentence out, or make it true.
    """

    code = "H702"
    inherits = False  # the words may be the kit's; what contradicts them is not, or it would not be heard

    VALID: ClassVar = (
        '"""No environment variables, no network, no fallback."""\nimport torch\n',
        f'"""The environment is read here."""\n{_ENV}',
        f'"""It is not true that there is no environment."""\n{_ENV}',
        f'"""Readers say "no environment" of such files."""\n{_ENV}',
        f"# TODO: there should be no environment reads\n{_ENV}",
        f"# is there really no environment?\n{_ENV}",
        f"# no environment, unless LR is given\n{_ENV}",
        f'"""What share is used. Default (no env) -> all of it."""\n{_ENV}',
        f"# default with no env vars set: 3\n{_ENV}",
        f"# no env variable given: three layers\n{_ENV}",
        f"{_ENV}text = '# no environment'\nprint('no environment')\n",
        f'{_ENV}text = """\n# no environment\n"""\nf("""no environment""")\n',
        f"# no network, from scratch, a pure function, no validation data\n{_ENV}",
        "# no environment is read\nimport os\nrank = os.environ['RANK']\nos.environ['A'] = '1'\n",
        "# downloads no single file\nimport json\nc = json.load(open('c.json'))\n",
        "# the loss is not deterministic\nimport socket\nif socket.gethostname() == 'a':\n    lr = 1\n",
        f"def f():\n    g('no environ' + 'ment')\n{_ENV}",
        f'"""A single self-contained training script."""\n{_ENV}',
        f"# this program is self-contained\nimport torch\n{_ENV}",
        f'"""A one-file trainer."""\n{_ENV}',
    )
    INVALID: ClassVar = (
        f'"""No environment variables."""  # !\n{_ENV}',
        f"'''Small. It never reads the environment.'''  # !\n{_ENV}",
        f"# nothing is read from the environment\nimport torch  # !\n{_ENV}",
        "import os\nx = os.environ['LR']  # there are no environment reads # !\n",
        f'class A:\n    """No knobs."""  # !\n    def f(self):\n        """Without any env vars."""  # !\n{_ENV}',
        f'def f():\n    def g():\n        "free of environment settings"  # !\n{_ENV}',
        f"{_ENV}# All hyperparameters are constants,\n# and everything is in this file.\nlr = 1  # !\n",
        f'"""Small: the environment is never read."""  # !\n{_ENV}',
        "# there is no silent fallback\nx = 1  # !\ntry:\n    import flash_attn\nexcept ImportError:\n    x = None\n",
        "# Trained from scratch.\nfrom transformers import AutoModel  # !\nm = AutoModel.from_pretrained('a')\n",
        "import torch\n# this does not set a seed\ntorch.manual_seed(1)  # !\n",
        (
            "# no validation data\nfrom prepare import make_dataloader  # !\n"
            "l = make_dataloader(t, 8, 256, 'val', 'cpu')\n"
        ),
        "# it runs offline\nimport requests  # !\nrequests.get('https://example.org')\n",
        (
            "# no command-line flags\nimport argparse  # !\np = argparse.ArgumentParser()\n"
            "p.add_argument('--lr')\np.parse_args()\n"
        ),
        "# a self-contained script\nimport json  # !\nc = json.load(open('c.json'))\n",
        f'"""All settings are in this file."""  # !\n{_ENV}',
        f"# every setting is hard-coded\nx = 1  # !\n{_ENV}",
        "# training is fully deterministic\nimport socket  # !\nif socket.gethostname() == 'a':\n    lr = 1\n",
        "# no stored weights\nW = [" + "0.5, " * 150 + "]  # !\n",
        f"if x:\n    # no env\n    y = 1  # !\n{_ENV}",
        f"{_FORK}        # The same logits in training\n        # and in evaluation.\n        return x  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        return iter(())

    def conclude(self, script: Script, findings: Sequence[Finding], knobs: Sequence[Knob]) -> Iterator[Found]:
        loud = [f for f in findings if f.severity in _LOUD and f.rule != self.code]
        if not loud:
            return
        denied = []
        for said in said_in(script):
            against = next((f for rule in said.kind.rules for f in loud if f.rule == rule), None)
            if against is not None:
                denied.append((said, against))
        places = _places(script, [said for said, _ in denied])
        for (said, against), place in zip(denied, places, strict=True):
            quoted = clip(against.snippet.strip(), 100)
            what = f"Line {said.line} says “{said.text}”, and line {against.line} has “{quoted}” "
            what += f"({against.rule} {against.name})."
            yield Found(place, what, "Take the sentence out, or make it true.", "review")


def _places(script: Script, claims: Sequence[Said]) -> list[cst.CSTNode]:
    """Return the docstrings of claims; for one in a comment, the statement that it stands beside or before."""
    if all(said.node is not None for said in claims):
        return [said.node for said in claims if said.node is not None]
    every: list[cst.CSTNode] = list(script.tree.of(cst.SimpleStatementLine))
    for kind in (cst.FunctionDef, cst.ClassDef, cst.If, cst.For, cst.While, cst.With, cst.Try):
        every += script.tree.of(kind)
    spans = script.tree.spans([node for node in every if not script.tree.is_outside(node)])
    lines = sorted(((spans[id(node)].line, n, node) for n, node in enumerate(every) if id(node) in spans))
    after = [next((node for line, _, node in lines if line >= said.line), script.tree.module) for said in claims]
    return [said.node or node for said, node in zip(claims, after, strict=True)]
