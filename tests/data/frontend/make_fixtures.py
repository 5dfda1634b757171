"""Writes the recorded programs of this folder with the PyTorch that runs it.

    python make_fixtures.py TAG [--reference]

TAG ends up in the file names ("torch2.6"). --reference also writes the weights,
inputs and outputs, which are the same in every version (seed 0).
"""
import json
import struct
import sys

import torch
from torch import nn
from torch.export import Dim, export, save

NAMES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL", torch.float16: "F16",
         torch.bfloat16: "BF16", torch.uint8: "U8"}


def write_safetensors(path, tensors):
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        blob = bytes(tensor.detach().contiguous().clone().untyped_storage())
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


class Net(nn.Module):
    """Tied, non-contiguous and shared weights, every kind of buffer, a mutation."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.fc1 = nn.Linear(8, 8, bias=False)
        self.fc2 = nn.Linear(8, 8, bias=False)
        self.fc2.weight = self.fc1.weight
        self.mix = nn.Parameter(torch.randn(8, 4).t())
        both = torch.randn(16)
        self.register_buffer("head", both[:8])
        self.register_buffer("tail", both[8:])
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 8), persistent=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls.add_(1)
        y = torch.relu(self.bn(self.conv(x))).mean((2, 3)) @ self.mix
        y = self.fc2(torch.relu(self.fc1(y))) * self.scale + self.head - self.tail
        y = y.masked_fill(y < -2, float("-inf")) + torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])
        return y, {"calls": self.calls * 2}


class Mlp(nn.Module):
    """A dynamic batch, and inputs in a container."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))

    def forward(self, batch, scale=2.0):
        y = self.layers(torch.cat([batch["a"], batch["b"]], 1))
        return y.reshape(y.shape[0] * 3) * scale


class Cond(nn.Module):
    def forward(self, x, flag):
        return torch.cond(flag, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


def cases():
    torch.manual_seed(0)
    batch = Dim("batch", min=2, max=64)
    net = Net()
    net.bn.running_mean.normal_()
    net.bn.running_var.uniform_(0.5, 2)
    a, b = torch.randn(4, 2), torch.randn(4, 4)
    yield "net", net.eval(), (torch.randn(2, 3, 8, 8),), {}, None
    yield ("mlp", Mlp().eval(), ({"a": a, "b": b},), {"scale": 0.5},
           {"batch": {"a": {0: batch}, "b": {0: batch}}, "scale": None})
    yield "cond", Cond().eval(), (torch.randn(3, 2), torch.tensor(True)), {}, None


def main():
    tag, reference = sys.argv[1], "--reference" in sys.argv
    for name, model, args, kwargs, dynamic in cases():
        program = export(model, args, kwargs, dynamic_shapes=dynamic)
        save(program, f"{name}.{tag}.pt2")
        if name == "net":
            torch.save(model.state_dict(), f"net.{tag}.state_dict.pt")
        if not reference:
            continue
        weights = dict(model.state_dict())
        weights.update((n, b) for n, b in model.named_buffers() if n not in weights)
        write_safetensors(f"{name}.weights.safetensors", weights)
        leaves, _ = torch.utils._pytree.tree_flatten((args, kwargs))
        write_safetensors(f"{name}.inputs.safetensors",
                          {str(i): x for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)})
        with torch.no_grad():
            outputs, _ = torch.utils._pytree.tree_flatten(model(*args, **kwargs))
        write_safetensors(f"{name}.outputs.safetensors", {str(i): x for i, x in enumerate(outputs)})
    if reference:
        torch.save(unusual_values(), f"unusual.{tag}.pt")


def unusual_values():
    """Storages and globals that a state dict rarely has."""
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    return {
        "fp8": torch.tensor([1.0, -2.0, 0.5]).to(torch.float8_e4m3fn),
        "u16": torch.tensor([1, 65535], dtype=torch.uint16),
        "bf16": torch.tensor([1.0, -0.5], dtype=torch.bfloat16),
        "c64": torch.tensor([1 + 2j]),
        "flags": torch.tensor([True, False]),
        "conj": torch.tensor([1 + 2j]).conj(),
        "column": base[:, 1],
        "expanded": torch.tensor([7.0]).expand(2, 3),
        "empty": torch.empty(0, 3),
        "parameter": nn.Parameter(base),
        "sparse": torch.eye(2).to_sparse(),
        "meta": {"step": 3, "big": 1 << 40, "lr": 0.1, "names": ["a", "b"], "size": base.shape,
                 "dtype": torch.float16, "device": torch.device("cuda", 0), "none": None,
                 "pair": (True, False), "set": {1}},
    }


main()
