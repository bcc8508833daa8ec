# shellcheck shell=bash
# A minimal Debian of its own, by mmdebstrap: sourced by what builds or tries something where nothing of the host's is.

# The sources of the host that are Debian's own: others have keys that only the host has.
debian_sources() { # CODENAME
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    case $file in
      *.list) grep -qE "^deb .* $1 .*\bmain\b" "$file" 2>/dev/null && echo "$file" ;;
      *.sources) grep -qE "^Suites:(.* )?$1( |\$)" "$file" 2>/dev/null && grep -qE '^Components:.*\bmain\b' "$file" && echo "$file" ;;
    esac
  done
}

# debian_make ROOT LOG PACKAGES [ARCHITECTURES]: of the host's release, from its sources, through its proxies. Where a mirror lacks an
# index of these (not every one has every architecture's updates), from its main archive alone, which is told.
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

# debian_apart FOLDER SCRIPT ARGUMENT...: bash runs the script in mount and process namespaces of its own, with which mounts and
# processes go; a new folder in FOLDER is its last argument. Whatever ends this: the folder goes when nobody is left who has
# descriptor 8. Its exit status.
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

# What programs expect of a system, and what reaching a mirror takes; in namespaces of one's own.
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
