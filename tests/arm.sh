#!/usr/bin/env bash
# tests/arm.sh TRIPLET...: tests the cross-builds in BUILD/TRIPLET under qemu-user: unit tests,
# kernels, and inference, whose outputs are compared with BUILD's. The fused class has the same
# bits everywhere; plain ones agree within 1e-5 of the largest output. Set MAFAT_MODELS for
# yolo-fastest as well.
set -u
export MAFAT_TEST_SIZE=${MAFAT_TEST_SIZE:-check} CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-20} # emulation is slow
BUILD=${BUILD:-build}
dir=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$dir"'
photo=models/shapes/holdout/000000.jpg
tiles=(--plan 4x4/4/3x5 --threads 2)

# shellcheck source=tests/arm/emulate.sh
. tests/arm/emulate.sh

# ---- inputs, and the host's outputs ----

side() { sed -n "s/^ *$1 *= *\([0-9]*\).*/\1/p" "$2" | head -n 1; } # width or height of a cfg

# heads CFG: for each head the number of layers up to it
heads() { awk '/^\[/ { if ($1 ~ /^\[(yolo|region|detection)\]/) print n; n++ }' "$1"; }

models=(models/shapes/shapes)
if [ -n "${MAFAT_MODELS:-}" ]; then models+=("$MAFAT_MODELS/yolo-fastest-1.1"); else
  skip "arm yolo-fastest" "MAFAT_MODELS does not name the folder with the trained networks"
fi

# infer OUT MODEL ALGORITHM OPTION... -- PROGRAM...: writes each head's output to OUT.LAYERS and a
# JSON line to OUT.json
infer() {
  local out=$1 model=$2 options=(--algorithm "$3") layers
  shift 3
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  for layers in $(heads "$model.cfg"); do
    "$@" --memory 1G --quiet --json --layers "$layers" --input "$dir/$(basename "$model").raw" \
      --dump-output "$out.$layers" "${options[@]}" "$model.cfg" "$model.weights" >"$out.json" || return 1
  done
}

# Only detections: times and bytes differ between machines.
detections() { sed 's/.*"detections"/"detections"/' "$1"; }

host_level=
for model in "${models[@]}"; do
  name=$(basename "$model")
  "$BUILD/arm_floats" picture $photo "$(side width "$model.cfg")" "$(side height "$model.cfg")" \
    "$dir/$name.raw" "$dir/$name.ppm" || exit 1
  for algorithm in direct winograd; do
    infer "$dir/$name.best.$algorithm" "$model" $algorithm -- "$BUILD/run_inference" || exit 1
    infer "$dir/$name.portable.$algorithm" "$model" $algorithm --cpu portable -- "$BUILD/run_inference" || exit 1
  done
  host_level=$(sed 's/.*"cpu": *"\([a-z0-9]*\)".*/\1/' "$dir/$name.best.direct.json")
done
"$BUILD/run_inference" --json --quiet --cpu portable models/shapes/shapes.cfg models/shapes/shapes.weights \
  "$dir/shapes.ppm" >"$dir/picture.json" || exit 1
"$BUILD/pack_weights" --quiet models/shapes/shapes.cfg models/shapes/shapes.weights "$dir/shapes.packed" || exit 1

# ---- the same, emulated ----

# outputs TRIPLET MODEL LEVEL ALGORITHM EXPECTED TOLERANCE OPTION...
outputs() {
  local triplet=$1 model=$2 level=$3 algorithm=$4 expected=$5 tolerance=$6 layers text
  shift 6
  local model_name what out
  model_name=$(basename "$model")
  what="$triplet $model_name $level $algorithm${*:+ $*}"
  out=$dir/$triplet.$model_name.$level
  if ! infer "$out" "$model" "$algorithm" --cpu "$level" "$@" -- emulate "$triplet" "$BUILD/$triplet/run_inference" 2>"$out.err"; then
    fail "$what" "$(tail -n 1 "$out.err")"
    return
  fi
  if ! grep -q "\"cpu\": *\"$level\"" "$out.json"; then
    fail "$what" "ran at another level"
    return
  fi
  for layers in $(heads "$model.cfg"); do
    if text=$("$BUILD/arm_floats" compare "$out.$layers" "$dir/$model_name.$expected.$algorithm.$layers" "$tolerance" 2>&1); then
      ok "$what, $layers layers: $text"
    else
      fail "$what, $layers layers" "$text"
    fi
  done
}

