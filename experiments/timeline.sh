#!/bin/sh
# Memory and swap over the time of one inference: --help, and experiments/timeline/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} exec python3 -B -m timeline "$@"
