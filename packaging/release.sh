#!/usr/bin/env bash
# usage: release.sh [x86_64|aarch64|armv7]...
# Builds single-file programs and container images in BUILD/release, with checksums and lists of the
# linked libraries. It compiles in a minimal Debian with the libraries of all architectures
# (BUILD/release/room, kept for the next run), and needs root and a Debian mirror. BUILD names the
# build folder (default: build). Exit status 77: not possible here.
set -eu -o pipefail
build=${BUILD:-build}
folder=$build/release room=$build/release/room
[ "${1-}" != --help ] || { sed -n '2,/^# usage/s/^# //p' "$0"; exit 0; }
complain() { echo "release.sh: $1" >&2; }

declare -A triplet=([x86_64]=x86_64-linux-gnu [aarch64]=aarch64-linux-gnu [armv7]=arm-linux-gnueabihf)
wanted=("${@:-}")
[ -n "${wanted[0]}" ] || wanted=(x86_64 aarch64 armv7)
for machine in "${wanted[@]}"; do
  [ -n "${triplet[$machine]-}" ] || { complain "expected x86_64, aarch64 or armv7, found '$machine'"; exit 2; }
done
if [ "$(id -u)" != 0 ]; then complain 'needs root, for a Debian of its own'; exit 77; fi
eval "$(make -s --no-print-directory print-release)"
: "${version:?}" "${programs:?}" "${imaged:?}" "${pages:?}"
# Reproducible: files get the time of the last entry of debian/changelog.
epoch=$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)
export SOURCE_DATE_EPOCH=$epoch

# ---- A Debian with the libraries of all architectures

packages=make,gcc,elfutils,gcc-aarch64-linux-gnu,gcc-arm-linux-gnueabihf
for architecture in amd64 arm64 armhf; do
  for library in libc6 libjpeg62-turbo libpng liburing libcgroup libproc2; do packages+=,$library-dev:$architecture; done
done
# shellcheck source=packaging/debian.sh
. packaging/debian.sh
if [ "$(cat "$room.has" 2>/dev/null)" != "$packages" ]; then
  rm -rf --one-file-system "$room" "$room.has"
  mkdir -p "$folder"
  if ! debian_make "$room" "$folder/log" "$packages" amd64,arm64,armhf; then
    complain "no Debian can be made here: $(grep '^E:' "$folder/log" | tail -n 1)"
    exit 77
  fi
  echo "$packages" >"$room.has"
fi
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH="$epoch" chroot "$room" "$@"; }

# ---- Programs

# Objects of the last run are kept, so that only changed files are compiled.
mkdir -p "$room/mafat"
find "$room/mafat" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
rm -rf "$room/tree"
mkdir "$room/tree"
packaging/copy_tree.sh "$room/tree" "$build"
cp -a "$room/tree/." "$room/mafat"
rm -rf "$room/tree"
for machine in "${wanted[@]}"; do
  echo "release.sh: $machine" >&2
  if ! inside make -s -C /mafat -j"$(nproc)" BUILD="build/$machine" CC="${triplet[$machine]}-gcc" released >"$folder/log.$machine" 2>&1; then
    tail -n 20 "$folder/log.$machine" >&2
    complain "$machine was not built; all that was said is in $folder/log.$machine"
    exit 1
  fi
done

# ---- Archives and images

archive_of() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --mode=go=rX,u=rwX -C "$1" -c "$2"; } # FOLDER NAME

rm -f "$folder/SHA256SUMS"
for machine in "${wanted[@]}"; do
  name=mafat-$version-linux-$machine
  to=$folder/$name
  rm -rf "$to"
  mkdir -p "$to"/bin "$to"/share/{doc/mafat,mafat/shapes}
  for program in $programs; do
    built=build/$machine/$program
    inside eu-strip --strip-sections -o "/mafat/$built.bare" "/mafat/$built" # only segments are read
    install -m 755 "$room/mafat/$built.bare" "$to/bin/$program"
  done
  for page in $pages; do install -D -m 644 "$room/mafat/build/$machine/man/$page" "$to/share/man/man${page##*.}/$page"; done
  install -m 644 LICENSE "$to/share/doc/mafat"
  awk -v page=CHANGELOG.md -v installed=LICENSE -f scripts/installed_page.awk CHANGELOG.md >"$to/share/doc/mafat/CHANGELOG.md"
  install -m 644 models/shapes/shapes.{cfg,weights,names} "$to/share/mafat/shapes"
  install -m 644 models/shapes/holdout/000004.jpg "$to/share/mafat/shapes/shapes.jpg"
  # shellcheck disable=SC2086 # words
  packaging/release_inside.py --room "$room" --machine "$machine" --version "$version" "$to/share/doc/mafat" $programs
  (cd "$to" && sha256sum bin/* >share/doc/mafat/SHA256SUMS)
  archive_of "$folder" "$name" | gzip -9n >"$folder/$name.tar.gz"
  arguments=()
  for program in $imaged; do arguments+=("bin/$program=$to/bin/$program"); done
  for file in LICENSE INSIDE.md; do arguments+=("usr/share/doc/mafat/$file=$to/share/doc/mafat/$file"); done
  for file in "$to"/share/doc/mafat/licences/*; do arguments+=("usr/share/doc/mafat/licences/${file##*/}=$file"); done
  packaging/oci_image.py --architecture "$machine" --name mafat --version "$version" --created "$epoch" \
    --entrypoint "/bin/${imaged%% *}" "$folder/mafat-$version-oci-$machine.tar" "${arguments[@]}"
done
(cd "$folder" && sha256sum mafat-"$version"-*.tar mafat-"$version"-*.tar.gz >SHA256SUMS && cat SHA256SUMS)
