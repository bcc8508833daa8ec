#!/usr/bin/env bash
# What doc/forks.md says of the two Darknets and of this program: every formula, figure and refusal.
set -u
export BUILD=${BUILD:-build}
. tests/check.sh
if ! command -v python3 >/dev/null; then skip forks 'needs python3'; else python3 tests/forks/forks.py || failed=1; fi
exit $failed
