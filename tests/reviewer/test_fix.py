"""The fixer: what can be known is frozen, what that leaves dead goes, every other byte stays."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer import Fixed, LaunchFacts, Policy, fix, review
from tests.reviewer.scripts import BASELINE, KNOBS

ENDING = """

def load_for_eval(checkpoint_path, device):
    return torch.nn.Linear(1, 1)


if __name__ == "__main__":
    torch.save(torch.nn.Linear(1, 1).state_dict(), "out/final.pt")
"""


def fixed(text: str | bytes, policy: Policy | None = None, launch: LaunchFacts | None = None) -> Fixed:
    return fix(text, policy, launch=launch, isolated=False)


def becomes(before: str, after: str) -> None:
    assert fixed(before).text == after


def stays(text: str) -> None:
    found = fixed(text)
    assert (found.text, found.edits) == (text, ())


def nothing_else_changed(before: str, found: Fixed) -> None:
    """Check that every line that the old text does not have, but for its indentation, has an edit's text in it."""
    old = {line.strip() for line in before.split("\n")}
    for line in found.text.split("\n"):
        assert line.strip() in old or any(e.after and e.after in line for e in found.edits), line


READS = [
    ('float(os.environ.get("A", "0.10"))', "0.10"),
    ('int(os.environ.get("A", 5))', "5"),
    ('int(os.getenv("A", "1_000"))', "1_000"),
    ('bool(int(os.environ.get("A", "1")))', "True"),
    ('os.environ.get("A", "0") == "1"', "False"),
    ('os.environ.get("A", "Yes").lower() in ("1", "yes")', "True"),
    ('"A" in os.environ', "False"),
    ('"A" not in os.environ', "True"),
    ('not os.environ.get("A")', "True"),
    ('os.environ.get("A")', "None"),
    ('os.environ.get("A") or f(1)', "f(1)"),
    ('os.environ.get("A") and f(1)', "None"),
    ('f(1) if os.environ.get("A") else g(2)', "g(2)"),
    ('os.environ.get("A", f(1) if x else 2).y', "(f(1) if x else 2).y"),
    ('[int(n) for n in os.environ.get("A", "1,2").split(",")]', "[1, 2]"),
    ('tuple(float(n) for n in os.environ.get("A", "1,2").split(","))', "(1.0, 2.0)"),
    ('2 ** int(os.environ.get("A", "-1"))', "2 ** (-1)"),
    ('int(os.environ.get("A", "3")) * 2 + x', "3 * 2 + x"),
    ('os.environ.get("A", "a\\"b")', "'a\"b'"),
    ("f\"{os.environ.get('A', 'x')}-y\"", "f\"{'x'}-y\""),
    ('e("A", 0.5)', "0.5"),
    ('e("A", True)', "True"),
    ('e("A", default_of(3))', "default_of(3)"),
    ('g("A", d=7)', "7"),
    ('x and os.environ.get("A", "0") == "1"', "x and False"),
    ('(y == 1) and os.environ.get("A", "1") == "1"', "(y == 1)"),
]
HELPERS = """import os
def raw(k, d):
    try:
        return os.environ[k]
    except KeyError:
        return d
def e(k, d):
    v = os.environ.get(k)
    if v is None:
        return d
    return v == "1" if isinstance(d, bool) else type(d)(v)
def g(k, d=1):
    return int(raw(k, d))
"""


@pytest.mark.parametrize(("read", "value"), READS)
def test_a_read_becomes_what_it_would_have_been(read: str, value: str) -> None:
    text = f"{HELPERS}\nprint({read}, e, g, os)  # kept\n"
    assert fixed(text).text == f"{HELPERS}\nprint({value}, e, g, os)  # kept\n"


@pytest.mark.parametrize(
    "read",
    [
        'os.environ["A"]',
        'int(os.environ.get("A"))',
        'os.environ.get("OMP_NUM_THREADS", "1")',
        'os.environ.get("HOME", "/")',
        'os.environ.get("RANK", "0")',
        'os.environ.get("SET", "0")',
        "os.environ.get(name, '1')",
        "dict(os.environ)",
        'loud("A", 1)',
    ],
)
def test_where_there_is_doubt_nothing_is_changed(read: str) -> None:
    loud = "def loud(k, d):\n    print(k)\n    return os.environ.get(k, d)\n"
    stays(f'{HELPERS}{loud}os.environ["SET"] = "1"\nprint({read}, e, g, loud)\n')


def test_a_write_that_nobody_can_read_leaves_every_read_alone() -> None:
    stays("import os\nos.environ.update(table)\nprint(os.environ.get('A', '1'))\n")
    becomes(
        "import os\nos.environ.update({'B': '1'})\nprint(os.environ.get('A', '1'))\n",
        "import os\nos.environ.update({'B': '1'})\nprint(\"1\")\n",
    )


def test_a_default_for_libraries_is_set_as_it_would_have_been() -> None:
    becomes('import os\nos.environ.setdefault("X_CACHE", "0")  # c\n', 'import os\nos.environ["X_CACHE"] = "0"  # c\n')


