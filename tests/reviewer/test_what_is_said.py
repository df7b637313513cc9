"""What findings say and where they stand, where the examples of rules only tell that something is found."""

from __future__ import annotations

from reviewer import Finding, review


def _said(text: str, rule: str) -> list[Finding]:
    return [one for one in review(text, isolated=False).findings if one.rule == rule]


def _remedies(text: str, rule: str) -> list[str]:
    return [one.message.splitlines()[1] for one in _said(text, rule)]


def test_a_setting_is_shown_as_the_repair_would_write_it() -> None:
    text = 'import os\nTIED = bool(int(os.environ.get("TIED", "1")))\n'
    assert _remedies(text, "K101") == ["Write the value there, as in `TIED = True`."]


def test_a_setting_of_a_helper_is_shown_with_what_its_caller_gives() -> None:
    text = (
        "import os\ndef _e(key, d, kind=str):\n    v = os.environ.get(key, str(d))\n"
        "    if kind == bool:\n        return bool(int(v))\n    return kind(v)\n"
        'PATH_ = _e("PATH_", "data")\nSMEAR = _e("SMEAR", 0, bool)\nLR = _e("LR", 1e-8, float)\n'
    )
    assert _remedies(text, "K101") == [
        'Write the value there, as in `PATH_ = "data"`.',
        "Write the value there, as in `SMEAR = False`.",
        "Write the value there, as in `LR = 1e-8`.",
    ]


def test_a_path_is_that_of_its_own_call_of_a_helper() -> None:
    text = (
        "import os\ndef e(key, d):\n    return os.environ.get(key, str(d))\n"
        'DATA = e("DATA", "data/tokens")\nCKPT = e("CKPT", "kept")\nos.makedirs(CKPT)\n'
    )
    assert [one.message.split(" ")[0] for one in _said(text, "S407")] == ["`kept`"]


def test_flags_that_scoring_does_without_are_named_together() -> None:
    text = (
        "import torch\ndef main():\n    torch.backends.cuda.matmul.allow_tf32 = True\n"
        "    torch.backends.cudnn.allow_tf32 = True\n    torch.set_float32_matmul_precision('high')\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    (found,) = _said(text, "C505")
    assert (found.line, found.message.splitlines()[0]) == (
        3,
        "`torch.backends.cuda.matmul.allow_tf32` and 2 other flags (`cudnn.allow_tf32`, "
        "`torch.set_float32_matmul_precision`) are set only for the training, so the model is scored with the "
        "defaults.",
    )


def test_a_load_that_is_told_to_read_anything_is_said_to_be() -> None:
    text = "import torch\na = torch.load('out/a', weights_only=False)\nb = torch.load('out/b')\n"
    told, left = (one.message for one in _said(text, "D305"))
    assert "since `weights_only` is False." in told
    assert "is not known to be True." in left


def test_a_test_of_a_file_speaks_of_the_file_and_not_of_the_time() -> None:
    (home,) = _said("from pathlib import Path\np = Path.home() / 'a'\nif p.exists():\n    lr = 1\n", "K104")
    assert home.message.startswith("Whether a file in a folder of the user is there decides here.")
    (name,) = _said("import os\nif 'judge' in os.path.expanduser('~'):\n    lr = 1\n", "K104")
    assert name.message.startswith("What `os.path.expanduser` says decides here.")
    (there,) = _said("import os\nif os.path.exists('flag'):\n    lr = 1\n", "K104")
    assert "raise where the file is missing" in there.message
    (clock,) = _said("import time\nif time.localtime().tm_hour < 6:\n    lr = 1\n", "K104")
    assert "BUDGET" in clock.message
    assert not any("BUDGET" in one.message for one in (home, name, there))
