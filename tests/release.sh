#!/usr/bin/env bash
# Checks the output of `make release`: complete, static, small, with lists of contents; programs
# for every machine (under qemu-user if needed) find this build's boxes in a picture; images have
# the right contents and run. Run from the project's root; BUILD names the build folder (default:
# build).
set -u
build=$(realpath "${BUILD:-build}")
folder=$build/release
# shellcheck disable=SC2034 # by tests/check.sh
suite=release
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log
if [ ! -s "$folder/SHA256SUMS" ]; then skip release 'make release has not been run'; exit 0; fi
eval "$(make -s --no-print-directory print-release)"
: "${version:?}" "${programs:?}" "${imaged:?}" "${pages:?}"
shapes=models/shapes/shapes
pictures=(models/shapes/holdout/00000[0-4].jpg)

sums_hold() { (cd "$1" && sha256sum --quiet -c "$2"); } # FOLDER FILE
check sums 'a checksum differs' sums_hold "$folder" SHA256SUMS

# ---- Results of this build

found() { sed 's/.*"detections"/"detections"/' "$1"; } # FILE: detections without times and bytes
say() { # OUT LEVEL PROGRAM...: writes boxes of some pictures
  local out=$1 level=$2
  shift 2
  "$@" --memory 64M --quiet --json --cpu "$level" --algorithm direct --names $shapes.names $shapes.cfg $shapes.weights "${pictures[@]}" >"$out" 2>"$log"
}
say "$work/portable" portable "$build/run_inference" || fail 'this build' "$(tail -n 1 "$log")"
host=$(sed -n 's/.*"levels":\[\(.*\)\],"calib.*/\1/p' <("$build/mafat" doctor --json "$work") | grep -o '[a-z0-9]*' | tail -n 1)
say "$work/best" "$host" "$build/run_inference"
"$build/pack_weights" --quiet $shapes.cfg $shapes.weights "$work/packed" || fail 'this build' 'pack_weights failed'

# ---- Programs

# runs MACHINE: prints the words that start its programs; none for this machine
runs() {
  [ "$1" = "$(uname -m)" ] || case $1 in
    aarch64) command -v qemu-aarch64-static ;;
    armv7) command -v qemu-arm-static ;;
    *) return 1 ;;
  esac
}

programs_of() { # MACHINE FOLDER
  local machine=$1 bin=$2/bin doc=$2/share/doc/mafat emulator program bytes
  for program in $programs; do
    check "$machine $program: static" 'it asks for a loader' test -z "$(needs_loader "$bin/$program" && echo yes)"
    check "$machine $program: stripped" 'it has symbols' test -z "$(readelf -SW "$bin/$program" | grep -E '\.symtab|\.debug')"
  done
  bytes=$(stat -c %s "$bin/run_inference")
  check "$machine run_inference: $bytes bytes" 'more than 2.5 MB' test "$machine" != aarch64 -o "$bytes" -le 2500000
  check "$machine sums" 'a checksum differs' sums_hold "$2" share/doc/mafat/SHA256SUMS
  for page in $pages; do [ -s "$2/share/man/man${page##*.}/$page" ] || fail "$machine pages" "no $page"; done
  for library in glibc libjpeg-turbo libpng zlib liburing; do
    grep -q "^| $library |" "$doc/INSIDE.md" || fail "$machine inside" "INSIDE.md does not name $library"
  done
  while read -r file; do check "$machine ${file##*/}" 'it is not there' test -s "$doc/$file"; done < <(grep -o 'licences/[^ ]*\.txt' "$doc/INSIDE.md" | sort -u)

  if ! emulator=$(runs "$machine"); then skip "$machine runs" 'qemu-user-static is not installed'; return; fi
  # shellcheck disable=SC2086 # none or one word
  set -- $emulator
  for program in $programs; do check "$machine $program --help" 'failed' "$@" "$bin/$program" --help; done
  same "$machine" programs "$@" "$bin/run_inference"
  check "$machine run_inference: JPEGMEM is not asked" 'failed' env JPEGMEM=1 "$@" "$bin/run_inference" --memory 64M --quiet $shapes.cfg $shapes.weights "${pictures[0]}"
  if [ "$machine" = armv7 ]; then
    say "$work/said" neon "$@" "$bin/run_inference"
    near "armv7 neon" "$work/said" "$work/portable"
  fi
  check "$machine pack_weights: this build's bytes" 'they differ' \
    sh -c "$* $bin/pack_weights --quiet --force $shapes.cfg $shapes.weights $work/again && cmp $work/again $work/packed"
  check "$machine packed" 'failed' "$@" "$bin/run_inference" --memory 64M --quiet "$work/again" "${pictures[0]}"
  check "$machine memory_limit" 'failed' "$@" "$bin/memory_limit" --version
  check "$machine mafat doctor" 'failed' "$@" "$bin/mafat" doctor "$work"
}

