#!/usr/bin/env bash
# Compares predicted and measured bytes. Without an option a sample of runs, in less than a minute;
# --whole: more than 200 runs of all networks; --limits: predicted charge against the least memory
# limit that passes (root). Other arguments are passed to resident.py or, after --limits, to
# limits.py; both have --help. BUILD names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build}
# shellcheck source=tests/check.sh
. tests/check.sh
if ! command -v python3 >/dev/null; then
  skip predictor 'needs python3'
  exit 0
fi
if [ "${1-}" = --limits ]; then
  shift
  exec python3 tests/predictor/limits.py "$@"
fi
exec python3 tests/predictor/resident.py "$@"
