"""D301 network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.matchers.optional import use_of_optional
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script

# Importing one of these says that the script means to talk to something.
_MODULES = frozenset(
    [
        "aiohttp",
        "asyncssh",
        "boto3",
        "botocore",
        "comet_ml",
        "fabric",
        "ftplib",
        "grpc",
        "http.client",
        "http.server",
        "httpx",
        "imaplib",
        "mlflow",
        "neptune",
        "nntplib",
        "paramiko",
        "poplib",
        "pycurl",
        "redis",
        "requests",
        "s3fs",
        "smtplib",
        "socket",
        "socketserver",
        "ssl",
        "swanlab",
        "telnetlib",
        "urllib.request",
        "urllib2",
        "urllib3",
        "wandb",
        "websocket",
        "websockets",
        "wget",
        "xmlrpc.client",
        "xmlrpc.server",
        "zmq",
    ]
)
# These modules have other uses; the single functions reach out.
_FUNCTIONS = frozenset(
    [
        "asyncio.open_connection",
        "asyncio.open_unix_connection",
        "asyncio.start_server",
        "urllib.urlopen",
        "urllib.urlretrieve",
    ]
)
# These only log. Where one is not to be had, or not used, nothing goes anywhere.
_LOGGERS = frozenset({"comet_ml", "mlflow", "neptune", "swanlab", "wandb"})
_LOCAL_NAMES = frozenset({"socket.gethostname", "socket.getfqdn"})  # ask this host who it is, and nobody else


class Network(Rule):
    """Refuses scripts that reach for a network.

    What it looks for
        Imports of network clients (`socket`, `urllib.request`, `requests`, `httpx`, `boto3`, `wandb`, …), also by
        `__import__` or `importlib`, and single functions that connect, such as `asyncio.open_connection`. An import of
        `wandb` or another logger that may fail is only noted where it is never used, and warned of where each use of it
        stands behind a test of whether it is there. Not a finding: what the competition allows to import.

    Why it is refused
        A run is sealed: what it knows must come from the training shards. The sandbox has no network, so such a
        script would also crash on the platform after its quota was spent.

    Do instead
        Take data from the kit's loader and print what you want to keep; the log is stored and plotted for you.
    """

    code = "D301"

    VALID: ClassVar = (
        "import urllib.parse\nfrom http import HTTPStatus\nimport torch.distributed as dist\n",
        "import socket\nprint(socket.gethostname())\n",
        "try:\n    import wandb\nexcept ImportError:\n    wandb = None\n",
        "def requests(n):\n    return n\nrequests(3)\n",
        "import torch\nmodel = torch.compile(torch.nn.Linear(2, 2))\n",
    )
    INVALID: ClassVar = (
        "import requests  # !\nrequests.get('http://127.0.0.1')\n",
        "import socket  # !\ns = socket.socket()\n",
        "from urllib import request  # !\n",
        "from urllib.request import urlopen as u  # !\n",
        "import json, http.client as h  # !\n",
        "m = __import__('sock' + 'et')  # !\n",
        "import importlib\nm = importlib.import_module('urllib.request')  # !\n",
        "import asyncio as a\nf = a.open_unix_connection\nnet = f('a')  # !\n",
        "def late():\n    import wandb  # !\n    wandb.init()\n",
        "try:\n    import wandb  # ! warn\nexcept ImportError:\n"
        "    wandb = None\nif wandb is not None:\n    wandb.init()\n",
        "try:\n    import wandb  # !\nexcept ImportError:\n    wandb = None\nwandb.init()\n",
        "try:\n    import requests  # !\nexcept ImportError:\n    requests = None\n",
        "import asyncio\nasync def f():\n    await asyncio.open_connection('a', 1)  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for plain in script.tree.of(cst.Import):
            for alias in plain.names:
                path = dotted(alias.name)
                if _refused(script, path) and not (path == "socket" and _only_asks_its_name(script)):
                    yield self._found(plain, path, _at_most(script, plain, alias))
        for chosen in script.tree.of(cst.ImportFrom):
            module = dotted(chosen.module) if chosen.module is not None else ""
            names = [] if isinstance(chosen.names, cst.ImportStar) else [dotted(a.name) for a in chosen.names]
            for name in names or ["*"]:
                path = f"{module}.{name}"
                if _refused(script, path) and path not in _LOCAL_NAMES and not chosen.relative:
                    yield self._found(chosen, module if _reaches(module) else path)
        for path, call in script.calling(_FUNCTIONS):
            if _refused(script, path):
                yield self._found(call, path)
        for _, call in script.calling(("builtins.__import__", "importlib.import_module")):
            yield from (self._found(call, path) for path in script.values.paths(call) if _refused(script, path))

    def _found(self, node: cst.CSTNode, path: str, at_most: Severity = "reject") -> Found:
        return Found(
            node,
            f"`{path}` reaches for a network, and a run has none.",
            "Remove it; data come from the kit's loader, and what is printed is kept.",
            at_most,
        )


def _at_most(script: Script, plain: cst.Import, alias: cst.ImportAlias) -> Severity:
    """Return how severe the import of a logger is that the script can do without."""
    if dotted(alias.name) not in _LOGGERS:
        return "reject"
    name = dotted(alias.asname.name if alias.asname is not None else alias.name)
    severities: dict[str, Severity] = {"none": "info", "guarded": "warn"}
    return severities.get(use_of_optional(script, plain, name), "reject")


def _reaches(path: str) -> str:
    """Return the module of the list that a path lies in, "" where there is none."""
    parts = path.split(".")
    heads = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return next((head for head in heads if head in _MODULES), "")


def _refused(script: Script, path: str) -> bool:
    named = _reaches(path) or (path if path in _FUNCTIONS else "")
    return bool(named) and not script.policy.allows_import(path, named)


def _only_asks_its_name(script: Script) -> bool:
    used = [a for a in script.tree.of(cst.Attribute) if dotted(a).startswith("socket.")]
    return bool(used) and all(dotted(a) in _LOCAL_NAMES for a in used)
