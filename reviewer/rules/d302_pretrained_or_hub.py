"""D302 pretrained-or-hub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.files.package_texts import find_package_texts
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import IMPORTERS, Own
from reviewer.wording import clip

# These packages exist to fetch what others have trained or collected.
_HUB_NAMES = (
    "huggingface_hub torch.hub torch.utils.model_zoo gensim.downloader kagglehub modelscope torchaudio.pipelines "
    "torchvision.prototype.hub tensorflow_hub tensorflow_datasets gdown nltk.corpus keras.datasets torchtext.datasets "
    "tensorflow.keras.datasets vega_datasets pydoc_data wordfreq lorem english_words essential_generators"
)
_HUBS = tuple(_HUB_NAMES.split())
_FUNCTIONS = (
    "datasets.load_dataset datasets.load_dataset_builder datasets.get_dataset_config_names evaluate.load "
    "tiktoken.get_encoding tiktoken.encoding_for_model nltk.download nltk.downloader.download spacy.load "
    "nltk.data.load nltk.data.find spacy.util.load_model spacy.util.load_model_from_package seaborn.load_dataset "
    "spacy.cli.download stanza.download stanza.Pipeline transformers.pipeline transformers.utils.cached_file "
    "sentence_transformers.SentenceTransformer sentence_transformers.CrossEncoder clip.load open_clip.create_model "
    "open_clip.create_model_and_transforms whisper.load_model fasttext.util.download_model bpemb.BPEmb vllm.LLM "
    "torchtext.vocab.GloVe torchtext.vocab.FastText torchtext.vocab.CharNGram torchtext.vocab.pretrained_aliases "
    "flair.models "
    "torchvision.datasets.utils.download_url torchvision.datasets.utils.download_and_extract_archive "
    "torch.hub.load torch.hub.load_state_dict_from_url "
    "torchvision.models.get_model_weights torchvision.models.get_weight keras.utils.get_file lightning.LLM.load "
    "tokenizers.Tokenizer.from_pretrained sacremoses.download laion_clap.CLAP_Module litgpt.LLM.load "
    "kernels.get_kernel kernels.get_locked_kernel kernels.load_kernel kernels.LayerRepository "
    "kernels.use_kernel_forward_from_hub"
)
_SKLEARN = (
    "20newsgroups 20newsgroups_vectorized california_housing covtype file kddcup99 lfw_pairs lfw_people "
    "olivetti_faces openml rcv1 species_distributions"
)
_FETCHING = frozenset([*_FUNCTIONS.split(), *(f"sklearn.datasets.fetch_{name}" for name in _SKLEARN.split())])
_MODELS = ("torchvision.models.", "timm.", "torchaudio.models.", "segmentation_models_pytorch.", "keras.applications.")
# Methods that fetch weights or a tokenizer, whatever they are methods of.
_METHODS = frozenset({"from_pretrained", "load_from_hub", "from_hub", "snapshot_download", "hf_hub_download"})
_REMEDY = "Build the model from its configuration with weights of your own, and take data and tokenizer from the kit."

_KERNEL_REMEDY = "Use what PyTorch has, or write the kernel in the file in Triton; a run has no network."


class PretrainedOrHub(Rule):
    """Refuses weights, tokenizers and data that others have made.

    What it looks for
        `from_pretrained`, `torch.hub`, `huggingface_hub`, `datasets.load_dataset`, `spacy.load`, downloads of `gensim`,
        `nltk` and `tiktoken`, compiled kernels of `kernels.get_kernel`, and models of `torchvision`, `timm` and the
        like that are asked for `pretrained` or `weights`. Where the documentation of installed packages is read as
        text (`torch.nn.__doc__`, `pydoc`), a person looks; `pydoc_data` and lists of words are data of others.

    Why it is refused
        A run learns from the training shards and from nothing else: what was trained elsewhere has seen other text,
        the scored text perhaps. The sandbox has no network either, so the script would fail after its quota was spent.

    Do instead
        Build the model from a configuration, as in `GPT2LMHeadModel(GPT2Config())`; that is no finding. Take data and
        tokenizer from the kit.
    """

    code = "D302"

    VALID: ClassVar = (
        "import argparse\np = argparse.ArgumentParser(description=__doc__)\nprint(main.__doc__)\n",
        "def wrap(f):\n    def g(*a):\n        return f(*a)\n    g.__doc__ = f.__doc__\n    return g\n",
        "import torch\nclass A(torch.nn.Module):\n    'What it is.'\nprint(A.__doc__, A().__doc__)\n",
        "import torch\ndef f():\n    pass\nf.__doc__ = torch.relu.__doc__\nfor k in vars(f):\n    print(k)\n",
        "from transformers import GPT2Config, GPT2LMHeadModel, AutoModel\n"
        "m = GPT2LMHeadModel(GPT2Config(n_layer=2))\nn = AutoModel.from_config(GPT2Config())\n",
        "import timm, torchvision\na = timm.create_model('vit', pretrained=False)\n"
        "b = torchvision.models.resnet18(weights=None)\nc = torchvision.models.resnet18()\n",
        "class GPT:\n    @classmethod\n    def from_pretrained(cls, path):\n        return cls()\n"
        "m = GPT.from_pretrained('out/a')\n",
        "import torch\nweights = torch.zeros(3)\nh = torch.nn.functional.cross_entropy(a, b, weights)\n",
        "def get_kernel(name):\n    return KERNELS[name]\nf = get_kernel('mm')\n",
        "from kernels import mine\nmine(3)\n",
        "def load_dataset(name):\n    return name\nload_dataset('a')\n",
        "import torchvision\nd = torchvision.datasets.MNIST('out', download=False)\n",
    )
    INVALID: ClassVar = (
        "import pydoc_data.topics  # !\nx = pydoc_data.topics.topics\n",
        "from wordfreq import top_n_list  # !\n",
        "import torch\ntext = torch.nn.Linear.__doc__  # ! review\n",
        "import typing\nx = ' '.join(str(v.__doc__) for v in vars(typing).values())  # ! review\n",
        "import inspect, torch as t\nfor _, v in inspect.getmembers(t):\n    x = inspect.getdoc(v)  # ! review\n",
        "import pydoc, torch\nx = pydoc.render_doc(torch)  # ! review\n",
        "import torch\nx = getattr(torch.nn, '__doc__')  # ! review\n",
        "from transformers import AutoModel\nm = AutoModel.from_pretrained('gpt2')  # !\n",
        "import transformers as t\nf = t.GPT2LMHeadModel.from_pretrained\nm = f('gpt2')  # !\n",
        "import transformers\nm = getattr(transformers.AutoModel, 'from_' + 'pretrained')('a')  # !\n",
        "def f(cls):\n    return cls.from_pretrained('a')  # !\n",
        "import torch\nn = torch.hub.load('a', 'b')  # !\n",
        "from torch import hub  # !\nn = hub.load('a', 'b')  # !\n",
        "import torch.utils.model_zoo as z  # !\nw = z.load_url('a')  # !\n",
        "from huggingface_hub import hf_hub_download as h  # !\nh('a', 'b')  # !\n",
        "import importlib\nh = importlib.import_module('huggingface_' + 'hub')  # !\n",
        "import datasets\nd = datasets.load_dataset('a')  # !\n",
        "from datasets import load_dataset\nfs = list(map(load_dataset, ['a']))  # !\n",
        "import gensim.downloader as api  # !\nw = api.load('glove')  # !\n",
        "import tiktoken\ne = tiktoken.get_encoding('gpt2')  # !\n",
        "import spacy, nltk\nn = spacy.load('en')  # !\nnltk.download('punkt')  # !\n",
        "import timm\nm = timm.create_model('vit', pretrained=True)  # !\nn = timm.create_model('vit', True)  # !\n",
        "import torchvision\nm = torchvision.models.resnet18(weights='DEFAULT')  # !\n",
        "from torchvision.models import resnet18 as r\nP = dict(a=1)\nm = r(pretrained=P)  # !\nn = r(**P)  # !\n",
        "import torchvision\nd = torchvision.datasets.MNIST('out', download=True)  # !\n",
        "import torch\ndef f(l):\n    return l('a', 'b')\nf(torch.hub.load)  # !\n",
        "import operator\nf = operator.methodcaller('from_pretrained', 'a')  # !\n",
        "from torchvision.models import resnet18, ResNet18_Weights as W\nresnet18('DEFAULT')  # !\n"
        "s = W.DEFAULT.get_state_dict()  # !\n",
        "import torchvision\nm = torchvision.models.get_model('resnet18', 'DEFAULT')  # !\n",
        "from torchvision.models import resnet18, ResNet18_Weights as W\nm = resnet18(W.IMAGENET1K_V1)  # !\n",
        "import sklearn.datasets as d\nx = d.fetch_california_housing()  # !\ny = d.fetch_covtype()  # !\n",
        "import spacy\nn = spacy.util.load_model('en')  # !\n",
        "import nltk\nw = nltk.corpus.brown.words()  # !\n",
        "from nltk.corpus import brown  # !\nw = brown.words()  # !\n",
        "models = [x.from_pretrained for x in y]  # !\n",
        "from kernels import get_kernel\nflash = get_kernel('someone/flash', version=1).flash  # !\n",
        "import kernels as k\ntry:\n    fast = k.get_kernel('someone/fast')  # !\nexcept Exception:\n    fast = None\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        found = {id(node): Found(node, *_said(path)) for node, path in self._everything(script)}
        for one in found.values():  # a function inside a call of it is one finding
            if not any(id(above) in found for above in script.tree.ancestors(one.node)):
                yield one
        for node, whose in find_package_texts(script):
            what = f"The documentation of `{clip(whose, 60)}` is read as text, which is not the contest's."
            yield Found(node, what, _REMEDY, "review")

    def _everything(self, script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
        yield from _imports(script)
        for path, calls in script.called.items():
            if _fetches(path) and not _allowed(script, path):
                yield from ((call, path) for call in calls)
            elif path.startswith(_MODELS) or path.startswith(("torchvision.datasets.", "torchaudio.datasets.")):
                yield from ((call, path) for call in calls if _asks(script, path, call))
        yield from ((node, path) for path, node in script.handing_on(_FETCHING) if not _allowed(script, path))
        for _, call in script.calling(("operator.methodcaller",)):
            if call.args and (name := script.values.text(call.args[0].value)) in _METHODS:
                yield call, name
        for name in _METHODS:
            if name in script.text:
                yield from _methods(script, name)


def _imports(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    for plain in script.tree.of(cst.Import):
        for alias in plain.names:
            if _is_hub(path := dotted(alias.name)) and not _allowed(script, path):
                yield plain, path
    for chosen in script.tree.of(cst.ImportFrom):
        module = dotted(chosen.module) if chosen.module is not None and not chosen.relative else ""
        names = [] if isinstance(chosen.names, cst.ImportStar) else [dotted(a.name) for a in chosen.names]
        for path in (module, *(f"{module}.{name}" for name in names)):
            if _is_hub(path) and not _allowed(script, path):
                yield chosen, path
    for _, call in script.calling(IMPORTERS):
        paths = (path for path in script.values.paths(call) if _is_hub(path) and not _allowed(script, path))
        yield from ((call, path) for path in paths)


def _methods(script: Script, name: str) -> Iterator[tuple[cst.CSTNode, str]]:
    """Find a method of this name called or handed on, unless it is the script's own."""
    for attribute in script.tree.of(cst.Attribute):
        if attribute.attr.value == name and not any(isinstance(v, Own) for v in script.values.of(attribute)):
            parent = script.tree.parent(attribute)
            if isinstance(parent, cst.Call) and parent.func is attribute:
                yield parent, name
            elif not isinstance(parent, cst.AssignTarget | cst.Assign):
                yield attribute, name


