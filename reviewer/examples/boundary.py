"""Examples for the rule about step boundaries."""

from __future__ import annotations

_KIT = "from prepare import record_step_boundary\n"


def _loop(body: str, head: str = "for step in range(9):") -> str:
    return _KIT + head + "\n" + "".join(f"    {line}\n" for line in body.split("\n"))


VALID = (
    _loop("loss.backward()\nopt.step()\nopt.zero_grad()\nrecord_step_boundary(step)"),
    _loop("opt.step()\nif rank == 0:\n    record_step_boundary(step)"),
    _loop("opt.step()\nif master_process:\n    print(step)\n    record_step_boundary(step)"),
    _loop("opt.step()\nif not rank:\n    record_step_boundary(step)\nif rank != 0:\n    continue\nlog()"),
    _loop("opt.step()\nif rank != 0:\n    continue\nrecord_step_boundary(step)"),
    _loop("for micro in range(4):\n    loss.backward()\nopt.step()\nrecord_step_boundary(step)"),
    _loop("loss.backward()\nif (step + 1) % 4 == 0:\n    opt.step()\n    record_step_boundary(step)"),
    _loop("loss.backward()\nif (step + 1) % 4 == 0:\n    opt.step()\nif (step + 1) % 4 == 0:\n"
          "    record_step_boundary(step)"),
    _loop("loss.backward()\nif (step + 1) % 4 != 0:\n    continue\nopt.step()\nrecord_step_boundary(step)"),
    _loop("for opt in optimizers:\n    opt.step()\nrecord_step_boundary(step)"),
    _loop("for o, s in zip(optimizers, schedulers):\n    o.step()\n    s.step()\nrecord_step_boundary(step)"),
    _loop("[o.step() for o in optimizers]\ntorch.cuda.synchronize()\nrecord_step_boundary(step)"),
    _loop("for i in range(len(optimizers)):\n    optimizers[i].step()\nrecord_step_boundary(step)"),
    _KIT + "step = 0\nwhile True:\n    opt.step()\n    step += 1\n    record_step_boundary(step)\n"
    "    if step > 9:\n        break\n",
    _KIT + "def train_step(step):\n    opt.step()\n    record_step_boundary(step)\n"
    "for step in range(9):\n    train_step(step)\n",
    _KIT + "def update():\n    opt.step()\ndef done(step):\n    record_step_boundary(step)\n"
    "for step in range(9):\n    update()\n    done(step)\n",
    _KIT + "class Trainer:\n    def one(self, batch):\n        self.optimizer.step()\n    def fit(self):\n"
    "        for step, batch in enumerate(self.loader):\n            self.one(batch)\n"
    "            record_step_boundary(step)\n",
    _KIT + "for epoch in range(2):\n    for step, batch in enumerate(loader):\n        opt.step()\n"
    "        record_step_boundary(step)\n",
    _KIT + "for s in range(3):\n    opt.step()\nfor step in range(9):\n    opt.step()\n"
    "    record_step_boundary(step)\n",
    _KIT + "for s in range(3):\n    opt.step()\n    record_step_boundary(s)\n"
    "for step in range(3, 9):\n    opt.step()\n"
    "    record_step_boundary(step)\n",
    _loop("try:\n    opt.step()\nfinally:\n    record_step_boundary(step)"),
    _loop("with timer():\n    opt.step()\n    record_step_boundary(step)\nif step == 8:\n    break\nevaluate()"),
    _loop("if step % 5 == 0:\n    torch.cuda.synchronize()\nopt.step()\nrecord_step_boundary(step)\n"
          "if step % 5 == 0:\n    torch.cuda.synchronize()\n    print(time.time())"),
    _loop("if last_step:\n    break\nif bad(loss):\n    continue\nopt.step()\nscheduler.step()\n"
          "record_step_boundary(step)"),
    _loop("if finite:\n    opt.step()\nrecord_step_boundary(step)"),
    _loop("if a:\n    opt1.step()\n    record_step_boundary(step)\nelse:\n    opt2.step()\n"
          "    record_step_boundary(step)"),
    _loop("opt.step()\nif a:\n    record_step_boundary(step)\nelse:\n    log()\n    record_step_boundary(step)"),
    "from prepare import record_step_boundary as mark\nfor step in range(9):\n    scaler.step(x)\n    mark(step)\n",
    "import prepare as kit\nfor step in range(9):\n    muon.step()\n    kit.record_step_boundary(step + 1)\n",
    "import prepare\ndone = getattr(prepare, 'record_step_boundary')\nwhile step < 9:\n    step += 1\n"
    "    adam.step()\n    done(step)\n",
    "try:\n    from prepare import record_step_boundary\nexcept ImportError:\n    def record_step_boundary(step):\n"
    "        pass\n"
    "for step in range(9):\n    opt.step()\n    record_step_boundary(step)\n",
    "try:\n    from prepare import record_step_boundary\n    KIT = True\nexcept ImportError:\n    KIT = False\n"
    "for step in range(9):\n    opt.step()\n    if KIT:\n        record_step_boundary(step)\n",
    "try:\n    from prepare import record_step_boundary\nexcept ImportError:\n    record_step_boundary = None\n"
    "for step in range(9):\n    opt.step()\n    if record_step_boundary is not None:\n"
    "        record_step_boundary(step)\n",
    _loop("params = update(params, grads)\nrecord_step_boundary(step)"),
    "class SGD:\n    def step(self):\n        for group in self.groups:\n            self.adam.step()\n"
    "scheduler.step()\n",
    "loss.backward()\nclass F(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return g\n",
    "import torch\ndef f(x):\n    return x\nfor i in range(3):\n    profiler.step()\n    f(i)\n",
    _KIT + "import torch\n@torch.compile\ndef train_step(x):\n    return model(x)\n"
    "while not done():\n    loss = train_step(x)\n"
    "    if step > 3 and slow:\n        log()\n    optimizer.step()\n    record_step_boundary(step := step + 1)\n",
    "import torch\ndef init_weights(model):\n    for p in model.parameters():\n        p.data.normal_()\n"
    "for model in models:\n    init_weights(model)\n",
    "def update_ema(ema, model):\n    for a, b in zip(ema.parameters(), model.parameters()):\n"
    "        a.data.mul_(0.9).add_(b.data, alpha=0.1)\nfor m in models:\n    update_ema(ema, m)\n",
    "class GPT(nn.Module):\n    def scale(self):\n        for p in self.parameters():\n            p.data.mul_(0.5)\n"
    "for m in models:\n    m.scale()\n",
    "for t in tensors:\n    t.add_(1)\nfor p in model.parameters():\n    n += p.numel()\n",
)  # fmt: skip

