#!/usr/bin/env bash
# `make demo` and `make test` as somebody has them who has just installed Debian: a minimal system of its own with make, gcc and
# libc6-dev and nothing else, no git, no models; the tree is copied there. Run from the project's root, as root; needs mmdebstrap
# (packages-fresh.txt) and a Debian mirror, and takes 4 GB of disk and a quarter of an hour. The host's sources, proxies and
# resolver are taken over. BUILD names the build folder, in which all of it lies while it runs: in namespaces of its own, with
# which mounts and processes go, also when this is killed. FRESH='COMMAND...' instead of both: what to run there.
set -u
build=$(realpath -m "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=fresh
# shellcheck source=tests/check.sh
. tests/check.sh

if [ "$(id -u)" != 0 ]; then skip debian 'needs root'; exit 0; fi
if ! command -v mmdebstrap >/dev/null; then skip debian 'needs mmdebstrap (packages-fresh.txt)'; exit 0; fi
if [ "${1-}" != inside ]; then
  mkdir -p "$build" && work=$(mktemp -d "$build/fresh.XXXXXX") || exit 1
  # Whatever ends this: what is inside ends, too, and the folder goes when nobody is left who has descriptor 8.
  exec 8> >(trap '' HUP INT TERM && cat >/dev/null && rm -rf --one-file-system "$work")
  trap 'exit 143' HUP INT TERM
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --mount-proc --fork --kill-child bash "$0" inside "$work" &
  inside=$!
  trap 'kill -KILL $inside; exit 143' HUP INT TERM
  wait $inside
  status=$?
  exec 8>&-
  wait
  exit $status
fi
work=$2 root=$2/root log=$2/log

# ---- A Debian

# shellcheck source=scripts/debian.sh
. scripts/debian.sh
if ! debian_make "$root" "$log" make,gcc,libc6-dev; then
  skip debian "cannot be made: $(grep -v '^I:' "$log" | tail -n 1)"
  exit 0
fi
ok debian
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/mafat" && scripts/copy_tree.sh "$root/mafat" "$build"
mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || exit 1

# ---- In it

inside() { # COMMAND...: with what it says shown
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${http_proxy+"http_proxy=$http_proxy"} ${https_proxy+"https_proxy=$https_proxy"} ${no_proxy+"no_proxy=$no_proxy"} \
    chroot "$root" sh -c 'cd /mafat && exec "$@"' - "$@" </dev/null
}
tries() { if inside "$@" >&2; then ok "$*"; else fail "$*" "exit status $?"; fi; }
if [ -n "${FRESH-}" ]; then tries sh -c "$FRESH"; else
  tries make demo
  tries make test
fi
exit "$failed"
