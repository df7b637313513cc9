"""Launch commands: what the grammar allows becomes data, everything else is refused with a sentence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from leaderboard.competitions.launch import parse
from leaderboard.competitions.spec import Launch
from leaderboard.core.errors import Refusal

GRAMMAR = Launch(processes=(1, 2), env={"NCCL_DEBUG": ("INFO", "WARN"), "TOKENIZERS_PARALLELISM": ("false",)})


def spec(launcher="python", processes=1, env=None, args=()) -> dict:
    return {"launcher": launcher, "processes": processes, "env": env or {}, "args": list(args)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py", spec()),
        ("  python   train.py ", spec()),
        ("'python' \"train.py\"", spec()),
        ("torchrun train.py", spec("torchrun")),
        ("torchrun --standalone --nproc_per_node=2 train.py", spec("torchrun", 2)),
        ("torchrun --nproc-per-node 2 --standalone train.py", spec("torchrun", 2)),
        ("NCCL_DEBUG=INFO python train.py", spec(env={"NCCL_DEBUG": "INFO"})),
        (
            "NCCL_DEBUG=WARN TOKENIZERS_PARALLELISM=false torchrun --standalone --nproc_per_node=2 train.py",
            spec("torchrun", 2, {"NCCL_DEBUG": "WARN", "TOKENIZERS_PARALLELISM": "false"}),
        ),
    ],
)
def test_an_allowed_command_becomes_data(text, expected):
    assert parse(text, GRAMMAR) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must start with python or torchrun"),
        ("train.py", "must start with python or torchrun, not 'train.py'"),
        ("bash -c 'python train.py'", "not 'bash'"),
        ("/usr/bin/python train.py", "not '/usr/bin/python'"),
        ("python", "comes `train.py`, not 'the end'"),
        ("python other.py", "not 'other.py'"),
        ("python ./train.py", "not './train.py'"),
        ("python -m train.py", "not '-m'"),
        ("python train.py --lr 3", "Nothing may follow `train.py`"),
        ("torchrun --nproc_per_node=4 train.py", "allows 1 or 2 processes, and the command asks for 4"),
        ("torchrun --nproc_per_node=0 train.py", "plain number, not '0'"),
        ("torchrun --nproc_per_node=two train.py", "plain number, not 'two'"),
        ("torchrun --nproc_per_node train.py", "plain number, not 'train.py'"),
        ("torchrun --nproc_per_node=1 --nproc_per_node=2 train.py", "given twice"),
        ("torchrun --nnodes=2 train.py", "not '--nnodes=2'"),
        ("torchrun --rdzv-endpoint=evil:1 train.py", "not '--rdzv-endpoint=evil:1'"),
        ("LD_PRELOAD=x.so python train.py", "'LD_PRELOAD' is not allowed"),
        ("NCCL_DEBUG=TRACE python train.py", "NCCL_DEBUG may be INFO or WARN, not 'TRACE'"),
        ("NCCL_DEBUG=INFO NCCL_DEBUG=WARN python train.py", "set twice"),
        ("TOKENIZERS_PARALLELISM= python train.py", "may be false, not ''"),
        ("python train.py; rm -rf out", "';'"),
        ("python train.py && true", "'&'"),
        ("python `id` train.py", "'`'"),
        ("python $(id) train.py", "'$'"),
        ("python train.py > log", "'>'"),
        ("python train.py\npython train.py", "'\\n'"),
        ("python train\\.py", "'\\\\'"),
        ("python 'train.py", "quotation mark"),
        ("python tr\u0430in.py", "not 'tr\u0430in.py'"),
        ("python \u202etrain.py", "cannot be printed"),
        ("python train.py" + " " * 500, "longer than 500"),
    ],
)
def test_everything_else_is_refused_with_a_sentence(text, says):
    with pytest.raises(Refusal) as refused:
        parse(text, GRAMMAR)
    assert (refused.value.code, refused.value.status) == ("bad_launch", 400)
    assert says in refused.value.message
    assert refused.value.message.endswith("For example: python train.py")


def test_a_phase_may_allow_flags_behind_the_script():
    assert parse("python train.py --lr 3 'a b'", Launch(trailing=True))["args"] == ["--lr", "3", "a b"]


def test_a_phase_may_allow_one_launcher_and_count_alone():
    grammar = Launch(default="torchrun --nproc_per_node=2 train.py", launchers=("torchrun",), processes=(2,))
    assert parse(grammar.default, grammar)["processes"] == 2
    for text in ("python train.py", "torchrun train.py"):
        with pytest.raises(Refusal):
            parse(text, grammar)


def test_a_default_that_the_grammar_does_not_allow_is_no_grammar():
    with pytest.raises(ValidationError, match="not a command of this grammar"):
        Launch(default="torchrun train.py", launchers=("python",))


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "PATH", "lower", "A-B", ""])
def test_a_phase_cannot_offer_what_the_sandbox_keeps_for_itself(name):
    with pytest.raises(ValidationError):
        Launch(env={name: ("1",)})


WORDS = [
    "python",
    "torchrun",
    "train.py",
    "--standalone",
    "--nproc_per_node=2",
    "NCCL_DEBUG=INFO",
    "A=b",
    "'",
    "=",
    "x",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=6))
def test_any_text_is_data_of_the_grammar_or_a_refusal(words):
    try:
        found = parse(" ".join(words), GRAMMAR)
    except Refusal as refused:
        found = refused.code
    assert found == "bad_launch" or (found["processes"] in GRAMMAR.processes and found["args"] == [])
