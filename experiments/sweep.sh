#!/bin/sh
# Runs a network under many memory limits by many programs; see --help and
# experiments/sweep/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Started by its folder: -m would also look for modules in the current folder.
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} exec python3 -B -S "$here/sweep" "$@"
