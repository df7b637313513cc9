"""Examples of D306: data in comments, docstrings, blank space and single numbers, and what is none."""

_CODED = "aB3dEf7hIj1LmN0pQr5sTuVw"
_HEX = "3f2a9c81d04be5f7" * 4
_MARK = "x = 1  # !\n"
_DOC = "def f():\n    '''" + "a word or two " * 700 + "'''\n"
_WHY = "# what it does and why it does that\n"

VALID = (
    _WHY * 2_000 + "x = 1\n",
    _WHY * 200 + "print(open(__file__).read())\n",
    _DOC + "print(f())\n",
    _DOC + "import argparse\np = argparse.ArgumentParser(description=__doc__)\n",
    "# commit 3f2a9c81d04be5f7a6c1\n# 0x9E3779B97F4A7C15\n# ---------------------\n" * 5 + "x = 1\n",
    "x = 1   \n    \n\t\n" * 300,
    "# step 100 1000 10000\n" * 20 + "x = 1\n",
    "# " + "torch.nn.functional.scaled_dot_product_attention " * 3 + "\n# abc/DEF/ghi\nx = 1\n",
    "def f(x):\n    return x * 1024 + 50304\n" * 100,
    "x = '''\n# a kernel\n" + "#pragma unroll\n" * 90 + "__global__ void f() {}'''\n",
)
INVALID = (
    _MARK + f"# {_HEX}\n" * 20,
    _MARK + f"y = 2  # {_CODED}\n" * 60,
    _MARK + "# 104 32 77 8 9 21 200 145 16 78 93 4\n" * 40,
    _MARK + "# MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK\n" * 40,
    _MARK + ("#" + " \t\t " * 10 + "\n") * 40,
    _MARK + ("y = 2" + " \t\t " * 10 + "\n") * 40,
    _MARK + ("\t \t\t  \t " * 4 + "\n") * 60,
    _WHY * 800 + "print(open(__file__).read())  # !\n",
    _WHY * 800 + "import inspect, sys\nx = inspect.getsource(sys.modules[__name__]).split()  # !\n",
    _DOC + "w = f.__doc__.split()  # !\n",
    _DOC + "import inspect\nw = inspect.getdoc(f)  # !\n",
    (
        "import enum\nclass E(enum.Enum):\n    A0 = 918273640  # !\n"
        + "".join(f"    A{i} = {i * 7919 + 11111111}\n" for i in range(1, 600))
    ),
    "W = []\nW.append(0.193847)  # !\n" + "".join(f"W.append(0.{i * 131 + 100003})\n" for i in range(600)),
    (
        "def f(t):\n    if t == 48213:  # !\n        return 1\n"
        + "".join(f"    if t == {i * 37 + 10001}:\n        return {i * 53 + 10007}\n" for i in range(450))
    ),
)
