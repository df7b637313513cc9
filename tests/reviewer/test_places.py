"""Places are exact: beginning and end are those that libcst's own provider gives, for every node of a text."""

from collections.abc import Callable

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from reviewer import review
from reviewer.engine import Tree
from reviewer.nodes import children
from reviewer.places import Span
from tests.reviewer.scripts import BASELINE, KNOBS

BLOCKS = """# a comment
@first
# between
@second(
    1, 'ä'
)
async def f(a, b=[1,
        2], *, c='ü'):  # tail
    "doc"
    if a: x = 1; y = [a for a in b]
    elif b(c):
        x = 2
    elif (
        c
    ):
        pass
    else:
        z = (
    'text'
        , "ä", a.b.c[1:2]
        ); w = f"{a!r:>{b}}"
    for i in g(): continue
    else:
        print(i)
    while (n := next(i)): break
    else: i.j
    try:
        h()
    except (A, B) as e:
        e.x
    except C: e.y
    else:
        e.z
    finally:
        e.w
    try: h()
    except* A: e.x
    finally: e.v;
    with open(a) as p, \\
            q() as r:
        await r.s
    match a.b:
        case {'k': v, **more} if v.t: v.u
        case [1, *rest] | (2 | 3 as rest):
            rest.x
        case A(b, c=-1): pass
    return lambda k, *l, **m: k.l

class D(E, metaclass=F.g):
    v = 'ä', o.p
    def m(self): return self.n
    if True:
        x.y
"""
DECORATED = """@(
    a.b
)
def f():
    @c.d  # why

    # and more
    @ e . g ( 1 )
    class G:
        @h
        async def i(self): ...
    return G

@j
@k
class L: m = 1
"""
ELIF = """if a: b
elif c: d; e
elif f.g: \\
    h
elif (i): # j
    if k:
        l
    elif m:
        n.o  # p
    # q
    else:
        r
else: s
"""
LINES = """a; b  # tail
a = 1; b = c.d;  # tail
a.b ;c. d;e
if a: b.c; d = (e
  , f); g
def f(): return a; b
for g in h: i.j ;
with k: l.m;  # n
x = 1  # tail ä
del a, b ; assert c, d; global e
"""
CONTINUED = """a = b + \\
    c.d
if a and \\
   b(c,
     d): e
with a as b, \\
     c: d
from a import (b,  # c
    d as e)
from a \\
  import b
assert a, \\
    (
      b
    )
"""
STRINGS = '''"""Doc
 of more lines, ä
"""
a = """b
c""" + d.e; f = g
h = """i""" "j" \\
  'k'; l.m
n(f"""o {p.q!r:>{r}} {
  s.t = }
u""", v.w)
x = f'{y}{z:{{}}}' f"{a['b']}" + b"c"  # d
if """e
f""".g: h.i
rb'\\x00'; j.k
'''
FOREIGN = """x = 'äöü', a.b  # ü
d = {'ключ': e.f, "🙂🙂": g}; h = 'é' + i.j
if 'ß' in k: l.m
def n(o='ñ', *p): return '漢字', q.r
# 漢字
for s in '日本': t.u
"""
BLANKS = (
    "if a:\n\tb.c\n\tif d:\n\t\te = 'ä'\tand\tf.g\n\t# h\n\telse:\n\t    i\n\n\t \n\tj.k\n"
    "\n\ndef n():\n  \x0c  o.p\n\n\n"
)
ORDERS = """x = f(a.b)(c)[d.e](g=h.i) if j(k) else l(m)[n]
z = [g(h) for h in i.j if k(h)]
t = (a.b, (c.d), f((g.h)), {**i.j, k(l): m[n]})
w = lambda q=r.s: t(q).u[v]
v = {k.a: v.b(c) for d.e in f(g)}
a.b = c[d.e:f(g), h(i)] = (h.i)
a[b.c].d += e(f)
a.b: c[d] = e(f.g)
assert a.b(c), d[e]
del a.b, c[d]
raise a(b.c) from d.e
print(*a.b, c(d), e=f(g), **h[i])
x = a.b < c(d) < e[f] or not g(h) and (i := j(k)).l
if a.b: c(d)[e] if f(g) else h(i)
y = "%s" % f(a)["b"].c  # g(h)
"""
TEXTS = {
    "every order of expressions": ORDERS,
    "blocks": BLOCKS,
    "decorators": DECORATED,
    "elif": ELIF,
    "several on a line": LINES,
    "continued lines": CONTINUED,
    "strings": STRINGS,
    "other letters": FOREIGN,
    "tabs and form feeds": BLANKS,
    "the baseline": BASELINE,
    "knobs": KNOBS,
    "blank lines first": "\n\n\nx . y\n",
    "no end of line": "x.y",
    "no end of line behind a block": "if a:\n  b.c",
    "a comment last": "a.b\n# c",
}
ENDS: dict[str, Callable[[str], str]] = {"LF": str, "CRLF": lambda text: text.replace("\n", "\r\n")}


