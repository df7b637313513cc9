"""Shapes of honest scripts that need several places at once: each passes without a finding above info."""

import pytest

from reviewer import review
from tests.reviewer.scripts import BASELINE

WIDER: dict[str, list[tuple[str, str]]] = {
    "a switch that turns fake quantisation on late": [
        (
            "class GPT(nn.Module):",
            """class Linear(nn.Linear):
    qat = False

    def forward(self, x):
        w = self.weight.to(x.dtype)
        if Linear.qat and self.training and w.ndim == 2:
            with torch.no_grad():
                scale = (w.abs().amax(dim=1) / 31.0).clamp_min(1.0 / 31.0)
                w_q = (torch.clamp(torch.round(w / scale[:, None]), -32, 31) * scale[:, None]).to(x.dtype)
            w = w + (w_q - w).detach()
        return F.linear(x, w)


class GPT(nn.Module):""",
        ),
        (
            "        record_step_boundary(step)",
            """        if step > 100 and not Linear.qat:
            Linear.qat = True
        record_step_boundary(step)""",
        ),
        (
            "self.head = nn.Linear",
            "self.head = Linear",
        ),
        (
            "self.mix = nn.Linear",
            "self.mix = Linear",
        ),
    ],
    "layers called norm": [
        (
            "class GPT(nn.Module):",
            """class Scale(nn.Module):
    def forward(self, x):
        return F.rms_norm(x, (x.size(-1),))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.fc(self.norm(F.relu(self.fc(x)).square()))


class GPT(nn.Module):""",
        ),
        (
            "        self.head = ",
            """        self.norm, self.wide = Scale(), Wide()
        self.head = """,
        ),
        (
            "        logits = SOFT",
            """        x = self.norm(x + self.wide(x))
        logits = SOFT""",
        ),
    ],
    "a cache of angles that follows the length": [
        (
            "class GPT(nn.Module):",
            """class Rotary(nn.Module):
    def __init__(self, dim, base=1e4, trained=1024):
        super().__init__()
        self.dim, self.base, self.trained = dim, base, trained
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2) / dim), persistent=False)
        self._seq_len_cached = 0
        self._cos_cached: torch.Tensor | None = None
        self._sin_cached: torch.Tensor | None = None

    def forward(self, seq_len, device, dtype):
        if (
            self._cos_cached is None
            or self._sin_cached is None
            or self._seq_len_cached != seq_len
            or self._cos_cached.device != device
        ):
            if seq_len > self.trained:
                scale = seq_len / self.trained
                new_base = self.base * scale ** (self.dim / (self.dim - 2))
                inv_freq = 1.0 / new_base ** (torch.arange(0, self.dim, 2, device=device) / self.dim)
            else:
                inv_freq = self.inv_freq.to(device)
            t = torch.arange(seq_len, device=device, dtype=inv_freq.dtype)
            freqs = torch.outer(t, inv_freq)
            self._cos_cached = freqs.cos()[None, :, None, :]
            self._sin_cached = freqs.sin()[None, :, None, :]
            self._seq_len_cached = seq_len
        return self._cos_cached.to(dtype=dtype), self._sin_cached.to(dtype=dtype)


class GPT(nn.Module):""",
        ),
        (
            "        self.head = ",
            """        self.rotary = Rotary(WIDTH)
        self.head = """,
        ),
        (
            """        x = self.wte(tokens)
""",
            """        x = self.wte(tokens)
        cos, sin = self.rotary(tokens.size(1), tokens.device, x.dtype)
        x = torch.cat((x[..., :96] * cos[:, :, 0], x[..., 96:] * sin[:, :, 0]), -1)
""",
        ),
    ],
    "heads that look ahead, in training alone": [
        (
            """    def __init__(self) -> None:
        super().__init__()
        self.wte""",
            """    def __init__(self, mtp: int = 0) -> None:
        super().__init__()
        self.mtp_heads = nn.ModuleList(nn.Linear(WIDTH, VOCAB, bias=False) for _ in range(mtp))
        self.wte""",
        ),
        (
            "        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))",
            """        loss = F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))
        if self.training and len(self.mtp_heads) > 0:
            for k, head in enumerate(self.mtp_heads, 1):
                ahead = head(x[:, :-k])
                loss = loss + 0.1 * F.cross_entropy(ahead.reshape(-1, VOCAB), targets[:, k:].reshape(-1))
        return loss""",
        ),
        (
            """    model = GPT()
    optim""",
            """    model = GPT(mtp=2)
    optim""",
        ),
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            '    torch.save({k: v for k, v in model.state_dict().items() if "mtp_heads" not in k}, "out/final.pt")',
        ),
    ],
    "hessians from training rows, by hooks": [
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            """    sums, hooks = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            def keep(_, given, __, name=name):
                x = given[0].detach().reshape(-1, given[0].size(-1)).float()
                sums[name] = sums.get(name, 0) + x.T @ x
            hooks.append(module.register_forward_hook(keep))
    with torch.no_grad():
        for _, (inputs, targets, _) in zip(range(8), loader):
            model(inputs.long(), targets)
    for hook in hooks:
        hook.remove()
    print(len(sums))
    torch.save(model.state_dict(), "out/final.pt")""",
        ),
    ],
    "a clip chosen by its rounding error": [
        (
            "class GPT(nn.Module):",
            """def rows_in_int6(t):
    best, least = None, float("inf")
    for share in (0.999, 0.9995, 0.9999, 1.0):
        clip = torch.quantile(t.abs(), share, dim=1)
        scale = (clip / 31).clamp_min(1 / 31)
        q = torch.clamp(torch.round(t / scale[:, None]), -31, 31)
        error = (t - q * scale[:, None]).pow(2).mean().item()
        if error < least:
            best, least = q * scale[:, None], error
    return best


class GPT(nn.Module):""",
        ),
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            """    state = {k: rows_in_int6(v) if v.ndim == 2 else v for k, v in model.state_dict().items()}
    torch.save(state, "out/final.pt")""",
        ),
    ],
    "an average of late weights": [
        (
            "        record_step_boundary(step)",
            """        if step > 100 and step % 50 == 0:
            if averaged is None:
                averaged, count = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}, 1
            else:
                for k, v in model.state_dict().items():
                    averaged[k] += v.detach().cpu()
                count += 1
        record_step_boundary(step)""",
        ),
        (
            "    loader = ",
            """    averaged, count = None, 0
    loader = """,
        ),
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            """    if averaged is not None and count > 1:
        model.load_state_dict({k: v / count for k, v in averaged.items()})
    torch.save(model.state_dict(), "out/final.pt")""",
        ),
    ],
    "a running average loaded before saving": [
        (
            "        record_step_boundary(step)",
            """        with torch.no_grad():
            for name, t in model.state_dict().items():
                ema[name].mul_(0.997).add_(t.detach().float(), alpha=0.003)
        record_step_boundary(step)""",
        ),
        (
            "    loader = ",
            """    ema = {name: t.detach().float().clone() for name, t in model.state_dict().items()}
    loader = """,
        ),
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            """    model.load_state_dict({name: t.to(model.state_dict()[name].dtype) for name, t in ema.items()})
    torch.save(model.state_dict(), "out/final.pt")""",
        ),
    ],
    "a gate on the token before": [
        (
            """        x = self.wte(tokens)
""",
            """        x = self.wte(tokens)
        gate = torch.sigmoid(self.smear(x[:, 1:, :12].contiguous()))
        begins = (tokens[:, 1:] != BOS).to(x.dtype).unsqueeze(-1)
        x = torch.cat([x[:, :1], x[:, 1:] + gate * x[:, :-1] * begins], dim=1)
""",
        ),
        (
            """SOFT_CAP = 15.0
""",
            """SOFT_CAP = 15.0
BOS = 1
""",
        ),
        (
            "        self.head = ",
            """        self.smear = nn.Linear(12, 1, bias=False)
        self.head = """,
        ),
    ],
    "a fused layer in training": [
        (
            "        return x + self.drop(self.mix(F.rms_norm(x, (WIDTH,))))",
            """        h = F.rms_norm(x, (WIDTH,))
        if self.training and self.use_fused:
            return x + FusedLinear(h, self.mix.weight.to(x.dtype))
        return x + F.linear(F.leaky_relu(h).square(), self.mix.weight.to(x.dtype))""",
        ),
    ],
    "a second aim in a buffer": [
        (
            "        self.wte = ",
            """        self.register_buffer("aim", torch.tensor(0.0), persistent=False)
        self.wte = """,
        ),
        (
            "        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))",
            """        loss = F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))
        if self.aim.item() > 0:
            loss = loss + self.aim * F.mse_loss(x[:, :-1], x[:, 1:].detach())
        return loss""",
        ),
        (
            "        loss = model(inputs",
            """        model.aim.fill_(1.0 if step < 100 else 0.0)
        loss = model(inputs""",
        ),
    ],
    "a warm-up whose weights are put back": [
        (
            "    loader = ",
            """    start = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    for _ in range(3):
        noise = torch.randint(0, VOCAB, (8, 256))
        model(noise, noise).backward()
        optimizer.step()
    model.load_state_dict(start)
    loader = """,
        ),
    ],
    "weights fitted on held back training rows called val": [
        (
            '    torch.save(model.state_dict(), "out/final.pt")',
            """    gates = torch.optim.SGD([model.head.weight], lr=0.01)
    val_inputs, val_targets, _ = next(loader)
    for _ in range(4):
        val_loss = model(val_inputs.long(), val_targets)
        val_loss.backward()
        gates.step()
        gates.zero_grad()
    torch.save(model.state_dict(), "out/final.pt")""",
        ),
        (
            "    for step, (inputs, targets, _) in enumerate(loader):",
            """    loader = iter(loader)
    for step, (inputs, targets, _) in enumerate(loader):""",
        ),
    ],
}


@pytest.mark.parametrize("shape", WIDER)
def test_an_honest_shape_of_several_places_passes(shape: str) -> None:
    text = BASELINE
    for old, new in WIDER[shape]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    report = review(text, isolated=False)
    assert [(f.rule, f.line, f.message) for f in report.findings if f.severity != "info"] == []
    assert report.verdict == "accept"
