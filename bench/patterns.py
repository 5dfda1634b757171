#!/usr/bin/env python3
"""Times single fused patterns: gcompile and torch.compile, as a share of the copy bandwidth of the same run.

    bench/patterns.py --gcompile build/bundle/bin/gcompile [--only softmax] [--dtype bfloat16]

Needs PyTorch with CUDA and safetensors. Each pattern is exported, compiled and run by gcompile on the same inputs, its
outputs compared with a float64 evaluation, and timed back to back on the device. torch.compile is timed as ten calls in
one CUDA graph, so that neither's launches count. Prints a table, and writes it as JSON with --json.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def add_layer_norm(x, y, w, b):
    return F.layer_norm(x + y, x.shape[-1:], w, b)


def softmax(x):
    return torch.softmax(x, -1)


def rms_norm(x, w):
    return F.rms_norm(x, x.shape[-1:], w)


def silu_mul(x, y):
    return F.silu(x) * y


def bias_gelu(x, w):
    return F.gelu(x + w)


def column_sum(x):
    return x.sum(0)


def full_sum(x):
    return x.sum()


def cumulative_sum(x):
    return torch.cumsum(x, -1)


def add_transposed(x):
    return x + x.transpose(-1, -2)


# name: (function, operands: m for a matrix, r for a row; bytes moved as multiples of the matrix)
PATTERNS = {
    "add+LayerNorm": (add_layer_norm, "mmrr", 3),
    "softmax": (softmax, "m", 2),
    "RMSNorm": (rms_norm, "mr", 2),
    "SiLU*mul": (silu_mul, "mm", 3),
    "bias+GELU": (bias_gelu, "mr", 2),
    "column sum": (column_sum, "m", 1),
    "full sum": (full_sum, "m", 1),
    "cumulative sum": (cumulative_sum, "m", 2),
    "x + x^T": (add_transposed, "m", 2),
}
SIZES = [(16384, 4096), (8192, 50257)]


class Wrapped(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *operands):
        return self.function(*operands)


def time_runs(function, repetitions=30):
    """Median seconds of a call, by events, after warm-up."""
    for _ in range(5):
        function()
    times = []
    for _ in range(repetitions):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[repetitions // 2]


def time_graph(function, calls=10):
    """Median seconds of a call, of `calls` recorded in one CUDA graph."""
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            function()
    return time_runs(graph.replay) / calls


def copy_bandwidth():
    source = torch.randint(255, (4 << 30,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / time_runs(lambda: target.copy_(source))


def run_gcompile(program, module, operands, folder):
    """Seconds of gcompile's run, or a message where it fails or disagrees."""
    exported = torch.export.export(module, tuple(x.cpu() for x in operands))
    torch.export.save(exported, folder / "pattern.pt2")
    save_file({str(i): x.cpu().contiguous() for i, x in enumerate(operands)}, folder / "inputs.safetensors")
    exact = module(*(x.double() for x in operands)).to(operands[0].dtype)
    save_file({"0": exact.cpu().contiguous()}, folder / "outputs.safetensors")
    del exact
    command = [program, folder / "pattern.pt2", "--device", "cuda", "--mode", "reduce-overhead", "--poison", "--inputs",
               folder / "inputs.safetensors", "--expect", folder / "outputs.safetensors", "--rtol", "2e-2", "--atol",
               "2e-2", "--json", folder / "summary.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr or done.stdout).strip()[-400:]
    return json.loads((folder / "summary.json").read_text())["median_run_seconds"], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gcompile", required=True)
    parser.add_argument("--only", help="one pattern")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--no-torch-compile", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)
    bandwidth = copy_bandwidth()
    rows = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {arguments.dtype}; "
          f"copy {bandwidth / 1e12:.2f} TB/s", flush=True)
    print(f"{'pattern':<16}{'size':<14}{'gcompile':>10}{'torch.compile':>15}{'ratio':>8}")
    for name, (function, kinds, passes) in PATTERNS.items():
        for rows_, columns in SIZES:
            if arguments.only not in (None, name):
                continue
            if name == "x + x^T":
                rows_ = columns = 16384
                if any(row["pattern"] == name for row in rows):
                    continue
            torch.manual_seed(0)
            shapes = {"m": (rows_, columns), "r": (columns,)}
            operands = [torch.randn(shapes[kind], device="cuda").to(dtype) for kind in kinds]
            module = Wrapped(function)
            numbytes = passes * rows_ * columns * dtype.itemsize
            with tempfile.TemporaryDirectory() as folder:
                ours, problem = run_gcompile(arguments.gcompile, module, operands, pathlib.Path(folder))
            theirs = None
            if not arguments.no_torch_compile:
                compiled = torch.compile(function, dynamic=False)
                theirs = time_graph(lambda: compiled(*operands))
            share = [numbytes / seconds / bandwidth if seconds else None for seconds in (ours, theirs)]
            rows.append({"pattern": name, "rows": rows_, "columns": columns, "dtype": arguments.dtype,
                         "seconds": ours, "share": share[0], "torch_compile_seconds": theirs,
                         "torch_compile_share": share[1], "problem": problem})
            cells = [f"{s:.0%}" if s else "-" for s in share]
            ratio = f"{theirs / ours:.2f}" if ours and theirs else "-"
            print(f"{name:<16}{f'{rows_}x{columns}':<14}{cells[0]:>10}{cells[1]:>15}{ratio:>8}", problem, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                                              "copy_bytes_per_second": bandwidth, "rows": rows}, indent=1))
    return 0 if all(not row["problem"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
