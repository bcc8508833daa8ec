#!/bin/sh
# Installs the Debian packages of packages.txt that are missing: as root, or by
# sudo. Says what to do where it can do neither. Nothing to do is silent.
set -eu
list=${1:-packages.txt}
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "packages.sh: this is no Debian system: please install what $list names by hand" >&2
  exit 0
fi
native=$(dpkg --print-architecture)
missing=
for package in $(sed 's/#.*//' "$list"); do
  # A line for each architecture that it is known of: others' say nothing.
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
