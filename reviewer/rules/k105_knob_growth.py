"""K105 knob-growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import ClassVar

from reviewer.context import Context
from reviewer.environment.parsed import parsed_settings
from reviewer.found import Found
from reviewer.report import Finding, Knob
from reviewer.rules.base import Rule
from reviewer.script import Script

VERSIONS = 5  # that are looked back at
CLEARLY = 2  # more knobs than the least of them had


class KnobGrowth(Rule):
    """Tells a team, and the organizer, that its script takes more and more settings from outside.

    What it looks for
        How many knobs the script has: environment variables and command line flags, each key once; of one whose text is
        taken apart (`json.loads`, `split`), each part that is used. It speaks where
        that is at least two more than the fewest of the team's last five versions had, and more than their median; so
        a first step from 5 to 7 is named, and a count that stays where it is falls silent.

    Why it is refused
        It is not refused, it is said early. Knobs come one at a time, each with a good reason, and some versions later
        nobody can tell from the text which model was scored.

    Do instead
        Decide what a knob was tried out for, write the value into the script, and take the knob out.
    """

    code = "K105"

    CONTEXT: ClassVar = Context(knob_counts=(1, 1, 3, 2))

    VALID: ClassVar = (
        "x = 1\n",
        "import os\nA = os.environ.get('A', '1')\n",
        "import os\nA = os.environ.get('A', '1')\nB = os.environ['B']\n",
        "import os\nfor _ in range(3):\n    A, B, C = os.getenv('A'), os.getenv('B'), os.getenv('A')\n",
        "import os\nA, R, W = os.getenv('A'), os.environ['RANK'], os.environ['WORLD_SIZE']\n",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--a', default=1)\n",
        "import json, os\nc = json.loads(os.environ['C'])\na, b = c['a'], c.get('a', 3)\n",
        "import json\nc = json.loads('{}')\na, b, d = c['a'], c['b'], c['d']\n",
        "import os\nname, end, x = 'a b c'.split()\nprint(os.environ['A'].split()[0])\n",
    )
    INVALID: ClassVar = (
        "import os  # !\nA, B, C = os.getenv('A'), os.getenv('B'), os.getenv('C')\n",
        "from os import environ as e  # !\nA, B, C = e['A'], e.get('B'), e.get('C', 3)\n",
        "import os  # !\ndef g(k):\n    return os.environ.get(k)\nA, B, C = g('A'), g('B'), g('C')\n",
        "import argparse, os  # !\np = argparse.ArgumentParser()\np.add_argument('--a', default=1)\n"
        "p.add_argument('--b', default=1)\na = p.parse_args()\nC = os.getenv('C')\n",
        "import json, os  # !\nc = json.loads(os.environ.get('C', '{}'))\na, b, d = c['a'], c.get('b', 1), c['d']\n",
        "import os  # !\na, b, c = map(float, os.environ['C'].split(','))\n",
        "import os  # !\nparts = os.getenv('C').split(',')\na, b, c = float(parts[0]), parts[1], parts[2]\n",
        "import json, os, types  # !\nc = types.SimpleNamespace(**json.loads(os.environ['C']))\nx = c.a + c.b + c.d\n",
        "import ast, os  # !\nc = ast.literal_eval(os.environ['C'])\ndef g(k, d):\n    return c.get(k, d)\n"
        "x = g('a', 1), g('b', 2), g('c', 3)\n",
        "import argparse, json  # !\np = argparse.ArgumentParser()\np.add_argument('--conf')\na = p.parse_args()\n"
        "c = json.loads(a.conf)\nx = c['a'], c['b'], c['c']\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        return iter(())  # it counts what others find

    def conclude(self, script: Script, findings: Sequence[Finding], knobs: Sequence[Knob]) -> Iterator[Found]:
        earlier = script.context.knob_counts[-VERSIONS:]
        if not earlier:
            return
        now = len({knob.key for knob in knobs}) + parsed_settings(script)
        if now < min(earlier) + CLEARLY or now <= median(earlier):
            return
        counts = ", ".join(map(str, earlier))
        versions = f"the last {len(earlier)} versions" if len(earlier) > 1 else "the version before"
        what = f"The script has more and more knobs: {counts} → {now}, counted over {versions} and this one."
        remedy = "Write the values that you have settled on into the script, and take those knobs out."
        yield Found(script.tree.module, what, remedy)
