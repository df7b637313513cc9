"""Changes between versions: what is paired is equal and in order, and no text makes it slow."""

from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as some

from leaderboard.web.changes import changes, share_new

texts = some.lists(some.sampled_from("abcdef"), max_size=12).map("\n".join)


def applied(old, found):
    """Return the old text with the rows of a comparison carried out on it."""
    lines, at = [], 0
    before = old.split("\n")
    for row in found.rows:
        if row.skipped:
            lines += before[at : at + row.skipped]
            at += row.skipped
        elif row.sign == "+":
            lines.append(strip_tags(row.html))
        else:
            assert row.old == at + 1
            lines += [before[at]] if row.sign == "" else []
            at += 1
    return "\n".join([*lines, *before[at:]])


@given(texts, texts)
def test_the_rows_lead_from_the_old_text_to_the_new(old, new):
    assert applied(old, changes(old, new)).rstrip("\n") == new.rstrip("\n")


def test_a_changed_line_stands_between_three_equal_ones_and_the_rest_is_counted():
    old = "\n".join(f"line_{n}" for n in range(20))
    found = changes(old, old.replace("line_10", "other"))
    assert [(row.sign, row.skipped) for row in found.rows] == [
        ("", 7),
        ("", 0),
        ("", 0),
        ("", 0),
        ("-", 0),
        ("+", 0),
        ("", 0),
        ("", 0),
        ("", 0),
        ("", 6),
    ]
    assert (found.added, found.removed) == (1, 1)
    assert changes(old, old).rows == []


def test_a_moved_block_moves_and_does_not_change_all_that_is_between():
    lines = [f"line_{n}" for n in range(40)]
    found = changes("\n".join(lines), "\n".join([*lines[5:], *lines[:5]]))
    assert (found.added, found.removed) == (5, 5)


def test_texts_that_are_made_to_be_slow_are_not():
    # One line out of a hundred everywhere: a search for longest matches would look at 80 million pairs again and again.
    count = 90_000
    old = "\n".join(str(n % 100) for n in range(count))
    new = "\n".join(str(n * 7 % 100) for n in range(count))
    found = changes(old, new)
    assert len(found.rows) == 4_000
    assert found.hidden == found.added + found.removed - 4_000 + sum(1 for row in found.rows if not row.sign)


def test_the_share_of_new_lines_uses_each_old_line_once():
    assert share_new("a\nb\n", "a\n\n  b  \nc\nd\n") == 0.5
    assert share_new("a\n", "a\na\n") == 0.5
    assert share_new("a", "") == 0.0
