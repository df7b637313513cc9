import pytest

from scoring.runlog import Point, points


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("step:12/300 train_loss:3.2100 train_time:900ms step_avg:75.0ms", [Point(12, 3.21, "train", "loss")]),
        ("step:250/300 val_loss:3.0 train_time:2s", [Point(250, 3.0, "val", "loss")]),
        ("step 5 loss 4.125", [Point(5, 4.125, "train", "loss")]),
        ("step 00012/00300 (4.00%) | loss: 3.2 | dt: 9.1ms", [Point(12, 3.2, "train", "loss")]),
        ("Step 3 | Validation bpb: 1.08", [Point(3, 1.08, "val", "bpb")]),
        ("step 7 train loss 2.5 val loss 2.6", [Point(7, 2.5, "train", "loss"), Point(7, 2.6, "val", "loss")]),
        ("step 8 loss 1e-3", [Point(8, 0.001, "train", "loss")]),
        ("step 9 loss nan", []),
        ("loss 3.2", []),
        ("warmup done", []),
        ("step 1 loss 2 " + "x" * 600, []),
    ],
)
def test_the_usual_shapes_are_read(line: str, expected: list[Point]) -> None:
    assert points([line]) == expected
