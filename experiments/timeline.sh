#!/bin/sh
# Memory and swap over the time of one inference; see --help and experiments/timeline/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Started by its folder: -m would also look for modules in the current folder.
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} exec python3 -B -S "$here/timeline" "$@"