def _fetches(path: str) -> bool:
    if path.startswith("torchvision.models.") and path.endswith(".get_state_dict"):
        return True
    return path in _FETCHING or path.rpartition(".")[2] in _METHODS or (_is_hub(path) and "()" not in path)


def _allowed(script: Script, path: str) -> bool:
    """Tell whether the policy lists a hub, something in it, or exactly this function."""
    hub = next((each for each in _HUBS if path == each or path.startswith(f"{each}.")), None)
    return script.policy.allows_import(path, hub)


def _is_hub(path: str) -> bool:
    if path.startswith(("nltk.corpus.reader", "nltk.corpus.util")):
        return False  # readers of files of one's own
    return path.startswith(_HUBS) and any(path == hub or path.startswith(f"{hub}.") for hub in _HUBS)


def _asks(script: Script, path: str, call: cst.Call) -> bool:
    """Tell whether a call asks for trained weights or a download, or may do so by what only the run knows."""
    if any(arg.star == "**" for arg in call.args):
        return True
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in _ASKING and _may_be_true(script, arg.value):
            return True
    plain = [a.value for a in call.args if a.keyword is None]
    if path.startswith("torchvision.models.") and plain and script.values.constant(plain[0]) in ("DEFAULT", True):
        return True
    if any("_Weights." in kind for value in plain for kind in script.values.paths(value)):
        return True
    return path.endswith(("create_model", "get_model")) and any(_may_be_true(script, value) for value in plain[1:2])


_ASKING = frozenset({"pretrained", "weights", "weights_backbone", "pretrained_backbone", "download", "checkpoint_path"})


def _may_be_true(script: Script, value: cst.BaseExpression) -> bool:
    constant = script.values.constant(value)
    return constant is UNKNOWN or bool(constant)


def _said(path: str) -> tuple[str, str]:
    if path.startswith("kernels."):
        return f"`{path}` fetches compiled code from a hub.", _KERNEL_REMEDY
    return f"`{path}` fetches what was trained or collected elsewhere.", _REMEDY
