import pytest

from scoring.sandbox.clock import RunClock


def clock(**changes: float) -> RunClock:
    settings = {"budget": 60.0, "cap": 30.0, "excluded_steps": 2, "term": 10.0, "t0": 100.0} | changes
    return RunClock(**settings)  # type: ignore[arg-type]


def test_start_up_ends_with_the_last_excluded_step() -> None:
    run = clock()
    assert [run.boundary(at) for at in (110.0, 112.0, 113.0)] == [False, True, False]
    assert (run.startup, run.deadline, run.term_at) == (12.0, 172.0, 162.0)
    assert run.charged(150.0) == 38.0
    assert not run.over_budget(172.5)


def test_start_up_is_cut_at_the_cap() -> None:
    run = clock()
    for at in (110.0, 145.0):
        run.boundary(at)
    assert (run.startup, run.deadline) == (30.0, 190.0)
    assert run.charged(190.0) == 60.0


def test_while_no_step_has_come_the_deadline_is_the_latest_possible() -> None:
    run = clock()
    assert (run.startup, run.deadline) == (0.0, 190.0)


def test_a_run_without_steps_has_no_free_seconds() -> None:
    run = clock()
    assert run.charged(161.0) == 61.0
    assert run.over_budget(161.0)
    assert not run.over_budget(159.0)


def test_a_kill_that_comes_late_is_not_the_scripts_doing() -> None:
    assert not clock(cap=0.0).over_budget(160.2)
    assert clock(cap=1.0).over_budget(161.2)


def test_no_excluded_steps_means_no_start_up() -> None:
    run = clock(excluded_steps=0)
    assert (run.tn, run.startup, run.deadline) == (100.0, 0.0, 160.0)


def test_the_request_to_end_never_comes_before_the_start() -> None:
    assert clock(term=500.0).term_at == 100.0


def test_the_median_leaves_out_the_excluded_steps() -> None:
    run = clock()
    assert run.median_step() is None
    for at in (101.0, 131.0, 132.0, 134.0, 135.0):
        run.boundary(at)
    assert run.median_step() == pytest.approx(1.0)
