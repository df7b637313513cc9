"""What the text of a script meets when it starts."""

import pytest

from tests.scoring.runner.stage import Stage

pytestmark = pytest.mark.sandbox

STEP = "from prepare import *\nrecord_step_boundary(0)\n"


def test_the_audited_text_is_what_runs_whatever_its_cookie_says(stage: Stage) -> None:
    result = stage.run("# -*- coding: latin-1 -*-\nfrom prepare import *\nprint(len('é'))\nsave()".encode())
    assert result.log.strip() == "1"


def test_the_script_is_main_with_its_own_name_and_arguments(stage: Stage) -> None:
    result = stage.run(
        STEP + "import sys\nprint(__name__, __file__, sys.argv, sys.path[0], os.getcwd())\nsave()",
        launch__args=["--depth", "2"],
    )
    assert result.log.strip() == "__main__ /work/train.py ['train.py', '--depth', '2'] /work /work"
    assert result.receipt["launch"]["args"] == ["--depth", "2"]


def test_launch_variables_reach_the_script_and_the_receipt(stage: Stage) -> None:
    result = stage.run(STEP + "print(os.environ['DEPTH'])\nsave()", launch__env={"DEPTH": "7"})
    assert result.log.strip() == "7"
    assert result.receipt["environment"]["DEPTH"] == "7"


def test_the_platforms_seed_reaches_random_numpy_and_hashing(stage: Stage) -> None:
    script = STEP + "import random, numpy\nprint(random.random(), numpy.random.rand(), hash('x'))\nsave()"
    first, again, other = (stage.run(script, seed=seed).log for seed in (7, 7, 8))
    assert first == again
    assert first.split()[:2] != other.split()[:2]


def test_torch_is_seeded_by_its_first_import_and_sees_its_threads(stage: Stage) -> None:
    result = stage.run(
        STEP
        + "import torch\nprint(torch.initial_seed(), torch.get_num_threads(), torch.rand(2) @ torch.rand(2))\nsave()",
        clock__budget_seconds=20.0,
        limits__memory_bytes=2 << 30,
    )
    assert result.code == "ok", result.detail
    assert result.log.splitlines()[-1].startswith("12345 1 tensor(")


def test_multiprocessing_and_pickling_find_main(stage: Stage) -> None:
    result = stage.run(
        STEP
        + "import multiprocessing, pickle\nclass Config:\n  depth = 3\n"
        + "print(pickle.loads(pickle.dumps(Config())).depth)\n"
        + "if __name__ == '__main__':\n"
        + "  with multiprocessing.get_context('fork').Pool(1) as pool: print(pool.map(abs, [-2]))\n  save()"
    )
    assert (result.code, result.log.split()) == ("ok", ["3", "[2]"])


def test_torchrun_starts_every_rank_with_the_same_seed(stage: Stage) -> None:
    result = stage.run(
        STEP.replace("record", "if os.environ['RANK'] == '0': record")
        + "import random\nrank, ranks = os.environ['RANK'], os.environ['WORLD_SIZE']\n"
        + "os.write(1, f'rank {rank} {ranks} {random.random()}\\n'.encode())\n"  # at once: both write to one pipe
        + "if os.environ['RANK'] == '0': save()",
        launch__launcher="torchrun",
        launch__processes=2,
        clock__startup_cap_seconds=30.0,
        clock__budget_seconds=20.0,
        limits__memory_bytes=2 << 30,
        limits__processes=128,
    )
    assert result.code == "ok", result.log
    ranks = sorted(line.split() for line in result.log.splitlines() if line.startswith("rank"))
    assert [rank[1:3] for rank in ranks] == [["0", "2"], ["1", "2"]]
    assert ranks[0][3] == ranks[1][3]
