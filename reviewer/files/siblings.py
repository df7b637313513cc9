"""Modules that lie beside the script: neither Python's, nor the kit's, nor of a package that is known to exist."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import libcst as cst

from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import IMPORTERS

KIT = frozenset({"prepare"})
# What training scripts import, and what logs, draws, tests or packs. A name that is missing here is only noted.
_PACKAGES = (
    "IPython PIL absl accelerate aim apex awq bitsandbytes blobfile boto3 brotli causal_conv1d cffi click cloudpickle "
    "colorama comet_ml cupy cuda cutlass cv2 cython dask datasets deepspeed dill dion distributed_shampoo "
    "docopt dotenv "
    "einops equinox evaluate faiss fairscale fastapi filelock fire fla flash_attn flash_attn_3 "
    "flash_attn_interface flax "
    "fsspec functorch gcsfs gensim google grpc gym h5py heavyball helion httpx huggingface_hub humanize hydra ipdb jax "
    "jaxlib jaxtyping jinja2 joblib kernels keras lightning liger_kernel lion_pytorch lm_eval loguru lxml mamba_ssm "
    "marisa_trie matplotlib megatron ml_dtypes mlflow mlx mosaicml mpi4py msgpack mup ncps neptune neuronxcc networkx "
    "nki nltk numba numpy nvidia nvtx omegaconf onnx onnxruntime openai opt_einsum optax optree optuna orjson "
    "packaging "
    "pandas peft pkg_resources plotly polars prettytable prodigyopt psutil py3nvml pyarrow pybind11 pydantic pynvml "
    "pytest pytorch_lightning pytorch_optimizer quack ray regex requests rich rustbpe safetensors schedulefree "
    "scipy seaborn sentencepiece setproctitle setuptools simplejson six sklearn skimage soundfile spacy "
    "stable_baselines3 "
    "starlette streaming swanlab sympy tabulate tensorboard tensorboardX tensorflow tensorstore termcolor thop thunder "
    "tiktoken tilelang timm tinygrad tokenizers tokenmonster toml tomli tomlkit toolz torch torch_neuronx torch_xla "
    "torchao torchaudio torchdata torcheval torchinfo torchmetrics torchtext torchtitan torchtune torchvision tqdm "
    "trackio transformer_engine transformers treescope triton trl turboquant typeguard typer typing_extensions ujson "
    "unsloth urllib3 vllm wandb warp xformers xgboost xlstm xxhash yaml zarr zmq zstandard zstd"
)
_MOST = 64  # uses of one name that are looked at
_KNOWN = frozenset(_PACKAGES.split()) | sys.stdlib_module_names | KIT | {"__main__"}
_SETTINGS = re.compile(
    r"(?:\w+_)?(?:config|cfg|configs|configuration|conf|settings?|hparams?|hyperparams?|hyperparameters?|params|"
    r"parameters|options|opts|knobs|overrides|constants|consts|flags|env|sweep)(?:_\w+)?"
)


def is_settings(module: str) -> bool:
    """Tell whether the name of a module says that it holds settings."""
    return any(_SETTINGS.fullmatch(part.lower()) for part in module.strip(".").split("."))


def find_siblings(script: Script) -> Iterator[tuple[cst.CSTNode, str, list[str]]]:
    """Yield the imports of such modules: where, the module, and the names that stand for it or for parts of it."""
    for plain in script.tree.of(cst.Import):
        for alias in plain.names:
            if _is_unknown(path := dotted(alias.name)):
                name = alias.asname.name if alias.asname is not None else None
                yield plain, path, [name.value if isinstance(name, cst.Name) else path.partition(".")[0]]
    for chosen in script.tree.of(cst.ImportFrom):
        path = "." * len(chosen.relative) + (dotted(chosen.module) if chosen.module is not None else "")
        if not _is_unknown(path):
            continue
        if isinstance(chosen.names, cst.ImportStar):
            yield chosen, path, []
            continue
        aliases = [a.asname.name if a.asname is not None else a.name for a in chosen.names]
        if not path.strip("."):
            path += ".".join(dotted(a.name) for a in chosen.names)  # `from . import config`
        yield chosen, path, [dotted(a) for a in aliases]
    for _, call in script.calling(IMPORTERS):
        named = script.values.constant(call.args[0].value) if call.args else None
        if isinstance(named, str) and _is_unknown(module := named.partition(":")[0]):
            yield call, module, []


def _is_unknown(path: str) -> bool:
    return path.startswith(".") or path.partition(".")[0] not in _KNOWN


def gives_values(script: Script, names: list[str]) -> bool:
    """Tell whether all that is taken from a module are values: nothing of it is called, subclassed or decorates."""
    used = False
    if any(name[:1].isupper() and not name.isupper() for name in names):
        return False  # a class
    for name in names:
        for mention in script.mentions.get(name, ())[:_MOST]:
            node: cst.CSTNode = mention
            above = script.tree.parent(node)
            while isinstance(above, cst.Attribute) and above.value is node:
                node, above = above, script.tree.parent(above)
            if isinstance(above, cst.ImportAlias | cst.AsName | cst.Attribute):
                continue
            is_called = isinstance(above, cst.Call) and above.func is node
            is_base = isinstance(above, cst.Arg) and isinstance(script.tree.parent(above), cst.ClassDef)
            if is_called or is_base or isinstance(above, cst.Decorator | cst.Annotation):
                return False
            used = True
    return used
