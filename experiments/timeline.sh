#!/bin/sh
# Memory and swap over the time of one inference: --help, and experiments/timeline/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# By its folder, not by -m: that would look for modules in the folder one is in, too.
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} exec python3 -B -S "$here/timeline" "$@"
