#!/bin/sh
# Time and memory of mafat and other programs: experiments/peers/README.md. --help lists the
# options.
set -eu
exec python3 experiments/peers/run.py "$@"
