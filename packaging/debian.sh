# shellcheck shell=bash
# Creates minimal Debian systems with mmdebstrap. Sourced by scripts that build or test without the
# host's files.

# The host's package sources that are Debian's own. Others have keys that only the host knows.
debian_sources() { # CODENAME
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    case $file in
      *.list) grep -qE "^deb .* $1 .*\bmain\b" "$file" 2>/dev/null && echo "$file" ;;
      *.sources) grep -qE "^Suites:(.* )?$1( |\$)" "$file" 2>/dev/null && grep -qE '^Components:.*\bmain\b' "$file" && echo "$file" ;;
    esac
  done
}

# debian_make ROOT LOG PACKAGES [ARCHITECTURES]: creates a system of the host's release, from the
# host's sources and proxies. If a mirror lacks an index (of some architecture's updates), it uses
# the main archive and warns.
debian_make() {
  local root=$1 log=$2 codename option mirror sources options=()
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  codename=${codename:-stable}
  mapfile -t sources < <(debian_sources "$codename")
  while read -r option; do options+=(--aptopt="$option"); done < <(apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https|ftp)::Proxy')
  options+=(--variant=minbase --architectures="${4:-$(dpkg --print-architecture)}" --include="$3")
  mmdebstrap "${options[@]}" "$codename" "$root" "${sources[@]}" >"$log" 2>&1 && return
  grep -q '^E: Failed to fetch' "$log" || return 1
  mirror=$(sed -nE "s/^URIs: *([^ ]*).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]*) $codename .*/\2/p" "${sources[@]}" | head -n 1)
  echo "without updates: $(grep '^E: Failed to fetch' "$log" | head -n 1)" >&2
  rm -rf --one-file-system "$root"
  mmdebstrap "${options[@]}" "$codename" "$root" "deb $mirror $codename main" >"$log" 2>&1
}

# debian_apart FOLDER SCRIPT ARGUMENT...: runs the bash script in mount and process namespaces of
# its own, so that its mounts and processes end with it, and returns its exit status. Its last
# argument is a new folder in FOLDER, which is removed when no process has descriptor 8 any more,
# however this ends.
debian_apart() {
  local folder inside status
  mkdir -p "$1" && folder=$(mktemp -d "$1/debian.XXXXXX") || return 1
  shift
  exec 8> >(trap '' HUP INT TERM && cat >/dev/null && rm -rf --one-file-system "$folder")
  trap 'exit 143' HUP INT TERM
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --mount-proc --fork --kill-child bash "$@" "$folder" &
  inside=$!
  # shellcheck disable=SC2064 # now
  trap "kill -KILL $inside; exit 143" HUP INT TERM
  wait $inside
  status=$?
  exec 8>&-
  wait
  return $status
}

# Mounts and files that programs expect, and those needed to reach a mirror. Call it in namespaces
# of its own.
debian_mount() { # ROOT
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
  mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev"
}

debian_run() { # ROOT COMMAND...: there, with nothing of the host's environment but proxies
  local root=$1
  shift
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${http_proxy+"http_proxy=$http_proxy"} ${https_proxy+"https_proxy=$https_proxy"} ${no_proxy+"no_proxy=$no_proxy"} \
    chroot "$root" "$@"
}
