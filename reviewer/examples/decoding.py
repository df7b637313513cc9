"""Examples of E202: quantised weights that `load_for_eval` decodes, and what else is put on them there."""

from __future__ import annotations

_TOP = """import torch, torch.nn as nn, torch.nn.functional as F
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(64, 64)
        self.head = nn.Linear(64, 64)
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
def quantize(state):
    q, s = {}, {}
    for k, w in state.items():
        scale = w.abs().amax(dim=-1, keepdim=True).clamp_min(1e-8) / 127
        q[k] = torch.round(w / scale).clamp(-127, 127).to(torch.int8)
        s[k] = scale
    return {'q': q, 's': s}
"""
_MAIN = """def main():
    model = GPT()
    model(torch.zeros(2, 2, dtype=torch.long), torch.zeros(2, 2, dtype=torch.long)).backward()
    torch.save(quantize(model.state_dict()), 'out/final.pt')
if __name__ == '__main__':
    main()
"""


def _decoding(text: str) -> str:
    return _TOP + text + _MAIN


PLAIN = (
    _decoding("""def dequantize(obj):
    return {k: obj['q'][k].float() * obj['s'][k] for k in obj['q']}
def load_for_eval(path, device):
    model = GPT()
    model.load_state_dict(dequantize(torch.load(path, weights_only=True)))
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    state = {}
    for k, q in blob['q'].items():
        state[k] = q.float() * blob['s'][k]
    model = GPT()
    model.load_state_dict(state)
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    state = {}
    for k, q in blob['q'].items():
        s = blob['s'][k]
        w = q.to(torch.float32)
        w = w * s
        state[k] = w.to(torch.bfloat16)
    model = GPT()
    model.load_state_dict(state)
    return model.to(device).eval()
"""),
    _decoding("""def dequantize_state(obj):
    out = {}
    for name, q in obj['q'].items():
        s = obj['s'][name]
        if s.ndim > 0:
            s = s.to(dtype=torch.float32)
            out[name] = (q.float() * s.view(q.shape[0], *([1] * (q.ndim - 1)))).contiguous()
        else:
            scale = float(s.item())
            out[name] = (q.float() * scale).contiguous()
    return out
def load_for_eval(path, device):
    model = GPT()
    model.load_state_dict(dequantize_state(torch.load(path, weights_only=True)), strict=True)
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    model = GPT()
    model.load_state_dict({k: torch.mul(q.float(), blob['s'][k]) for k, q in blob['q'].items()})
    return model.to(device).eval()
"""),
)
MORE = (
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    model = GPT()
    model.load_state_dict({k: q.float() / 127.0 * blob['s'][k] for k, q in blob['q'].items()})  # ! review
    return model.to(device).eval()
"""),
    _decoding("""def dequantize(obj):
    return {k: obj['q'][k].float() * obj['s'][k] * 1.1 for k in obj['q']}  # ! review
def load_for_eval(path, device):
    model = GPT()
    model.load_state_dict(dequantize(torch.load(path, weights_only=True)))
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    state = {k: q.float() * blob['s'][k] for k, q in blob['q'].items()}
    state['head.weight'] = state['head.weight'] * blob['s']['head.weight']  # ! review
    model = GPT()
    model.load_state_dict(state)
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    state = {k: q.float() + blob['s'][k] for k, q in blob['q'].items()}  # ! review
    model = GPT()
    model.load_state_dict(state)
    return model.to(device).eval()
"""),
    _decoding("""def load_for_eval(path, device):
    blob = torch.load(path, weights_only=True)
    state = {k: q.float() * blob['gain'][k] for k, q in blob['w'].items()}  # ! review
    model = GPT()
    model.load_state_dict(state)
    return model.to(device).eval()
""").replace("quantize(model.state_dict())", "{'w': model.state_dict(), 'gain': fit(model)}"),
)