def nodes_of(tree: Tree) -> list[cst.CSTNode]:
    """Return every node that a rule can meet."""
    found: list[cst.CSTNode] = []
    stack: list[cst.CSTNode] = [tree.module]
    while stack:
        below = list(children(stack.pop()))
        found += below
        stack += below
    return found


def said_by_libcst(tree: Tree) -> dict[int, Span]:
    wrapper = MetadataWrapper(tree.module, unsafe_skip_copy=True)
    places = wrapper.resolve(PositionProvider)
    return {id(n): Span(p.start.line, p.start.column + 1, p.end.line, p.end.column + 1) for n, p in places.items()}


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", TEXTS)
def test_every_place_is_the_providers(name: str, ends: str) -> None:
    tree = Tree(ENDS[ends](TEXTS[name]))
    theirs = said_by_libcst(tree)
    nodes = nodes_of(tree)
    assert len(nodes) > 1
    together = tree.spans(nodes)
    assert [(type(n), together[id(n)]) for n in nodes] == [(type(n), theirs[id(n)]) for n in nodes]
    some = nodes[:: 1 + len(nodes) // 400]  # each in a writing of its own
    assert [(type(n), tree.spans([n])[id(n)]) for n in some] == [(type(n), theirs[id(n)]) for n in some]


@pytest.mark.parametrize("name", TEXTS)
def test_no_file_is_written_back_for_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*_: object) -> None:
        raise AssertionError("the whole file is written")

    tree = Tree(TEXTS[name])
    monkeypatch.setattr(cst.Module, "_codegen", whole)
    blocks = (cst.BaseSuite, cst.SimpleWhitespace)  # no rule speaks of these
    plain = [n for n in nodes_of(tree) if not isinstance(n, blocks)]
    assert len(tree.spans(plain)) >= len(plain)


def test_a_form_feed_before_a_statement_counts_as_the_character_it_is() -> None:
    """libcst forgets it, so its own places are one column too small."""
    text = "a\n\x0cb.c; d\nif e:\n\x0c  f.g\n"
    tree = Tree(text)
    assert tree.module.code != text
    found = {tree.code(n): tree.spans([n])[id(n)] for n in tree.of(cst.Attribute)}
    assert found == {"b.c": Span(2, 2, 2, 5), "f.g": Span(4, 4, 4, 7)}


def test_a_finding_ends_behind_its_last_character() -> None:
    text = "import os\nLR = 'ä', float(\n    os.environ [\n  'LR']) # tail\n"
    (found,) = (f for f in review(text, isolated=False).findings if f.rule == "K101")
    assert (found.line, found.column, found.end_line, found.end_column) == (3, 5, 4, 8)


@pytest.mark.parametrize("text", [b"", b"x = 1\nif (", b"x = 'a\0'", "x = 1\nпривет = 1".encode(), b"(" * 300])
def test_no_finding_ends_before_it_begins(text: bytes) -> None:
    for found in review(text, isolated=False).findings:
        assert (found.end_line, found.end_column) >= (found.line, found.column)


@pytest.mark.parametrize("kind", [cst.Call, cst.Attribute, cst.Subscript])
@pytest.mark.parametrize("name", TEXTS)
def test_all_of_one_kind_are_where_the_provider_says(name: str, kind: type[cst.CSTNode]) -> None:
    tree = Tree(TEXTS[name])
    nodes = list(tree.of(kind))
    theirs = said_by_libcst(tree)
    assert tree.spans(nodes) == {id(n): theirs[id(n)] for n in nodes}


def test_nodes_are_told_apart_as_before() -> None:
    """The classes answer without Python's registry of abstract classes, and give the same answers."""
    tree = Tree("a.b(c)")
    call = tree.of(cst.Call)[0]
    assert isinstance(call, cst.Call | cst.Name)
    assert isinstance(call, cst.BaseExpression)
    assert not isinstance(call, cst.Name)
    assert not isinstance(1, cst.CSTNode)
