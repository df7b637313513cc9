"""One line over time: where it starts, where it ends, what limits it."""

import re

from leaderboard.web.charts import BOTTOM, TOP, line


def say(value):
    return f"{value:g} u"


def heights(svg):
    places = re.search(r'points="([^"]*)"', svg)[1]
    return [float(place.split(",")[1]) for place in places.split()]


def test_the_axis_starts_where_the_data_are_and_says_so():
    chart = line("a", "Some", [(0, 40), (10, 60), (20, 50)], say)
    assert heights(chart.svg) == [BOTTOM, TOP, (TOP + BOTTOM) / 2]
    assert "Between 40 u and 60 u, 50 u at the end." in chart.caption
    assert "The axis starts at 40 u." in chart.caption
    assert chart.caption in chart.svg


def test_a_limit_that_is_near_is_drawn_and_one_that_is_far_is_said():
    near = line("a", "Some", [(0, 40), (10, 60)], say, limit=80, limit_word="cap")
    assert min(heights(near.svg)) > TOP
    assert 'class="limit"' in near.svg
    assert "The cap is 80 u." in near.caption
    far = line("a", "Some", [(0, 40), (10, 60)], say, limit=800, limit_word="cap")
    assert min(heights(far.svg)) == TOP
    assert 'class="limit"' not in far.svg
    assert "The cap is 800 u, outside the chart." in far.caption


def test_one_look_is_a_dot_and_an_even_line_lies_in_the_middle():
    assert "<circle" in line("a", "Some", [(3, 7)], say).svg
    assert heights(line("a", "Some", [(0, 7), (1, 7)], say).svg) == [(TOP + BOTTOM) / 2] * 2
    assert line("a", "Some", [], say) is None


def test_whatever_a_name_or_value_says_is_text():
    chart = line("a", "<script>", [(0, 1), (1, 2)], lambda value: "<b>&")
    assert "<script>" not in chart.svg
    assert "<b>" not in chart.svg
