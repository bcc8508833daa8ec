#!/usr/bin/env bash
# Builds Debian packages in BUILD/deb from a copy of the tree, without root, and checks them with
# lintian. BUILD names the build folder (default: build). Exit status 1: the build failed or lintian
# found an error.
set -eu
build=${BUILD:-build}
folder=$build/deb
version=$(dpkg-parsechangelog -S Version)
tree=$folder/mafat-$version

rm -rf "$folder"
mkdir -p "$tree"
packaging/copy_tree.sh "$tree" "$build"

# Without tests, which `make test` runs.
log=$folder/log
if ! (cd "$tree" && env -u MAKEFLAGS -u MAKELEVEL -u BUILD DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck} parallel=$(nproc)" \
  dpkg-buildpackage -b -us -uc) >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "deb.sh: dpkg-buildpackage failed; all it said is in $log" >&2
  exit 1
fi
rm -rf "$tree"
ls "$folder"/*.deb
lintian --allow-root --fail-on error "$folder"/*.changes
