#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy over the given files, or over all of the project.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --with-linters
cmake --preset dev
# Generated headers must exist before a file that includes them can be read.
cmake --build --preset dev

if [[ $# -eq 0 ]]; then
  mapfile -t files < <(git ls-files '*.cpp')
  set -- "${files[@]}"
fi
# The precompiled header is GCC's: clang reads its source instead.
printf '%s\0' "$@" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/dev --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-gch