INVALID = (
    # a warm-up that is undone is not where the report belongs
    "for warmup_step in range(20):\n    loss.backward()\n    for opt in optimizers:\n        opt.step()\n"
    "while step < 9:\n    loss.backward()\n    for opt in optimizers:\n        opt.step()  # !\n",
    "for i in range(args.warmup_steps):\n    opt.step()\nfor i in range(args.steps):\n    opt.step()  # !\n",
    "for i in range(warmup + steps):\n    opt.step()  # !\n",
    # parameters that are changed without an optimizer
    "def shift(model, seed, by):\n    for p in model.parameters():\n        p.data.add_(noise(p, seed), alpha=by)\n"
    "def improve(model, seeds, fitness, lr):\n    for p in model.parameters():\n"
    "        p.data.add_(update(p, seeds, fitness), alpha=lr)  # !\n"
    "for step in range(9):\n    for seed in seeds:\n        shift(model, seed, 1)\n        shift(model, seed, -1)\n"
    "    improve(model, seeds, fitness, 0.1)\n",
    "params = list(model.parameters())\nwhile True:\n    with torch.no_grad():\n        for p in params:\n"
    "            p.sub_(direction(p))  # !\n",
    "def eval_val_adapting(model, rows, opt):\n    for x in rows:\n        model(x).backward()\n        opt.step()\n"
    "def main():\n    for x in loader:\n        model(x).backward()\n        optimizer.step()  # !\n"
    "    eval_val_adapting(model, rows, other)\n",
    "for x in loader:\n    loss.backward()  # !\n    with torch.no_grad():\n        w -= lr * w.grad\n",
    "for step in range(9):\n    loss.backward()\n    opt.step()  # !\n",
    _KIT + "def main():\n    for step in range(9):\n        optimizer.step()  # !\nmain()\n",
    "def update():\n    optimizer.step()  # !\nfor step in range(9):\n    update()\n",
    "def record_step_boundary(step):\n    pass\nfor step in range(9):\n    opt.step()  # !\n"
    "    record_step_boundary(step)\n",
    _loop("opt.step()\nif step % 10 == 0:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nif step >= 3:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nstep % 10 or record_step_boundary(step)  # !"),
    _loop("opt.step()\nrecord_step_boundary(step) if step > 5 else None  # !"),
    _loop("opt.step()\nif rank != 0:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nif rank == 0 and step > 3:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nif not master_process:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nif rank == 1:\n    record_step_boundary(step)  # !"),
    _loop("opt.step()\nmatch mode:\n    case 'a':\n        record_step_boundary(step)  # !"),
    _loop("opt.step()\ntry:\n    log()\nexcept OSError:\n    record_step_boundary(step)  # !"),
    _loop("record_step_boundary(step)  # !\nloss.backward()\nopt.step()"),
    _loop("adam.step()\nrecord_step_boundary(step)  # !\nmuon.step()"),
    _loop("opt.step()\nrecord_step_boundary(step)  # !\ntorch.cuda.synchronize()", "import torch\n"
          "for step in range(9):"),
    _loop("opt.step()\nrecord_step_boundary(step)\nrecord_step_boundary(step + 1)  # !"),
    _loop("for micro in range(4):\n    loss.backward()\n    record_step_boundary(step)  # !\nopt.step()"),
    _loop("opt.step()\nfor i in range(4):\n    record_step_boundary(step + i)  # !"),
    _loop("opt.step()\n[record_step_boundary(s) for s in range(4)]  # !"),
    _loop("for opt in optimizers:\n    opt.step()\n    record_step_boundary(step)  # !"),
    _KIT + "for step in range(9):\n    opt.step()\nrecord_step_boundary(step)  # !\n",
    _KIT + "for epoch in range(2):\n    for x in loader:\n        opt.step()\n    record_step_boundary(epoch)  # !\n",
    _KIT + "for step in range(9):\n    opt.step()\nelse:\n    record_step_boundary(step)  # !\n",
    _KIT + "record_step_boundary(0)  # !\nfor step in range(9):\n    opt.step()\n",
    _loop("opt.step()\nif step % 2:\n    continue  # !\nrecord_step_boundary(step)"),
    _KIT + "def one(step):\n    opt.step()\n    if quick:\n        return  # !\n    record_step_boundary(step)\n"
    "for step in range(9):\n    one(step)\n",
    _loop("opt.step()\nrecord_step_boundary(7)  # !"),
    _KIT + "STEP = 3\nfor step in range(9):\n    opt.step()\n    record_step_boundary(STEP)  # !\n",
    _KIT + "def done(n):\n    record_step_boundary(n)\nfor step in range(9):\n    opt.step()\n    done(0)  # !\n",
    _KIT + "def done(step):\n    record_step_boundary(step)  # !\nfor step in range(9):\n    opt.step()\n"
    "    if step % 10 == 0:\n        done(step)\n",
    _KIT + "def inner(step):\n    record_step_boundary(step)  # !\ndef outer(step):\n"
    "    if step > 3:\n        inner(step)\n"
    "while True:\n    opt.step()\n    outer(step)\n",
    _KIT + "def record_step_boundary(step):  # !\n    pass\nfor step in range(9):\n    opt.step()\n"
    "    record_step_boundary(step)\n",
    _KIT + "record_step_boundary = lambda step: None  # !\nfor step in range(9):\n    opt.step()\n"
    "    record_step_boundary(step)\n",
    _KIT + "def fit(done):\n    for step in range(9):\n        opt.step()\n        done(step)\n"
    "fit(done=record_step_boundary)  # ! review\n",
    _loop(
        "if on:\n    opt.step()\n    record_step_boundary(step)\nelse:\n    opt2.step()\n"
        "record_step_boundary(step)  # !"
    ),
    "from prepare import *\nfor step in range(9):\n    opt.step()\n    if LOG:\n"
    "        record_step_boundary(step)  # !\n",
    "import prepare\nfrom functools import partial\ndone = partial(prepare.record_step_boundary)\n"
    "for step in range(9):\n"
    "    opt.step()\n    if LOG:\n        done(step)  # !\n",
    _KIT + "class T:\n    def fit(self):\n        while self.step < 9:\n            self.optimizer.step()\n"
    "            if self.step % 10 == 0:\n                record_step_boundary(self.step)  # !\n",
)  # fmt: skip
