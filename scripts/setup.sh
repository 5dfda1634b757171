#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that gcompile is built with and that are missing, after listing
# them. Does nothing, and does not touch the network, when all are there.
#   scripts/setup.sh [--dry-run] [--with-linters]
#     --dry-run       list what is missing and stop
#     --with-linters  clang-format and clang-tidy as well
set -euo pipefail

packages=(
  "g++              the C++20 compiler"
  "cmake            configures the build"
  "ninja-build      runs the build"
  "pkgconf          finds libraries without CMake files"
  "llvm-19-dev      LLVM: the CPU's code generator and JIT"
  "libmlir-19-dev   MLIR: the compiler's intermediate representation"
  "mlir-19-tools    mlir-tblgen, which generates the dialects' classes"
  "lld-19           links against MLIR in seconds"
  "llvm-19-tools    lit and FileCheck, for the tests"
  "libgtest-dev     GoogleTest, for the tests"
  "libgmock-dev     GoogleMock, for the tests"
  "libcli11-dev     command-line parsing"
  "libfmt-dev       text formatting"
  "nlohmann-json3-dev  JSON reading and writing"
  "zlib1g-dev       decompression"
  "libxxhash-dev    keys of the compile cache"
  "libopenblas-dev  matrix products on the CPU"
)
linters=(
  "clang-format-19  the code's formatting"
  "clang-tidy-19    static checks"
)

fail() {
  echo "setup: $*" >&2
  exit 1
}

dry_run=false
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=true ;;
    --with-linters) packages+=("${linters[@]}") ;;
    *) fail "unknown option $argument" ;;
  esac
done

command -v dpkg-query >/dev/null ||
  fail "this script knows Debian and Ubuntu only; docs/building.md lists what to install elsewhere"

missing=()
for entry in "${packages[@]}"; do
  read -r name reason <<<"$entry"
  state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
  if [[ $state != installed ]]; then
    [[ ${#missing[@]} -gt 0 ]] || echo "setup: these packages are missing:"
    printf '  %-20s %s\n' "$name" "$reason"
    missing+=("$name")
  fi
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: every package is there"
  exit
fi
if $dry_run; then
  exit
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail "not root and no sudo; run as root: apt-get update && apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "setup: installing them, and what they depend on, with apt-get"
"${as_root[@]}" apt-get update
for name in "${missing[@]}"; do
  apt-cache show --no-all-versions "$name" >/dev/null 2>&1 ||
    fail "apt does not know $name; gcompile needs Debian 12 (12.11 or later), Debian 13 or Ubuntu 24.04 (with universe)"
done
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --no-install-recommends "${missing[@]}"