def test_what_the_launch_sets_is_not_frozen() -> None:
    text = "import os\nprint(os.environ.get('A', '1'))\n"
    assert fixed(text, launch=LaunchFacts(env=frozenset({"A"}))).text == text


def test_the_reason_is_said_where_no_default_stands() -> None:
    found = fixed("import os\nlr = os.environ['LR']\nprint(lr)\n")
    assert any("no default" in f.message for f in found.remaining if f.rule == "K101")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_bytes_that_nobody_had_to_touch_stay(end: str, last: bool) -> None:
    lines = [
        "import os",
        "",
        "# before",
        'LR  =  float( os.environ.get("LR" ,"0.5") ) ;WD=2  # two   ',
        "if x :",
        "\tprint(LR,WD)   ",
        "\t# after",
        "",
        "TEXT = '''a",
        "   b'''",
        "print(TEXT)",
    ]
    text = end.join(lines) + (end if last else "")
    wanted = [line.replace('float( os.environ.get("LR" ,"0.5") )', "0.5") for line in lines[1:]]
    found = fixed(text.encode()).text
    assert found == end.join(wanted) + (end if last else "")


def test_an_arm_that_is_left_moves_out_but_not_the_texts_in_it() -> None:
    becomes(
        'import os\nif os.environ.get("A") == "1":\n    x = 1\nelif y:\n    print(2)\nelse:\n    print(3)\n',
        "if y:\n    print(2)\nelse:\n    print(3)\n",
    )
    becomes(
        'import os\ndef f():\n    if os.environ.get("A", "1") == "1":\n        # why\n        s = """a\n        b"""\n'
        "        return (s,\n                1)\n    return 2\nf()\n",
        'def f():\n    # why\n    s = """a\n        b"""\n    return (s,\n            1)\nf()\n',
    )


def test_a_block_that_would_be_empty_passes() -> None:
    becomes(
        'import os\nif a:\n    if os.environ.get("A"):\n        print(1)\nprint(2)\n',
        "if a:\n    pass\nprint(2)\n",
    )


def test_a_generator_stays_one() -> None:
    text = 'import os\ndef f():\n    if os.environ.get("A"):\n        yield 1\nprint(list(f()))\n'
    assert "yield 1" in fixed(text).text


def test_what_was_dead_before_stays() -> None:
    dead = "import json\nUNUSED = 1\ndef nobody():\n    pass\nif False:\n    x = 1\n"
    becomes(dead + 'import os\nprint(os.environ.get("A", "1"))\n', dead + 'print("1")\n')


def test_a_text_that_cannot_be_read_comes_back_with_the_reason() -> None:
    for text in ("def f(:\n", "", "x = (\n", "\x00", "\ufeffx = 1\n"):
        found = fixed(text)
        assert (found.text, found.edits) == (text, ())
        assert found.remaining[0].rule.startswith("G")


def test_a_shell_around_another_text_is_left_alone() -> None:
    import base64

    inner = base64.b64encode(b"import os\nprint(os.environ.get('A', '1'))\n").decode()
    text = f"import base64\nexec(base64.b64decode('{inner}'))\n"
    found = fixed(text)
    assert (found.text, found.edits) == (text, ())
    assert not any(f.fixable for f in found.remaining)


def test_the_process_gives_the_same_text() -> None:
    assert fix(KNOBS) == fixed(KNOBS)


def test_edits_say_where_what_and_why() -> None:
    found = fixed('import os\n\nDEBUG = os.environ.get("D", "0") == "1"\n\nif DEBUG:\n    print(1)\nprint(2)\n')
    assert found.text == "\n\nprint(2)\n"
    assert [(e.rule, e.line) for e in found.edits] == [("H703", 1), ("K101", 3), ("H703", 3), ("H703", 5)]
    assert all(e.sentence.endswith(".") for e in found.edits)
    first = next(e for e in found.edits if e.rule == "K101")
    assert (first.before, first.after) == ('os.environ.get("D", "0") == "1"', "False")


BIG = (
    '"""Fifty knobs."""\nimport os\nfrom dataclasses import dataclass, field\n\nimport torch\nimport torch.nn as nn\n'
    "import torch.nn.functional as F\n\n\ndef _raw(key, default=None):\n    return os.environ.get(key, default)\n\n\n"
    "def _env(key, default):\n    value = _raw(f'CFG_{key}')\n    if value is None:\n        return default\n"
    "    return type(default)(value)\n\n\n"
    + "".join(f"K{n} = int(os.environ.get('K{n}', '{n}'))\n" for n in range(20))
    + "".join(f"E{n} = _env('e{n}'.upper(), {n}.5)\n" for n in range(20))
    + "FLAG = os.environ.get('FLAG', '0') in ('1', 'true')\nSCALE = _env('SCALE', 1.1)\n"
    + "\n\n@dataclass\nclass Config:\n"
    + "".join(f"    a{n}: int = int(os.environ.get('A{n}', {n}))\n" for n in range(8))
    + "    b: float = field(default_factory=lambda: float(os.getenv('B', '1e-3')))\n\n\n"
    "class GPT(nn.Module):\n    def forward(self, idx, targets=None):\n        logits = self.head(self.wte(idx))\n"
    "        if targets is None:\n            return logits * SCALE\n"
    "        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())\n\n\ndef train():\n    if FLAG:\n"
    "        print('flag')\n    print("
    + ", ".join([*(f"K{n}" for n in range(20)), *(f"E{n}" for n in range(20))])
    + ", Config(), GPT())\n    torch.save(GPT().state_dict(), 'out/final.pt')\n\n\n"
    "def load_for_eval(checkpoint_path, device):\n    return GPT()\n\n\nif __name__ == '__main__':\n    train()\n"
)


