"""Places are exact: they are those that libcst's own provider gives, for every expression of a script."""

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from reviewer.engine import Tree
from tests.reviewer.scripts import BASELINE, KNOBS

ODD = """# a comment
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
    try:
        h()
    except (A, B) as e:
        e.x
    except C: e.y
    else:
        e.z
    finally:
        e.w
    with open(a) as p, \\
            q() as r:
        await r.s
    match a.b:
        case {'k': v} if v.t: v.u
        case [1, *rest]:
            rest.x
    return lambda k: k.l

class D(E, metaclass=F.g):
    ä = 1
    def m(self): return self.n
    if True:
\tx.y
""".replace("    ä = 1\n", "    v = 'ä', o.p\n").replace("\tx.y", "        x.y")


@pytest.mark.parametrize("text", [BASELINE, KNOBS, ODD, ODD.replace("\n", "\r\n"), "\n\n\nx . y\n", "x.y"])
def test_every_place_is_the_providers(text: str) -> None:
    tree = Tree(text)
    wrapper = MetadataWrapper(tree.module, unsafe_skip_copy=True)
    theirs = wrapper.resolve(PositionProvider)
    nodes = [*tree.of(cst.Attribute), *tree.of(cst.Name), *tree.of(cst.Call), *tree.of(cst.Integer)]
    for wanted in (nodes, *([n] for n in nodes)):
        ours = tree.spans(wanted)
        for node in wanted:
            start = theirs[node].start
            plain = not getattr(node, "lpar", ())
            assert not plain or (ours[id(node)].line, ours[id(node)].column) == (start.line, start.column + 1), (
                tree.code(node)
            )