# same MACHINE WHAT PROGRAM...: this build's boxes, to the digit, at a level of the same class. An
# aarch64 release has only neon.
same() {
  local machine=$1 level=portable
  [ "$machine" != aarch64 ] || level=neon
  if [ $level,"$host" = neon,portable ]; then skip "$machine $2: this build's boxes" 'this machine has no level of the fused class'; return; fi
  say "$work/said" $level "${@:3}"
  if [ $level = neon ]; then level=best; fi
  check "$machine $2: this build's boxes ($level)" "$(tail -n 1 "$log"); $(diff <(found "$work/said") <(found "$work/$level") | head -c 200)" \
    diff <(found "$work/said") <(found "$work/$level")
}

# Levels of the fused class, including aarch64's neon and avx2, have the same bits. armv7's level
# is plain and flushes denormals: within 1e-4.
near() { # NAME FOUND WANTED
  check "$1: this build's boxes" 'they differ by more than 1e-4' python3 - "$2" "$3" <<'PY'
import json, sys
def numbers(path):
    return [(d["label"], [d["confidence"], *(d[k] for k in ("x", "y", "w", "h") if k in d)]) for line in open(path) for d in json.loads(line)["detections"]]
found, wanted = map(numbers, sys.argv[1:])
assert wanted and len(found) == len(wanted)
assert all(f[0] == w[0] and all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in zip(f[1], w[1])) for f, w in zip(found, wanted))
PY
}

# ---- Images

images_of() { # MACHINE FOLDER IMAGE
  local machine=$1 image=$3 root=$work/root.$1 emulator bytes
  bytes=$(stat -c %s "$image")
  check "$machine image: $bytes bytes" 'more than 5 MB' test "$bytes" -le 5000000
  rm -rf "$root" && mkdir "$root"
  if ! python3 tests/oci_unpack.py "$image" "$root" >"$log" 2>&1; then fail "$machine image: digests" "$(tail -n 1 "$log")"; return; fi
  ok "$machine image: digests"
  for program in $imaged; do check "$machine image: $program" 'not the one of the archive' cmp "$root/bin/$program" "$2/bin/$program"; done
  check "$machine image: nothing else" "$(find "$root/bin" -type f)" test "$(find "$root/bin" -type f | wc -l)" = "$(wc -w <<<"$imaged")"
  if command -v skopeo >/dev/null; then
    check "$machine image: skopeo" 'it cannot be read' skopeo --insecure-policy --override-arch "$(sed -n 1p "$log")" copy "oci-archive:$image" "dir:$work/copied"
  else skip "$machine image: skopeo" 'is not installed'; fi
  if [ "$(id -u)" != 0 ]; then skip "$machine image runs" 'needs root, for chroot'; return; fi
  if ! emulator=$(runs "$machine"); then skip "$machine image runs" 'qemu-user-static is not installed'; return; fi
  mkdir -p "$root/models/shapes/holdout"
  cp $shapes.cfg $shapes.weights $shapes.names "$root/models/shapes"
  cp "${pictures[@]}" "$root/models/shapes/holdout"
  [ -z "$emulator" ] || { cp "$emulator" "$root/emulator"; emulator=/emulator; }
  # shellcheck disable=SC2086 # none or one word
  same "$machine" image chroot --userspec=65534:65534 "$root" $emulator "/bin/${imaged%% *}"
}

for archive in "$folder"/mafat-"$version"-linux-*.tar.gz; do
  machine=${archive##*-linux-} machine=${machine%.tar.gz}
  mkdir -p "$work/unpacked"
  check "$machine archive" 'tar fails' tar -xf "$archive" -C "$work/unpacked"
  programs_of "$machine" "$work/unpacked/mafat-$version-linux-$machine"
  images_of "$machine" "$work/unpacked/mafat-$version-linux-$machine" "$folder/mafat-$version-oci-$machine.tar"
done
exit "$failed"