def test_fifty_knobs_and_a_branch_for_evaluation_are_gone_in_one_call() -> None:
    assert len(review(BIG, isolated=False).knobs) == 51
    found = fixed(BIG)
    report = review(found.text, isolated=False)
    assert report.knobs == ()
    assert not {"K101", "E201", "E204"} & {f.rule for f in report.findings if f.severity != "info"}
    assert "os" not in re.findall(r"\w+", found.text)
    assert "SCALE" not in found.text
    assert "E3 = 3.5\n" in found.text
    assert "    b: float = field(default_factory=lambda: 1e-3)\n" in found.text
    nothing_else_changed(BIG, found)


VALUES = st.sampled_from(["1", "0", "0.5", "abc", "1e-4", ""])
FORMS = st.sampled_from(
    [
        "os.environ.get('{k}', '{v}')",
        "os.getenv('{k}', '{v}')",
        "(os.environ.get('{k}', '{v}') == '1')",
        "str(os.environ.get('{k}', '{v}')).strip()",
        "helper('{k}', '{v}')",
        "('{k}' in os.environ)",
        "(3 if os.environ.get('{k}', '{v}') else 4)",
        "os.environ['{k}']",
    ]
)
SPOTS = st.lists(st.tuples(st.integers(0, 400), FORMS, VALUES), min_size=1, max_size=6)


@settings(max_examples=15, deadline=None)
@given(base=st.sampled_from([BASELINE, KNOBS, BIG]), spots=SPOTS)
def test_whatever_knobs_a_script_has_its_repair_is_final_and_leaves_the_rest(
    base: str, spots: list[tuple[int, str, str]]
) -> None:
    lines = base.split("\n")
    last = max(n for n, line in enumerate(lines) if line.startswith(("import ", "from ")))
    tops = [n for n, line in enumerate(lines) if n > last and re.match(r"(def|class) ", line)]
    start = "import os\n\n\ndef helper(key, default):\n    return os.environ.get(key, default)\n"
    for number, (at, form, value) in enumerate(spots):
        place = tops[at % len(tops)]
        lines[place] = f"N{number} = {form.format(k=f'N{number}', v=value)}\nprint(N{number})\n" + lines[place]
    text = "\n".join(lines).replace("\n\nimport ", f"\n\n{start}import ", 1)
    try:
        compile(text, "mutated", "exec")
    except SyntaxError:
        return
    once = fixed(text)
    compile(once.text, "repaired", "exec")
    nothing_else_changed(text, once)
    twice = fixed(once.text)
    assert (twice.text, twice.edits) == (once.text, ())
    assert not [f for f in once.remaining if f.fixable]
    for edit in once.edits:
        assert edit.before != edit.after
        assert 1 <= edit.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    "use",
    [
        "if bpb < best:\n    torch.save(m, 'out/final.pt')",
        "history.append(bpb)",
        "scheduler.step(bpb)",
        "m = chosen(m, bpb)",
        "print(bpb, next(loader))",
    ],
)
def test_a_measurement_that_decides_something_is_left_to_a_person(use: str) -> None:
    stays(f"from prepare import evaluate_bpb\nbpb = evaluate_bpb(m, t, 8, 256, 'cpu')\n{use}\n")


def test_a_script_whose_knobs_grow_is_repaired_in_each_version() -> None:
    for version in range(1, 27):
        knobs = "".join(f"K{n} = float(os.environ.get('K{n}', '{n}.5'))\n" for n in range(version))
        used = ", ".join(f"K{n}" for n in range(version))
        text = f"import os\n\nimport torch\n\n{knobs}print({used})\n{ENDING}"
        found = fixed(text)
        assert review(found.text, isolated=False).knobs == ()
        assert f"K{version - 1} = {version - 1}.5\n" in found.text
        assert len(found.edits) == version + 1


def test_a_list_that_does_not_fit_stays_what_makes_it() -> None:
    words = ",".join(f"word_{n}" for n in range(20))
    made = f'NAMES = tuple(\n    name\n    for name in os.environ.get("N", "{words}").split(",")\n)\nprint(NAMES)\n'
    before = f"import os\n{made}"
    becomes(before, before.replace("import os\n", "").replace(f'os.environ.get("N", "{words}")', f'"{words}"'))
