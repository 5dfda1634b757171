# gcompile with the CUDA Toolkit beside it.
#   docker build -t gcompile .
#   docker run --rm --gpus all -v "$PWD":/models gcompile /models/model.pt2
FROM nvidia/cuda:13.0.0-devel-ubuntu24.04

WORKDIR /opt/gcompile
# The packages first, in a layer of their own that a change of the sources leaves alone.
COPY scripts/setup.sh scripts/
RUN scripts/setup.sh
COPY . .
RUN scripts/run_example.sh

ENTRYPOINT ["/opt/gcompile/build/release/bin/gcompile"]
