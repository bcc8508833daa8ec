#!/usr/bin/env bash
# Checks the examples: each prints the same in C, C++ and Python, equal to run_inference's results,
# and one line on errors. They are compiled like a user's programs, with only the headers and
# libmafat.so. Run from the project's root; BUILD names the build folder.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=examples
# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d) || exit 1
at_end 'rm -rf "$work"'
log=$work/log out=$work/out err=$work/err
shapes=models/shapes/shapes
mapfile -t pictures < <(find models/shapes/holdout -name '*.jpg' | sort)
if [ ! -e "$build/libmafat.so.0" ]; then skip 'all of them' "no $build/libmafat.so.0"; exit 0; fi

languages=(c)
read -ra cc <<<"${CC:-gcc}"
strict=(-Wall -Wextra -Wpedantic -Werror -Iinclude)
link=("$build/libmafat.so.0" "-Wl,-rpath,$build")
for source in examples/*.c; do
  name=$(basename "$source" .c)
  check "$name.c" 'it does not compile' "${cc[@]}" -std=c11 "${strict[@]}" -o "$work/$name.c" "$source" "${link[@]}"
done
if command -v g++ >/dev/null; then
  languages+=(cpp)
  for source in examples/*.cpp; do
    name=$(basename "$source" .cpp)
    check "$name.cpp" 'it does not compile' g++ -std=c++11 -Wshadow -Wconversion "${strict[@]}" -o "$work/$name.cpp" "$source" "${link[@]}"
  done
else skip 'C++' 'no g++'; fi
for one in python3 /usr/bin/python3; do
  "$one" -c 'import ctypes' 2>"$log" || continue
  languages+=(py)
  export MAFAT_LIBRARY=$build/libmafat.so.0 PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
  for source in examples/*.py; do
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$one" "$source" >"$work/$(basename "$source")"
    chmod +x "$work/$(basename "$source")"
  done
  break
done

# says NAME ARGUMENT...: prints $work/wanted, in every language
says() {
  local name=$1
  shift
  for language in "${languages[@]}"; do
    program=$work/$name.$language run "$@"
    if [ $code = 0 ] && cmp -s "$out" "$work/wanted" && [ ! -s "$err" ]; then ok "$name.$language says"; else
      fail "$name.$language says" "exit status $code; $(diff "$out" "$work/wanted" | head -n 3; head -c 300 "$err")"
    fi
  done
}
boxes() { "$build/run_inference" --quiet $shapes.cfg $shapes.weights "$1" | grep -c '%'; }

"$work/one_picture.c" $shapes.cfg $shapes.weights "${pictures[1]}" >"$work/wanted"
check 'as many boxes as run_inference' 'there are others' test "$(wc -l <"$work/wanted")" = "$(boxes "${pictures[1]}")"
says one_picture $shapes.cfg $shapes.weights "${pictures[1]}"
for picture in "${pictures[@]}"; do echo "$picture: $(boxes "$picture") boxes"; done >"$work/wanted"
says many_pictures $shapes.cfg $shapes.weights "${pictures[@]}"
sed 's/^width=.*/width=320/; s/^height=.*/height=320/' $shapes.cfg >"$work/large.cfg"
larger=$("$build/run_inference" --quiet "$work/large.cfg" $shapes.weights "${pictures[1]}" | grep -c '%')
printf '%s: %s boxes\n' $shapes.cfg "$(boxes "${pictures[1]}")" "$work/large.cfg" "$larger" >"$work/wanted"
says two_models $shapes.cfg $shapes.weights "$work/large.cfg" $shapes.weights "${pictures[1]}"

# A frame of 320 x 320 grey pixels and half of another, as rgb24.
head -c $((320 * 320 * 9 / 2)) /dev/zero | tr '\0' 'x' >"$work/frames"
echo 'frame 0: 0 boxes' >"$work/wanted"
for language in "${languages[@]}"; do
  "$work/camera.$language" $shapes.cfg $shapes.weights 320x320:rgb24 <"$work/frames" >"$out" 2>"$err"
  check "camera.$language says" "$(head -c 300 "$err")" cmp "$out" "$work/wanted"
  "$work/camera.$language" $shapes.cfg $shapes.weights 320x320:grey </dev/null >"$out" 2>"$err"
  code=$?
  expect "camera.$language, other frames" 1 'camera: expected frames like'
  "$work/camera.$language" $shapes.cfg $shapes.weights 320x320:mjpeg <"${pictures[1]}" >"$out" 2>"$err"
  code=$?
  expect "camera.$language, frames of any length" 1 'camera: expected a format whose frames have one size'
done

# ---- Errors: one line, and the next picture follows

for language in "${languages[@]}"; do
  for name in one_picture many_pictures two_models camera; do
    program=$work/$name.$language
    run; expect "$name.$language, misuse" 2 "usage: $name"
    run /nonexistent.cfg $shapes.weights $shapes.cfg $shapes.weights "${pictures[1]}"
    [ $name = one_picture ] && run /nonexistent.cfg $shapes.weights "${pictures[1]}"
    [ $name = camera ] && run /nonexistent.cfg $shapes.weights 64x48
    expect "$name.$language, no cfg" 1 "$name: /nonexistent.cfg: cannot open"
  done
  program=$work/many_pictures.$language
  run $shapes.cfg $shapes.weights /nonexistent.jpg "${pictures[1]}"
  expect "many_pictures.$language, no picture" 1 'many_pictures: /nonexistent.jpg'
  check "many_pictures.$language goes on" 'the other picture is missing' grep -q "^${pictures[1]}: " "$out"
done
exit $failed