inference() { # TRIPLET
  local triplet=$1 model expected tolerance
  for model in "${models[@]}"; do
    outputs "$triplet" "$model" portable direct portable 1e-5
    case $triplet,$host_level in
    aarch64*,portable)
      skip "$triplet neon" "the host has no level of the fused class to compare with"
      continue
      ;;
    aarch64*) expected=best tolerance=0 ;;
    *) expected=portable tolerance=1e-5 ;;
    esac
    outputs "$triplet" "$model" neon direct $expected $tolerance
    outputs "$triplet" "$model" neon direct $expected $tolerance "${tiles[@]}"
    outputs "$triplet" "$model" neon winograd $expected $tolerance "${tiles[@]}"
  done
}

# From a picture to boxes: the plain class, reading and detecting use only IEEE arithmetic.
picture() { # TRIPLET
  local triplet=$1 out=$dir/$1.picture
  if emulate "$triplet" "$BUILD/$triplet/run_inference" --memory 1G --json --quiet --cpu portable \
    models/shapes/shapes.cfg models/shapes/shapes.weights "$dir/shapes.ppm" >"$out" 2>"$out.err" &&
    grep -q '"confidence"' "$out" && diff <(detections "$out") <(detections "$dir/picture.json") >"$out.err"; then
    ok "$triplet picture: the host's boxes"
  else
    fail "$triplet picture" "$(head -n 3 "$out.err")"
  fi
}

# A packed file has the same bytes on every machine; runs with streamed and kept weights give the
# same bits.
packed() { # TRIPLET
  local triplet=$1 out=$dir/$1.packed model=models/shapes/shapes what file layers
  local pack=(emulate "$triplet" "$BUILD/$triplet/pack_weights" --quiet) run=(emulate "$triplet" "$BUILD/$triplet/run_inference")
  if "${pack[@]}" $model.cfg $model.weights "$out" 2>"$out.err" && cmp "$out" "$dir/shapes.packed" 2>"$out.err" &&
    "${pack[@]}" --check "$out" 2>"$out.err"; then
    ok "$triplet pack_weights: the host's bytes"
  else
    fail "$triplet pack_weights" "$(tail -n 1 "$out.err")"
    return
  fi
  infer "$out.kept" $model direct --plan 1x1/NoCut -- "${run[@]}" 2>"$out.err"
  for file in $model.weights "$out"; do
    for layers in $(heads $model.cfg); do
      what="$triplet weights read while running, ${file##*.}, $layers layers"
      if "${run[@]}" --memory 1G --quiet --json --layers "$layers" --input "$dir/shapes.raw" --algorithm direct \
        --plan rows4:loaded/5/panels:streamed --dump-output "$out.read" $model.cfg "$file" >"$out.json" 2>"$out.err" &&
        cmp "$out.read" "$out.kept.$layers" 2>"$out.err"; then
        ok "$what: the bits of weights that are kept"
      else
        fail "$what" "$(tail -n 1 "$out.err")"
      fi
    done
  done
}

# Sums of bytes are exact: the host's integers at every level and plan.
integers() { # TRIPLET
  local triplet=$1 model bytes level plan out=$dir/$1.numbers
  if [ ! -r "${MAFAT_MODELS:-}/tflite/kws_ref_model.tflite" ]; then
    skip "$triplet integers" "MAFAT_MODELS names no folder with tflite/"
    return
  fi
  while read -r model bytes; do
    head -c "$bytes" models/shapes/shapes.weights >"$out.raw"
    "$BUILD/run_inference" --quiet --decode none --input "$out.raw" --dump-output "$out.host" "$MAFAT_MODELS/tflite/$model.tflite" || exit 1
    for level in neon portable; do
      for plan in 1x1/NoCut rows2/NoCut; do
        if emulate "$triplet" "$BUILD/$triplet/run_inference" --memory 1G --quiet --decode none --cpu $level --plan $plan --threads 2 \
          --input "$out.raw" --dump-output "$out" "$MAFAT_MODELS/tflite/$model.tflite" 2>"$out.err" && cmp "$out" "$out.host" 2>"$out.err"; then
          ok "$triplet $model $level $plan: the host's numbers"
        else
          fail "$triplet $model $level $plan" "$(tail -n 1 "$out.err")"
        fi
      done
    done
  done <<'END'
kws_ref_model 490
vww_96_int8 27648
pretrainedResnet_quant 3072
mobilenet_v1_0.25_128_quant 49152
END
}

