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
