# shellcheck shell=bash
# Finds a Debian kernel and the modules that an emulated machine needs. Source it with `cannot` and
# check.sh's functions defined. Uses an installed kernel, else apt downloads one, once, into
# $kernel; $work is a folder of this run. $wanted: modules, whose dependencies are added; $maybe:
# modules that newer kernels have built in; $folders: folders of a kernel's package that contain
# all of them. $architecture: Debian's name if it is not this machine's; then its package lists are
# fetched, too.
apt_options=()

module_file() { # NAME FOLDER: its path in the folder; nothing if missing
  find "$2" -name "$1.ko*" -o -name "${1//_/-}.ko*" | head -n 1
}

# take_modules FOLDER: copies the wanted modules and their dependencies, uncompressed, to
# $work/kernel, with a list of their order
take_modules() {
  local name
  for name in $maybe; do take_module "$name" "$1"; done
  for name in $wanted; do take_module "$name" "$1" || return 1; done
}
take_module() {
  local file to=$work/kernel/modules/$1.ko other
  [ ! -e "$to" ] || return 0
  grep -qE "/(${1}|${1//_/-})\.ko" "$2/modules.builtin" && return
  file=$(module_file "$1" "$2")
  case $file in
    *.ko) cp "$file" "$to" ;;
    *.xz) xz -dc "$file" >"$to" ;;
    *.zst) zstd -qdc "$file" >"$to" ;;
    *.gz) gzip -dc "$file" >"$to" ;;
    *) false ;;
  esac || return 1
  for other in $(grep -aozE 'depends=[^[:cntrl:]]*' "$to" | tr '\0' '\n' | sed 's/^depends=//' | tr ',' ' '); do
    take_module "$other" "$2" || return 1
  done
  echo "$1.ko" >>"$work/kernel/modules/order"
}

# take_kernel IMAGE FOLDER: stores an image and its folder's modules in the cache
take_kernel() {
  rm -rf "$work/kernel" && mkdir -p "$work/kernel/modules"
  [ -r "$1" ] && [ -e "$2/modules.builtin" ] && take_modules "$2" && cp "$1" "$work/kernel/vmlinuz" || return 1
  basename "$2" >"$work/kernel/version"
  rm -rf "$kernel" && mv "$work/kernel" "$kernel"
}

# know_packages: fetches package lists of another architecture into folders of this run
know_packages() {
  [ -n "${architecture-}" ] && [ "${#apt_options[@]}" = 0 ] || return 0
  mkdir -p "$work"/apt/{lists,archives}/partial
  apt_options=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt"
    -o Dir::State::status=/dev/null)
  timeout 300 apt-get "${apt_options[@]}" update >"$work/log" 2>&1 || cannot "apt knows no packages of $architecture: $(tail -n 1 "$work/log")"
}

# download_package NAME: unpacks the files named for `tar` into $work/unpacked
download_package() {
  local package=$1
  shift
  [ ! -t 2 ] || echo "downloading $package" >&2
  rm -rf "$work/unpacked" && mkdir "$work/unpacked"
  (cd "$work/unpacked" && timeout 300 apt-get "${apt_options[@]}" download "$package") >"$work/log" 2>&1 ||
    cannot "$package cannot be downloaded: $(tail -n 1 "$work/log")"
  dpkg-deb --fsys-tarfile "$work"/unpacked/*.deb | tar -x -C "$work/unpacked" --wildcards "$@" || cannot "$package cannot be unpacked"
}

find_kernel() { # [PACKAGE]: this package, even if a kernel is installed
  local image package=${1-}
  [ ! -e "$kernel/version" ] || return 0
  for image in /boot/vmlinuz-*; do
    [ -z "$package" ] || break
    ! take_kernel "$image" "/lib/modules/${image#*/vmlinuz-}" 2>/dev/null || return 0
  done
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || cannot 'no kernel with modules is installed, and there is no apt to download one'
  know_packages
  package=$(apt-cache "${apt_options[@]}" depends "${package:-linux-image-amd64}" 2>/dev/null | sed -n 's/^ *|\{0,1\}Depends: \(linux-image-\)/\1/p' | head -n 1)
  [ -n "$package" ] || cannot "apt knows no ${1:-linux-image-amd64} (apt-get update)"
  download_package "$package" '*/boot/vmlinuz-*' '*/modules.builtin' "${folders[@]/#/*/kernel/}"
  image=$(printf '%s\n' "$work"/unpacked/boot/vmlinuz-* | head -n 1)
  take_kernel "$image" "$(printf '%s\n' "$work"/unpacked/*lib/modules/"${image#*/vmlinuz-}" "$work"/unpacked/usr/lib/modules/"${image#*/vmlinuz-}" | head -n 1)" ||
    cannot "$package has not the modules that are needed: $wanted"
}
