#!/usr/bin/env bash
# Runs `make demo` and `make test` in a freshly installed Debian: a minimal system with only make,
# gcc and libc6-dev, no git, no models, and a copy of the tree. Run from the project's root, as
# root; needs mmdebstrap (scripts/packages.sh fresh) and a Debian mirror, 4 GB of disk and a
# quarter of an hour. Uses the host's sources, proxies and resolver. Everything is in BUILD and in
# its own namespaces, which disappear with mounts and processes, also if this is killed.
# FRESH='COMMAND...': what to run instead.
set -u
build=$(realpath -m "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=fresh
# shellcheck source=tests/check.sh
. tests/check.sh

if [ "$(id -u)" != 0 ]; then skip debian 'needs root'; exit 0; fi
if ! command -v mmdebstrap >/dev/null; then skip debian 'needs mmdebstrap (scripts/packages.sh fresh)'; exit 0; fi
# shellcheck source=packaging/debian.sh
. packaging/debian.sh
if [ "${1-}" != inside ]; then
  debian_apart "$build" "$0" inside
  exit
fi
root=$2/root log=$2/log

# ---- A Debian

if ! debian_make "$root" "$log" make,gcc,libc6-dev; then
  skip debian "cannot be made: $(grep -v '^I:' "$log" | tail -n 1)"
  exit 0
fi
ok debian
if ! { mkdir "$root/mafat" && packaging/copy_tree.sh "$root/mafat" "$build"; }; then
  fail tree 'it cannot be copied there'
  exit 1
fi
debian_mount "$root" || exit 1

# ---- In it

inside() { # COMMAND...: runs it there and shows its output
  # shellcheck disable=SC2016 # the other shell's
  debian_run "$root" sh -c 'cd /mafat && exec "$@"' - "$@" </dev/null
}
tries() { if inside "$@" >&2; then ok "$*"; else fail "$*" "exit status $?"; fi; }
installed() { inside dpkg-query -W -f '${Installed-Size}\n' | awk '{ kilobytes += $1 } END { print NR, int(kilobytes * 1024 / 1e6) }'; }
if [ -n "${FRESH-}" ]; then tries sh -c "$FRESH"; else
  read -r packages megabytes < <(installed)
  tries make demo
  read -r packages_then megabytes_then < <(installed)
  packages=$((packages_then - packages)) megabytes=$((megabytes_then - megabytes))
  check 'make demo installs little' "$packages packages, $megabytes MB; expected at most 60, 150 MB" test $packages -le 60 -a $megabytes -le 150
  tries make test
fi
exit "$failed"
