#!/usr/bin/env bash
# Tests the Python package (python/): its unit tests, and installation without a network. Run from
# the project's root; BUILD names the build folder (default: build). Skipped if no Python has
# NumPy.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=python
# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d) || exit 1
at_end 'rm -rf "$work"'
log=$work/log

python=
for one in python3 /usr/bin/python3; do
  if "$one" -c 'import numpy' 2>"$log"; then python=$one && break; fi
done
if [ -z "$python" ]; then skip 'unit tests' 'no Python with NumPy'; exit 0; fi
if [ ! -e "$build/libmafat.so.0" ]; then skip 'unit tests' "no $build/libmafat.so.0"; exit 0; fi
export MAFAT_LIBRARY=$build/libmafat.so.0 MAFAT_BUILD=$build PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/python

# ---- A check for each test

"$python" -W error -m unittest discover -v -s python/tests >"$work/tests" 2>&1
told=0
while read -r name how; do
  told=$((told + 1))
  case $how in ok) ok "$name" ;; skipped*) skip "$name" "${how#skipped }" ;; *) fail "$name" "$how: $(grep -A 12 "^[A-Z]*: $name " "$work/tests")" ;; esac
done < <(sed -n 's/^\(test_[a-z0-9_]*\) (.*) \.\.\. \(.*\)$/\1 \2/p' "$work/tests")
check 'all tests' "of $told it is known how they went" grep -q "^Ran $told tests" "$work/tests"

# ---- The blocks of doc/python.md, from top to bottom

if ! "$python" -c 'import PIL' 2>"$log"; then skip doc/python.md 'no Pillow'; else
  mkdir "$work/doc" && ln -s "$PWD/models" "$work/doc/models"
  awk '/^```python$/ { on = 1; next } /^```$/ { on = 0 } on' doc/python.md >"$work/doc/blocks.py"
  check doc/python.md 'a block fails' sh -c 'cd "$1" && "$2" -W error blocks.py' - "$work/doc" "$python"
  check 'its picture' 'it is not there' test -s "$work/doc/python.jpg"
fi

# ---- Installed without a network, and without a compiler

cp -r python "$work/python"
unset PYTHONPATH PYTHONDONTWRITEBYTECODE
if ! "$python" -c 'import ensurepip, setuptools, venv, wheel' 2>"$log" || ! "$python" -m venv --system-site-packages "$work/v" >"$log" 2>&1; then
  skip install 'no venv, no setuptools, or no wheel'
else
  # shellcheck disable=SC2317 # called by check
  install() (cd "$work/python" && PATH=/nonexistent "$work/v/bin/pip" install --disable-pip-version-check --no-build-isolation --no-index .)
  check install 'pip fails' install
  check installed 'it cannot be imported' "$work/v/bin/python" -c "import mafat; assert mafat.__file__.startswith('$work/v/')"
  cat >"$work/detect.py" <<'PY'
import sys, mafat
with mafat.open(*sys.argv[1:3]) as model:
    print(len(model.detect(sys.argv[3])))
PY
  picture=$(find models/shapes/holdout -name '*.jpg' | sort | head -n 1)
  boxes=$("$build/run_inference" --quiet models/shapes/shapes.cfg models/shapes/shapes.weights "$picture" | grep -c '%')
  found=$("$work/v/bin/python" "$work/detect.py" models/shapes/shapes.cfg models/shapes/shapes.weights "$picture" 2>"$log")
  check 'installed, boxes' "$boxes expected, $found found" test "$found" = "$boxes"
fi
exit $failed
