#!/usr/bin/env bash
# Builds Debian packages from a copy of the tree, without root, and asks lintian: BUILD/deb/*.deb. BUILD names the build folder
# (default: build). Exits 1 when building failed or lintian found an error.
set -eu
build=${BUILD:-build}
folder=$build/deb
version=$(dpkg-parsechangelog -S Version)
tree=$folder/mafat-$version

rm -rf "$folder"
mkdir -p "$tree"
packaging/copy_tree.sh "$tree" "$build"

# Tests are `make test`'s.
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
