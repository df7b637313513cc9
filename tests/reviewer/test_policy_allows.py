"""What a competition allows is no finding: flags, modules and single functions; and what is not on a closed list is."""

import pytest

from reviewer import Policy, review

WANDB = "import wandb\nwandb.init()\n"
FLAGS = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('-n', '--lr', default=0.1)\n"
    "p.add_argument('--wd', default=0.2)\na = p.parse_args()\n"
)


def found(text: str, *codes: str, **settings: object) -> list[tuple[str, int, str]]:
    report = review(text, Policy.from_mapping(settings), isolated=False)
    return [(f.rule, f.line, f.severity) for f in report.findings if f.rule in codes]


def test_a_flag_that_is_allowed_is_a_setting_and_no_finding() -> None:
    assert found(FLAGS, "K102") == [("K102", 3, "review"), ("K102", 4, "review")]
    assert found(FLAGS, "K102", allow_flags=["--lr"]) == found(FLAGS, "K102", allow_flags=["-n"])
    report = review(FLAGS, Policy(allow_flags=frozenset({"--lr"})), isolated=False)
    assert [(f.line, f.fixable) for f in report.findings if f.rule == "K102"] == [(4, False)]  # it would take both
    assert [knob.key for knob in report.knobs] == ["--lr", "--wd"]
    assert found(FLAGS, "K102", allow_flags=["--lr", "--wd"]) == []


@pytest.mark.parametrize(
    "declared",
    [
        "'--seed', '--depth', type=int",
        "'--seed', nargs='*'",
        "'--seed', nargs=3, type=int",
        "'--seed', action='append'",
        "'--seed', action=Mine",
        "'--seed', type=open",
        "'--seed', type=argparse.FileType()",
        "'--seed', type=json.loads",
        "'--seed', type=__import__('ast').literal_eval",
    ],
)
def test_an_allowed_flag_gives_one_plain_value_under_names_that_are_allowed(declared: str) -> None:
    start = "import argparse, json\ndef own(word): return word == 'yes'\np = argparse.ArgumentParser()\n"
    assert found(f"{start}p.add_argument({declared})\np.parse_args()\n", "K102", allow_flags=["--seed"]) == [
        ("K102", 4, "review")
    ]
    for honest in ("'--seed', type=int", "'-s', '--seed', nargs='?'", "'--seed', type=own", "'--seed', action='count'"):
        assert not found(f"{start}p.add_argument({honest})\np.parse_args()\n", "K102", allow_flags=["--seed"]), honest


@pytest.mark.parametrize(
    ("parser", "end"),
    [
        ("fromfile_prefix_chars='@'", "a = p.parse_args()"),
        ("", "a, rest = p.parse_known_args()\nx = rest[0]"),
        ("", "x = p.parse_known_args()[1]"),
    ],
)
def test_what_no_flag_takes_is_not_allowed_with_a_flag(parser: str, end: str) -> None:
    text = f"import argparse\np = argparse.ArgumentParser({parser})\np.add_argument('--seed')\n{end}\n"
    assert [rule for rule, *_ in found(text, "K102", allow_flags=["--seed"])] == ["K102"]


@pytest.mark.parametrize(
    "text",
    [
        "import typer\ndef main(lr: float = 0.1):\n    pass\ntyper.run(main)\n",
        "import click\n@click.option('--lr', default=0.1)\ndef main(lr):\n    pass\n",
        "from absl import flags\nflags.DEFINE_float('lr', 0.1, 'rate')\n",
    ],
)
def test_flags_of_every_make_are_allowed_by_their_spelling(text: str) -> None:
    assert found(text, "K102")
    assert found(text, "K102", allow_flags=["--lr"]) == []


def test_words_that_no_flag_declares_are_found_whatever_is_allowed() -> None:
    text = "import sys\nlr = float(sys.argv[1])\n"
    assert found(text, "K102", allow_flags=["--lr"]) == [("K102", 2, "review")]