# More memory than a 32-bit process can address must not wrap to less.
budget() { # TRIPLET
  local triplet=$1 out=$dir/$1.budget bytes least=1073741824 most=9223372036854775807
  [ "${triplet%%-*}" = arm ] && most=4294967295
  emulate "$triplet" "$BUILD/$triplet/run_inference" --json --quiet models/shapes/shapes.cfg \
    models/shapes/shapes.weights "$dir/shapes.ppm" >"$out" 2>&1
  bytes=$(sed -n 's/.*"memory_budget_bytes": *\([0-9a-z]*\).*/\1/p' "$out")
  if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)" -lt 2097152 ]; then
    skip "$triplet budget" "less than 2 GB available"
  elif [ "$bytes" = null ] || { [ -n "$bytes" ] && [ "$bytes" -ge $least ] && [ "$bytes" -le "$most" ]; }; then
    ok "$triplet budget"
  else
    fail "$triplet budget" "$bytes bytes; $(tail -n 1 "$out")"
  fi
}

# armv7 does not guarantee NEON.
without_neon() { # TRIPLET
  local triplet=$1 out=$dir/$1.without
  QEMU_CPU=max,neon=off emulate "$triplet" "$BUILD/$triplet/run_inference" --memory 1G --json --quiet --cpu neon \
    models/shapes/shapes.cfg models/shapes/shapes.weights "$dir/shapes.ppm" >"$out" 2>&1
  if grep -q '"cpu": *"portable"' "$out"; then ok "$triplet without NEON: portable"; else
    fail "$triplet without NEON" "$(tail -n 1 "$out")"
  fi
}

# The last line of a test program has the result.
program() { # TRIPLET PROGRAM ARGUMENT...
  local triplet=$1 name="$1 ${*:2}" out=$dir/$1.program
  if emulate "$triplet" "$BUILD/$triplet/$2" "${@:3}" >"$out" 2>&1; then
    ok "$name: $(tail -n 1 "$out")"
  else
    tail -n 20 "$out"
    fail "$name" "$(tail -n 1 "$out")"
  fi
}

# A process for each suite, with its own timeout; a crash affects only its suite. These suites use
# no child for each test: under qemu-user a child translates all code again, which takes longer
# than the tests.
unit_tests() { # TRIPLET
  local each
  for each in $(emulate "$1" "$BUILD/$1/unit_tests" --list); do
    case $each in
    kernels | fusion | joins) CK_FORK=no program "$1" unit_tests "$each" ;;
    *) program "$1" unit_tests "$each" ;;
    esac
  done
}

everything() { # TRIPLET
  emulate "$1" "$BUILD/$1/run_inference" --version >/dev/null || {
    fail "$1" "run_inference does not start under qemu-user"
    return "$failed"
  }
  inference "$1"
  picture "$1"
  packed "$1"
  integers "$1"
  budget "$1"
  [ "${1%%-*}" = arm ] && without_neon "$1"
  if [ -x "$BUILD/$1/kernel_check" ]; then program "$1" kernel_check; else skip "$1 kernel_check" "not built"; fi
  unit_tests "$1"
  return "$failed"
}

# All CPUs at once: emulation is slow.
declare -A jobs
for triplet in "$@"; do
  everything "$triplet" >"$dir/$triplet.log" 2>&1 &
  jobs[$triplet]=$!
done
status=$failed
for triplet in "$@"; do
  wait "${jobs[$triplet]}" || status=1
  cat "$dir/$triplet.log"
done
exit "$status"
