"""What sets a random generator, and whether a seed comes from the one that the platform drew."""

from __future__ import annotations

import libcst as cst

from reviewer.dataflow.sources import sources
from reviewer.script import Script

_TORCH = ("cuda", "cuda.random", "mps", "xpu", "npu", "mtia", "accelerator")
# These set what the launch has seeded already: every draw that follows is another one than the platform's.
SEEDING = frozenset(
    [f"torch.{d}.{n}" for d in _TORCH for n in ("manual_seed", "manual_seed_all")]
    + ["torch.manual_seed", "torch.random.manual_seed", "torch.default_generator.manual_seed"]
    + ["random.seed", "numpy.random.seed", "numpy.random.mtrand.seed", "tensorflow.random.set_seed"]
    + ["transformers.set_seed", "transformers.trainer_utils.set_seed", "accelerate.utils.set_seed"]
    + ["lightning.seed_everything", "pytorch_lightning.seed_everything", "lightning.pytorch.seed_everything"]
    + ["lightning_fabric.seed_everything", "monai.utils.set_determinism", "ignite.utils.manual_seed"]
)
# Without an argument these take their seed from the machine.
DRAWING = frozenset({"random.seed", "numpy.random.seed", "torch.seed", "torch.cuda.seed", "torch.cuda.seed_all"})
# Generators beside those: only what is given one draws from it.
OWN = frozenset([
    "torch.Generator().manual_seed", "random.Random", "numpy.random.default_rng", "numpy.random.RandomState",
    "numpy.random.PCG64", "numpy.random.Philox", "numpy.random.MT19937", "numpy.random.SFC64",
])  # fmt: skip
# The platform's seed, and numbers drawn from generators that stand as it has left them.
_GIVEN = ("prepare.SEED", "torch.initial_seed", "torch.random.initial_seed", "torch.cuda.initial_seed")
_DRAWN = ("random.", "numpy.random.", "torch.rand", "torch.random.", "torch.utils.data.get_worker_info")


def is_given(script: Script, seed: cst.CSTNode | None) -> bool:
    """Tell whether a seed is computed from what the platform has drawn."""
    for part in sources(script, seed):
        if isinstance(part, cst.Name | cst.Attribute):
            paths = script.values.paths(part)
            if any(p.startswith(_GIVEN) or (p.startswith(_DRAWN) and "seed" not in p) for p in paths):
                return True
    return False