@pytest.mark.parametrize(
    ("text", "rule", "module"),
    [
        (WANDB, "D301", "wandb"),
        ("from urllib.request import urlopen\n", "D301", "urllib.request"),
        ("import socket as s\n", "D301", "socket"),
        ("m = __import__('requests')\n", "D301", "requests"),
        (
            "import asyncio\nasync def f():\n    await asyncio.open_connection('a', 1)\n",
            "D301",
            "asyncio.open_connection",
        ),
        ("import huggingface_hub\n", "D302", "huggingface_hub"),
        ("from torch import hub\n", "D302", "torch.hub"),
        ("import tiktoken\nt = tiktoken.get_encoding('gpt2')\n", "D302", "tiktoken.get_encoding"),
        ("import importlib\nm = importlib.import_module('kagglehub')\n", "D302", "kagglehub"),
        ("import ctypes\nx = ctypes.CDLL('a.so')\n", "S403", "ctypes"),
        ("from cffi import FFI\nf = FFI()\n", "S403", "cffi"),
        (
            "from torch.utils.cpp_extension import load_inline\nm = load_inline('a', 'b')\n",
            "S403",
            "torch.utils.cpp_extension.load_inline",
        ),
        ("from strange import A\n", "K103", "strange"),
        ("from my_config import LR\nx = LR * 2\n", "K103", "my_config"),
    ],
)
def test_a_module_or_a_function_is_allowed_by_its_name(text: str, rule: str, module: str) -> None:
    assert found(text, rule)
    assert found(text, rule, allow_imports=[module]) == []
    assert found(text, rule, allow_imports=["another"]) == found(text, rule)


@pytest.mark.parametrize(
    ("text", "rule", "above"),
    [
        ("from torch import hub\n", "D302", "torch"),
        ("import urllib.request\n", "D301", "urllib"),
        ("import tiktoken\nt = tiktoken.get_encoding('gpt2')\n", "D302", "tiktoken"),
        ("import transformers as t\nm = t.AutoModel.from_pretrained('x')\n", "D302", "transformers"),
        ("import torch.utils.cpp_extension as c\nm = c.load('a', 'b')\n", "S403", "torch"),
        ("import subprocess\nsubprocess.run(['ls'])\n", "S402", "subprocess"),
    ],
)
def test_who_allows_a_package_has_not_allowed_what_a_rule_names_in_it(text: str, rule: str, above: str) -> None:
    assert found(text, rule, allow_imports=[above]) == found(text, rule) != []


def test_one_allowed_module_covers_no_other_on_its_line() -> None:
    assert found("import wandb, requests\n", "D301", allow_imports=["wandb"]) == [("D301", 1, "reject")]
    text = "import ctypes, cffi\nn = ctypes.c_int\nf = cffi.FFI()\n"
    assert found(text, "S403", allow_imports=["ctypes"]) == [("S403", 1, "review")]


@pytest.mark.parametrize(
    "text",
    [
        "import json, os.path\nfrom prepare import make_dataloader\nimport __main__\n",
        "import torch.nn as nn\nfrom torch.utils.data import DataLoader\nfrom torch import nn\n",
        "from numpy.linalg import norm\nfrom numpy import linalg\nimport numpy.linalg\n",
        "import importlib\nm = importlib.import_module('torch.nn')\n",
        "def f():\n    import wandb\n",
    ],
)
def test_what_a_closed_list_names_may_be_imported_and_python_and_the_kit_always(text: str) -> None:
    settings = {"only_imports": ["torch", "numpy.linalg"], "allow_imports": ["wandb"]}
    assert found(text, "K103", **settings) == []


@pytest.mark.parametrize(
    "text",
    [
        "import numpy  # !\n",
        "import json, einops as e  # !\n",
        "from einops import rearrange  # !\n",
        "from numpy import linalg, fft  # !\n",
        "from numpy import *  # !\n",
        "try:\n    import flash_attn.ops  # !\nexcept ImportError:\n    pass\n",
        "def late():\n    m = __import__('ein' + 'ops')  # !\n",
        "from . import helper  # !\n",
        "from .helper import x  # !\n",
        "import torchvision  # !\n",
    ],
)
def test_what_a_closed_list_does_not_name_is_found(text: str) -> None:
    lines = [("K103", at, "reject") for at, line in enumerate(text.split("\n"), 1) if line.endswith("# !")]
    assert found(text, "K103", only_imports=["torch", "numpy.linalg"]) == lines
    assert found(text, "K103", only_imports=["torch", "numpy.linalg"], rules={"K103": "off"}) == []


def test_an_empty_closed_list_leaves_python_and_the_kit() -> None:
    assert found("import torch\nimport math\nimport prepare\n", "K103", only_imports=[]) == [("K103", 1, "reject")]
    assert found("import torch\n", "K103") == []
