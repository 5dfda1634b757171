#!/usr/bin/env bash
# Fails if a C++ file is not formatted as .clang-format says; --fix formats instead.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then
  mode=(-i)
fi
# Expected outputs stay byte for byte what was recorded.
git ls-files -z '*.h' '*.cpp' '*.cu' ':!tests/golden' |
  xargs -0 -r clang-format-19 "${mode[@]}"
