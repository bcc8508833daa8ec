#!/bin/sh
# usage: packages.sh GROUP...
# Installs the Debian packages of these groups of packages.txt that are missing, as root or by sudo. Prints nothing when there is
# nothing to do. Run from the project's root.
set -eu
packages=$(awk -v groups="$*" '
  { sub(/#.*/, "") }
  /^\[/ { gsub(/[^a-z ]/, " "); group = $1; $1 = ""; included[group] = $0; next }
  NF { listed[group] = listed[group] " " $1 }
  function add(names,    n, name, i, package, j) {
    n = split(names, name)
    for (i = 1; i <= n; i++) {
      if (!(name[i] in included)) { print "packages.sh: expected a group of packages.txt, found " name[i] >"/dev/stderr"; exit 2 }
      add(included[name[i]])
      split(listed[name[i]], package)
      for (j = 1; j in package; j++) if (!added[package[j]]++) printf " %s", package[j]
    }
  }
  END { add(groups) }' packages.txt)
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "packages.sh: this is no Debian system: please install by hand:$packages" >&2
  exit 0
fi
native=$(dpkg --print-architecture)
missing=
for package in $packages; do
  # dpkg-query prints a line for each architecture of the package: others do not count.
  dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "$package" 2>/dev/null | grep -qxE "($native|all) installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "packages.sh: installing$missing" >&2
if [ "$(id -u)" = 0 ]; then run=; elif command -v sudo >/dev/null 2>&1; then run=sudo; else
  echo "packages.sh: needs root. Please run: apt-get install$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
install() { $run apt-get install -y --no-install-recommends -q $missing >"$log" 2>&1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install; then
  # Lists may be missing or stale: refresh them once.
  $run apt-get update -q >"$log" 2>&1 && install || { cat "$log" >&2; exit 1; }
fi
