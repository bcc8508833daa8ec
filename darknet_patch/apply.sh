#!/usr/bin/env bash
# Builds Darknet from Debian's source package with the patches of this folder. See --help.
set -u
unset CDPATH # cd prints the folder if CDPATH is set
here=$(dirname "$(realpath "$0")") || exit 1
name=apply.sh

version=0.0.0+git20180914.61c9d02e-2
orig=darknet_${version%-*}.orig.tar.xz
debian=darknet_$version.debian.tar.xz
mirror=${MAFAT_DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=bookworm
folder=${BUILD:-build}/darknet
opencv=
unpatched=
tree=

usage() {
  cat <<END
usage: darknet_patch/$name [--build DIR] [--opencv] [--unpatched] [--source DIR]

Fetches Debian's source package darknet $version, verifies it against SHA256SUMS, applies
Debian's patches and ours and builds, with the compiler flags that Debian's build has:
DIR/darknet, DIR/libdarknet.so and DIR/libdarknet.a. What is up to date is left alone.

  --build DIR   where to; default \$BUILD/darknet, that is $folder
  --opencv      with OpenCV (libopencv-dev, g++), into DIR/opencv/; default: without, pictures
                are then decoded by stb_image and demo has no camera
  --unpatched   as Debian has it, into DIR/unpatched/, for comparisons
  --source DIR  builds nothing: the patched source into DIR, which must not be there yet
  --help        this text

MAFAT_DARKNET_SOURCE names a folder where the package's files may lie already;
MAFAT_DEBIAN_MIRROR another mirror than $mirror. The package is fetched by apt with a
list and a state folder of its own: the system's lists stay as they are.
END
}

die() { # STATUS TEXT
  say ''
  printf '%s: %s\n' "$name" "$2" >&2
  exit "$1"
}
say() { # what it does now: one line that is written over on a terminal, else a line each
  if [ -t 2 ]; then printf '\r\033[K%s' "$1" >&2; elif [ -n "$1" ]; then printf '%s\n' "$1" >&2; fi
}

while [ $# -gt 0 ]; do
  case $1 in
    --build) [ $# -gt 1 ] || die 2 "--build expects a folder"; folder=$2; shift ;;
    --build=*) folder=${1#*=} ;;
    --source) [ $# -gt 1 ] || die 2 "--source expects a folder"; tree=$2; shift ;;
    --opencv) opencv=1 ;;
    --unpatched) unpatched=1 ;;
    --help) usage; exit 0 ;;
    *) die 2 "unknown argument $1 (--help lists them)" ;;
  esac
  shift
done
[ -n "$folder" ] || die 2 "--build expects a folder"
if [ -n "$tree" ]; then
  [ ! -e "$tree" ] || die 2 "$tree is there already"
  tree=$(realpath -m "$tree")
fi
mkdir -p -- "$folder" && folder=$(cd -- "$folder" && pwd) || die 1 "cannot make $folder"

# --- libmafat, for 0003 ------------------------------------------------------

