#!/usr/bin/env bash
# Installs what is missing, builds gcompile, compiles and runs an exported model on the CPU, and compares
# its outputs with PyTorch's.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset release
cmake --build --preset release --target gcompile

model=examples/models/mlp
set -x
build/release/bin/gcompile $model/model.pt2 --device cpu \
  --inputs $model/inputs.safetensors --expect $model/outputs.safetensors
