#!/usr/bin/env bash
# Checks doc/forks.md: every formula, figure and refusal of both Darknets and of mafat.
set -u
export BUILD=${BUILD:-build}
. tests/check.sh
if ! command -v python3 >/dev/null; then skip forks 'needs python3'; else python3 tests/forks/forks.py || failed=1; fi
exit $failed
