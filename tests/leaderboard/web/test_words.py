"""How figures are said."""

import pytest

from leaderboard.web import wording


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (724, "12 min 04 s"),
        (3600, "1 h 00 min"),
        (273_600, "3 d 04 h"),
    ],
)
def test_a_span_has_two_units(seconds, said):
    assert wording.duration(seconds) == said


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_what_is_not_known_is_said_to_be_so(nothing):
    assert wording.duration(nothing) == "not known"
    assert wording.bpb(nothing, 0.001) == "–"
    assert wording.half_width(nothing, 1.0, 0.001) == ""


def test_bits_per_byte_have_the_digits_of_the_phases_step():
    assert wording.bpb(2.0, 0.001) == "2.000"
    assert wording.bpb(0.93284, 0.0005) == "0.9330"
    assert wording.half_width(0.9324, 0.9332, 0.0004) == "0.0004"
    assert wording.half_width(2.001, 2.004, 0.001) == "0.002"


def test_every_state_has_a_glyph_and_a_word():
    from leaderboard.runs.models import Run
    from leaderboard.submissions.models import State

    for state in [*State.values, *Run.State.values, "upcoming", "open", "closed"]:
        glyph, word, _ = wording.STATES[state]
        assert glyph
        assert word


def test_a_log_loses_its_colours_and_keeps_its_lines():
    assert wording.log_text("\x1b[1;31ma\x1b[0m\r\nb\rc\x07") == "a\nb\nc⟨U+0007⟩"