# The program gets static libraries where they exist: less is resident than with shared ones.
mafat=$(cd "${BUILD:-build}" 2>/dev/null && pwd) || mafat=
mafat_libs=()
if [ -z "$unpatched$tree" ]; then
  [ -f "$mafat/libmafat.a" ] && [ -f "$mafat/libmafat.so.0" ] || die 1 "expected libmafat.a and libmafat.so.0 in ${BUILD:-build} (make builds them, BUILD names the folder)"
  mafat_libs=("$mafat/libmafat.a")
  for lib in jpeg png z uring; do
    found=$(gcc -print-file-name=lib$lib.a)
    case $found in
      /*) mafat_libs+=("$found") ;;
      *) if [ "$(gcc -print-file-name=lib$lib.so)" != lib$lib.so ]; then mafat_libs+=("-l$lib"); fi ;;
    esac
  done
  mafat_libs+=(-Wl,--gc-sections) # unused code would separate what is resident
fi

link_program() { # OUT OBJECT-OR-ARCHIVE...: as Darknet's Makefile does
  local out=$1 extra=()
  shift
  [ -z "$opencv" ] || read -ra extra <<<"$(pkg-config --libs opencv4) -lstdc++"
  gcc -o "$out" "$@" "${mafat_libs[@]}" "${extra[@]}" -lm -pthread
}

# --- is everything built?  ------------------------------------------------

mapfile -t series <"$here/series"
[ -z "$unpatched" ] || series=()
patches=("${series[@]/#/$here/}")
sources=("$here"/*.[ch])
target=$folder${unpatched:+/unpatched}${opencv:+/opencv}
compiler=$(gcc --version 2>/dev/null | head -n 1) || true
[ -n "$compiler" ] || die 1 "no gcc here"
key=$( (printf '%s\n' "$compiler" "$opencv" "$unpatched" && cat "$here/SHA256SUMS" "$here/$name" "${patches[@]}" "${sources[@]}") | sha256sum)
is_built() {
  [ -z "$tree" ] && [ "$(cat "$target/built" 2>/dev/null)" = "$key" ] && [ -x "$target/darknet" ] && [ -f "$target/libdarknet.so" ] &&
    [ -f "$target/libdarknet.a" ] && [ -f "$target/include/darknet.h" ]
}
is_linked() { [ -n "$unpatched" ] || [ ! "$mafat/libmafat.a" -nt "$target/darknet" ]; }
if is_built && is_linked; then
  say ''
  exit 0
fi

# One build at a time. The lock is on the folder itself; a make that outlives this script keeps it.
exec 9<"$folder" || die 1 "cannot read $folder"
if ! flock -n 9; then
  say "darknet: waiting for another $name in $folder"
  flock 9
fi
rm -rf "$folder"/work.?????? # left by a killed build
work=$(mktemp -d "$folder/work.XXXXXX") || die 1 "cannot write to $folder"
building=
clean_up() {
  if [ -n "$building" ]; then
    kill "$building" 2>/dev/null
    wait "$building" 2>/dev/null # files that it still writes could not be removed
  fi
  rm -rf "$work"
}
trap 'case $BASHPID in $$) clean_up ;; esac' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if is_built; then # another build finished meanwhile, or libmafat is newer
  if ! is_linked; then
    link_program "$work/darknet" "$target/program.a" "$target/libdarknet.a" 2>"$work/log" && mv "$work/darknet" "$target/darknet" ||
      die 1 "cannot link $target/darknet: $(grep -m 1 -E 'undefined|error|cannot' "$work/log")"
    say "darknet: linked $target/darknet with $mafat/libmafat.a"
  fi
  say ''
  exit 0
fi

# --- the package's files -----------------------------------------------------

verified() { (cd "$1" 2>/dev/null && sha256sum --quiet --status -c "$here/SHA256SUMS" 2>/dev/null); }

fetch() { # into the folder $1
  local state=$work/apt new=$work/package
  command -v apt-get >/dev/null || die 1 "no apt-get here: put $orig and $debian into a folder and name it by MAFAT_DARKNET_SOURCE"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$new" || die 1 "cannot write to $folder"
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite" >"$state/sources.list"
  # Replaces all system files that apt reads or writes. As root, apt would download as a user that cannot write here.
  cat >"$state/apt.conf" <<END
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$state";
Dir::State::lists "$state/lists";
Dir::State::status "/dev/null";
Dir::Cache "$state/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
Acquire::http::Timeout "30";
END
  say "darknet: fetching the list of Debian's source packages"
  APT_CONFIG=$state/apt.conf apt-get -q update >"$work/log" 2>&1 || die 1 "cannot reach $mirror: $(tail -n 1 "$work/log")"
  say "darknet: fetching $orig"
  (cd "$new" && APT_CONFIG=$state/apt.conf apt-get -q source --download-only "darknet=$version" >"$work/log" 2>&1) ||
    die 1 "cannot fetch darknet $version from $mirror: $(tail -n 1 "$work/log")"
  verified "$new" || die 1 "what $mirror gave is not what SHA256SUMS says"
  rm -rf "$1" && mv "$new" "$1" || die 1 "cannot write to $folder"
}

package=$folder/debian
if [ -n "${MAFAT_DARKNET_SOURCE:-}" ] && verified "$MAFAT_DARKNET_SOURCE"; then
  package=$(cd "$MAFAT_DARKNET_SOURCE" && pwd)
else
  [ -z "${MAFAT_DARKNET_SOURCE:-}" ] || say "darknet: $MAFAT_DARKNET_SOURCE (MAFAT_DARKNET_SOURCE) does not have the files that SHA256SUMS names"
  verified "$package" || fetch "$package"
fi

# --- unpack, patch -----------------------------------------------------------

say "darknet: unpacking, patching"
apply() { # PATCH: ours have no context, so patch would apply them to any source; the checksum prevents it
  local base files
  base=$(sed -n '1s/^# applies to //p' "$1")
  mapfile -t files < <(sed -n 's,^--- a/\([^\t]*\).*,\1,p' "$1")
  if [ -n "$base" ] && [ "$base" != "$(cat "${files[@]}" 2>/dev/null | sha256sum | cut -d ' ' -f 1)" ]; then
    die 1 "$(basename "$1") was made for another source: make it anew (README.md)"
  fi
  patch --batch --quiet --forward --fuzz=0 --no-backup-if-mismatch -p1 <"$1" >"$work/log" 2>&1 || die 1 "$(basename "$1") does not apply: $(tail -n 1 "$work/log")"
}
mkdir "$work/source" && cd "$work/source" || die 1 "cannot write to $folder"
tar -xJf "$package/$orig" --strip-components=1 && tar -xJf "$package/$debian" || die 1 "cannot unpack $package/$orig"
while read -r patch; do apply "debian/patches/$patch"; done < <(sed 's/#.*//; /^[[:space:]]*$/d' debian/patches/series)
if [ -z "$unpatched" ]; then
  for patch in "${patches[@]}"; do apply "$patch"; done
  cp "${sources[@]}" src/ || die 1 "cannot write to $folder"
