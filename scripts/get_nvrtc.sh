#!/usr/bin/env bash
# Fetches NVRTC, NVIDIA's CUDA C++ compiler library, and the CUDA headers for machines without the CUDA
# Toolkit: the wheels nvidia-cuda-nvrtc and nvidia-cuda-runtime of PyPI, some 90 MB. Prints the folder that
# then holds lib/ and include/: $XDG_DATA_HOME/gcompile/cuda, where gcompile looks. Only the CUDA device
# needs it, and it needs no GPU. NVIDIA's licence is beside the files.
#   scripts/get_nvrtc.sh
set -euo pipefail

wheels=(nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96)
destination=${XDG_DATA_HOME:-$HOME/.local/share}/gcompile/cuda

fail() {
  echo "get_nvrtc: $*" >&2
  exit 1
}

if [[ $(cat "$destination/VERSIONS" 2>/dev/null) == "${wheels[*]}" ]]; then
  echo "$destination"
  exit
fi

command -v python3 >/dev/null || fail "python3 is missing: apt-get install python3 python3-venv"
mkdir -p "$(dirname "$destination")"
# Beside the destination, so that the finished folder appears there by one rename.
scratch=$(mktemp -d "$destination.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
  python3 -m venv "$scratch/venv" >/dev/null 2>&1 ||
    fail "python3 has neither pip nor venv: apt-get install python3-venv"
  pip=("$scratch/venv/bin/python" -m pip)
fi

echo "get_nvrtc: fetching ${wheels[*]}" >&2
"${pip[@]}" download --quiet --no-deps --only-binary=:all: --dest "$scratch/wheels" "${wheels[@]}" >&2 ||
  fail "could not fetch the wheels; with a CUDA Toolkit 13 installed they are not needed"
for wheel in "$scratch"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$scratch/unpacked"
done

cuda=$scratch/unpacked/nvidia/cu13
[[ -e $cuda/lib/libnvrtc.so.13 && -e $cuda/include/cuda_fp16.h ]] ||
  fail "the wheels do not hold what they used to"
cp "$scratch"/unpacked/nvidia_cuda_nvrtc-*.dist-info/licenses/License.txt "$cuda/"
rm -f "$cuda"/lib/*.alt.so* # a second copy of the compiler, 110 MB, which nothing loads
echo "${wheels[*]}" >"$cuda/VERSIONS"
rm -rf "$destination"
mv "$cuda" "$destination"
echo "$destination"
