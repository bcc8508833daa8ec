#!/bin/sh
# Time and memory beside other programs, end to end, interleaved, medians:
# see experiments/peers/README.md. Options are run.py's (--help lists them).
set -eu
exec python3 experiments/peers/run.py "$@"