fi
if [ -n "$tree" ]; then
  cd "$folder" && mv "$work/source" "$tree" || die 1 "cannot write $tree"
  say ''
  exit 0
fi

# --- build -------------------------------------------------------------------

# Debian's rules call `make OPENCV=1`, and the Makefile's own flags (-Ofast -fPIC ...) override
# what debhelper exports. Without OpenCV the one C++ file is empty, so a C compiler suffices.
# Variables of a make that calls this script are removed.
flags=(OPENCV=0 "CPP=gcc -x c")
[ -z "$opencv" ] || flags=(OPENCV=1)
if [ -z "$unpatched" ]; then # links, because make and its shell split paths with spaces
  mkdir mafat && ln -s "$here"/../include/mafat*.h "$mafat/libmafat.a" "$mafat/libmafat.so.0" mafat/ || die 1 "cannot write to $folder"
  flags+=(MAFAT_CFLAGS=-Imafat "MAFAT_PROGRAM_LIBS=mafat/libmafat.a ${mafat_libs[*]:1}" "MAFAT_SHARED_LIBS=mafat/libmafat.so.0 '-Wl,-rpath,$mafat'")
fi
make=(env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u GNUMAKEFLAGS -u MAKEFILES make "${flags[@]}")
all=$(find src examples -name '*.c' | wc -l)
"${make[@]}" obj backup results >"$work/log" 2>&1 || die 1 "make: $(tail -n 1 "$work/log")"
"${make[@]}" -k -j"$(nproc)" all >>"$work/log" 2>&1 &
building=$!
while kill -0 "$building" 2>/dev/null; do
  [ ! -t 2 ] || say "darknet: compiling, $(find obj -name '*.o' | wc -l) of about $all files"
  sleep 0.2
done
wait "$building" || {
  cp "$work/log" "$folder/build.log"
  building=
  die 1 "does not build; $folder/build.log: $(grep -m 1 -E 'error: |Error [0-9]|No such file' "$work/log")"
}
building=

mkdir -p "$target/include" && rm -rf "$target/built" "$target/source" || die 1 "cannot write to $target"
mv darknet libdarknet.so libdarknet.a "$target/" && cp include/darknet.h "$target/include/" || die 1 "cannot write to $target"
if [ -z "$unpatched" ]; then
  cp "$here"/*.h "$here"/../include/mafat*.h "$target/include/" || die 1 "cannot write to $target"
  for file in examples/*.c; do # to link it again with another libmafat.a
    object=obj/$(basename "$file" .c).o
    [ ! -f "$object" ] || printf '%s\n' "$object"
  done | xargs ar rcs "$target/program.a"
fi
printf '%s\n' "$key" >"$target/built"
say "darknet: built $target/darknet"
[ ! -t 2 ] || echo >&2
