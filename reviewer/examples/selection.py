"""Examples of E203: weights that are chosen by their score, and honest ones that are the last or an average."""

from __future__ import annotations

_HEAD = "import copy, glob, os, torch\nfrom safetensors.torch import load_file\n"


def _load(*lines: str, before: str = "") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{_HEAD}{before}def load_for_eval(path, device):\n    model = GPT()\n{body}    return model\n"


def _train(*lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{_HEAD}def main():\n    model, best, best_loss = GPT(), None, 9.0\n    for step in range(9):\n{body}"


LAST = (
    _load("model.load_state_dict(torch.load(path, weights_only=True))"),
    _load("model.load_state_dict(torch.load(path)['ema'])"),
    _load(
        "state = torch.load(path)",
        "state = state['ema'] if 'ema' in state else state['model']",
        "model.load_state_dict(state)",
    ),
    _load("try:", "    state = torch.load(path)", "except RuntimeError:", "    state = load_file(path)"),
    _load("state = torch.load(path)", "n = 1 + max(int(k.split('.')[1]) for k in state)", "print(n)"),
    _load("for name, w in torch.load(path).items():", "    model.get_parameter(name).data.copy_(w)"),
    _load("state = torch.load(path)", "for k in sorted(state):", "    print(k)"),
    _load("config = torch.load(path)['config']", "if config['width'] > config['depth']:", "    print(config)"),
    _train("ema = {k: v.lerp(ema[k], 0.99) for k, v in model.state_dict().items()}", "torch.save(ema, 'out/final.pt')"),
    _train("if step % 100 == 0:", "    torch.save(model.state_dict(), 'out/final.pt')"),
    _train("snapshots.append(copy.deepcopy(model.state_dict()))", "torch.save(mean(snapshots), 'out/final.pt')"),
    _train("if loss < best_loss:", "    best_loss = loss", "    print('best so far', loss)"),
    _train("if step > min_steps:", "    torch.save(model.state_dict(), 'out/final.pt')"),
    _train("best_loss = min(best_loss, loss)", "torch.save({'model': model.state_dict(), 'best': best_loss}, 'out/a')"),
    _train("ordered = sorted(model.parameters(), key=lambda p: p.numel())", "torch.save(ordered, 'out/final.pt')"),
    _train("loss.backward()", "if loss < 1e-9:", "    break", "if val_loss > 20:", "    break"),
    _train("loss.backward()", "if time.time() > limit:", "    break", "if step >= patience:", "    print(step)"),
    _train("if val_loss < 3:", "    break", "print(step)"),
    _train("for row in rows:", "    if val_loss < 3:", "        break", "loss.backward()"),
    _train("if loss > 20:", "    raise SystemExit", "names = sorted(model.state_dict(), key=len)"),
)
CHOSEN = (
    _train("loss.backward()", "if val_loss <= 3.28:  # !", "    break"),
    _train("loss.backward()", "if TARGET > 0 and float(val_loss.item()) < TARGET:  # !", "    print(1)", "    break"),
    _train("record_step_boundary(step)", "bad = bad + 1", "if bad >= PATIENCE:  # !", "    break"),
    _train("train_step(x)", "if val_bpb > best_bpb:", "    bad += 1", "if 3 <= bad_points_patience:  # !", "    break"),
    _train("train_step(x)", "if early_stop:  # !", "    break"),
    _train("loss.backward()", "if TARGET >= dev_bpb:  # !", "    break"),
    _load("states = [torch.load(p) for p in glob.glob('out/*.pt')]  # !", "model.load_state_dict(mean(states))"),
    _load("for p in files:", "    total = total + torch.load(p)['w']  # !"),
    _load("for p in files:", "    total = add(total, load_file(p))  # !"),
    _load("states = list(map(torch.load, files))  # !"),
    _load("model.load_state_dict(torch.load(path.replace('final', 'best')))  # !"),
    _load("model.load_state_dict(torch.load(os.path.join(os.path.dirname(path), 'best.pt')))  # !"),
    _load("NAME = 'model_best.pt'", "model.load_state_dict(torch.load(NAME))  # !"),
    _load("state = torch.load(path)", "model.load_state_dict(state['best_model'])  # !"),
    _load(
        "state = torch.load(path)",
        "one = min(state['all'], key=lambda s: s['loss'])  # !",
        "model.load_state_dict(one)",
    ),
    _load("state = torch.load(path)", "if state['ema_loss'] < state['loss']:  # !", "    state = state['ema']"),
    _load("s = torch.load(path)", "s = s['ema'] if s['ema_bpb'] < s['bpb'] else s['model']  # !"),
    _load("file = sorted(glob.glob('out/*.pt'), key=score)[0]  # !", "model.load_state_dict(torch.load(file))"),
    _load("model.load_state_dict(pick(path))", before="def pick(path):\n    return torch.load(path)['best']  # !\n"),
    _load("state = torch.load(path)", "i = torch.tensor(state['losses']).argmin()  # !", "print(i)"),
    _train(
        "if val_loss < best_loss:  # !",
        "    best_loss = val_loss",
        "    torch.save(model.state_dict(), 'out/final.pt')",
    ),
    _train("if best_loss > loss and step > 5:  # !", "    best = copy.deepcopy(model.state_dict())"),
    _train("if val_bpb < best_val_bpb:  # !", "    best = {k: v.clone() for k, v in model.state_dict().items()}"),
    _train("pick = min(candidates, key=evaluate)  # !", "model.load_state_dict(pick)"),
    _train("torch.save(max(states, key=lambda s: s['acc']), 'out/final.pt')  # !"),
    _HEAD
    + "def keep(m):\n    torch.save(m.state_dict(), 'out/final.pt')\ndef main():\n    if loss <= self.best_loss:  # !\n"
    "        keep(model)\n",
)
