#!/bin/sh
# One network under many memory limits, by many programs: --help, and experiments/sweep/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} exec python3 -B -S -m sweep "$@"
