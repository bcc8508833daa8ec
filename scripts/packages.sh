#!/usr/bin/env bash
# usage: packages.sh GROUP...
# Installs the missing Debian packages of these groups of packages.txt, as root or by sudo. Prints
# their number and size first, or nothing if all are installed. Packages marked `unpack` are not
# installed: their files go into BUILD/unpacked, without dependencies. Run from the project's root;
# BUILD names the build folder (default: build).
set -eu -o pipefail
unpacked=${BUILD:-build}/unpacked
complain() { echo "packages.sh: $*" >&2; }

# One line for each package: its name, and `unpack` or nothing.
listed=$(awk -v groups="$*" '
  { sub(/#.*/, "") }
  /^\[/ { gsub(/[^a-z ]/, " "); group = $1; $1 = ""; included[group] = $0; next }
  NF { $1 = $1; packages[group] = packages[group] "\n" $0 }
  function add(names,    n, name, i, package, j) {
    n = split(names, name)
    for (i = 1; i <= n; i++) {
      if (!(name[i] in included)) { print "packages.sh: expected a group of packages.txt, found " name[i] >"/dev/stderr"; exit 2 }
      add(included[name[i]])
      n_packages = split(packages[name[i]], package, "\n")
      for (j = 2; j <= n_packages; j++) if (!added[package[j]]++) print package[j]
    }
  }
  END { add(groups) }' packages.txt)
if ! command -v dpkg-query >/dev/null; then
  complain "this is no Debian system: please install by hand: $(awk '{ printf "%s ", $1 }' <<<"$listed")"
  exit 0
fi

native=$(dpkg --print-architecture)
installed() { # PACKAGE: dpkg-query prints a line for each of its architectures, others do not count
  dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null | grep -xE "($native|all) installed" >/dev/null
}
to_install=() to_unpack=()
while read -r package how; do
  if installed "$package"; then :
  elif [ "$how" = unpack ]; then [ -e "$unpacked/.$package" ] || to_unpack+=("$package")
  else to_install+=("$package"); fi
done <<<"$listed"
[ ${#to_install[@]} != 0 ] || [ ${#to_unpack[@]} != 0 ] || exit 0

root=(env LC_ALL=C DEBIAN_FRONTEND=noninteractive)
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    complain "needs root. Please run: apt-get install ${to_install[*]} ${to_unpack[*]}"
    exit 1
  fi
  root=(sudo "${root[@]}")
fi
log=$(mktemp)
downloaded=$(mktemp -d)
trap 'rm -rf "$log" "$downloaded"' EXIT
trap 'exit 1' HUP INT TERM

# Prints one line: what apt-get will install, dependencies included, and what it will download.
# Fails if apt-get's lists are missing or lack a package.
announce() {
  local line='' more=
  if [ ${#to_install[@]} != 0 ]; then
    "${root[@]}" apt-get install --no-install-recommends --assume-no "${to_install[@]}" >"$log" 2>&1 || true
    line=$(sed -nE 's/.* ([0-9]+) newly installed.*/installing \1 packages/; s/ 1 packages/ 1 package/; /^installing/p; s/^Need to get ([^/]*\/)?(.*) of archives.*/, \2 to download/p
      s/^After this operation, (.*) of additional.*/, \1 on the disk/p' "$log" | tr -d '\n')
    [ -n "$line" ] || return 1
    line="$line: ${to_install[*]}"
  fi
  if [ ${#to_unpack[@]} != 0 ]; then
    more=$(apt-get download --print-uris "${to_unpack[@]}" 2>"$log" | awk '{ sum += $3 } END { printf "%.1f MB", sum / 1e6 }') || return 1
    line="${line:+$line; }unpacking into $unpacked, $more to download: ${to_unpack[*]}"
  fi
  complain "$line"
}

# Reads apt-get's output: progress goes to stderr, in place on a terminal, else every ten seconds;
# the rest to the log.
show_progress() {
  local line step percent shown= next=10
  SECONDS=0
  while IFS= read -r line; do
    case $line in
      dlstatus:*) step=downloading ;;
      pmstatus:*) step=installing ;;
      *) echo "$line" >>"$log" && continue ;;
    esac
    percent=${line#*:*:} percent=${percent%%[.:]*}
    [ "$step$percent" != "$shown" ] || continue
    shown=$step$percent
    if [ -t 2 ]; then printf '\rpackages.sh: %s, %s %% ' "$step" "$percent" >&2
    elif [ $SECONDS -ge $next ]; then complain "$step, $percent %" && next=$((SECONDS + 10)); fi
  done
  [ ! -t 2 ] || printf '\r%40s\r' '' >&2
}

install() {
  if [ ${#to_install[@]} != 0 ]; then
    "${root[@]}" apt-get install -y --no-install-recommends -q -o APT::Status-Fd=1 "${to_install[@]}" 2>&1 | show_progress || return 1
  fi
  if [ ${#to_unpack[@]} != 0 ]; then
    (cd "$downloaded" && apt-get download -q "${to_unpack[@]}") >"$log" 2>&1 || return 1
    for package in "${to_unpack[@]}"; do
      mkdir -p "$unpacked" && dpkg-deb -x "$downloaded/$package"_*.deb "$unpacked" && touch "$unpacked/.$package" || return 1
    done
  fi
}

update() { # once, where lists are missing or stale
  complain 'reading the lists of packages'
  "${root[@]}" apt-get update -q >"$log" 2>&1
}
if ! { announce || { update && announce; } && { install || { update && install; }; }; }; then
  cat "$log" >&2
  exit 1
fi
