#!/usr/bin/env bash
# Manual test, as root: a whole Debian with systemd in the emulated machine, where an ordinary user
# runs memory_limit, which has to ask systemd-run for a scope. Needs debootstrap (a download of 60
# MB) and mke2fs; run.sh must have been run before, for the kernel. Prints what the user sees.
# BUILD names the build folder; the Debian stays in v2/debian there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
build=${BUILD:-build}
cache=$build/v2 debian=$build/v2/debian
[ "$(id -u)" = 0 ] && [ -e "$cache/kernel/version" ] || {
  echo 'systemd.sh: needs root, and tests/v2/run.sh before it' >&2
  exit 2
}
work=$(mktemp -d "$cache/run.XXXXXX") || exit 1
trap 'case $BASHPID in $$) rm -rf "$work" ;; esac' EXIT
trap 'exit 1' HUP INT TERM

if [ ! -e "$debian/made" ]; then
  rm -rf "$debian"
  debootstrap --variant=minbase --include=systemd-sysv,dbus,dbus-user-session,libpam-systemd,util-linux bookworm "$debian" >"$cache/debootstrap.log" 2>&1 &&
    chroot "$debian" useradd -m -s /bin/bash user && touch "$debian/made" || exit 1
fi

# The user logs in automatically at the second serial port; the profile runs the commands.
mkdir -p "$debian/home/user/files"
cp "$build"/{memory_limit,swap_cost} "$debian/usr/local/bin"
cp "$build/run_inference" models/shapes/shapes.{cfg,weights,names} models/shapes/holdout/000000.jpg "$debian/home/user/files"
cat >"$debian/etc/systemd/system/login.service" <<'UNIT'
[Unit]
After=systemd-user-sessions.service systemd-logind.service
[Service]
ExecStart=/sbin/agetty --autologin user --noclear ttyS1 dumb
StandardInput=tty
StandardOutput=tty
TTYPath=/dev/ttyS1
UtmpIdentifier=ttyS1
UNIT
cat >"$debian/etc/systemd/system/ends.service" <<'UNIT'
[Service]
ExecStart=/bin/sh -c 'mkswap /dev/vdb && swapon /dev/vdb; until [ -e /tmp/finished ]; do sleep 1; done; systemctl reboot -ff'
[Install]
WantedBy=multi-user.target
UNIT
for unit in ends login; do ln -sf /etc/systemd/system/$unit.service "$debian/etc/systemd/system/multi-user.target.wants/"; done
# without udev it would not be announced
ln -sf /dev/null "$debian/etc/systemd/system/serial-getty@ttyS0.service"
cat >"$debian/home/user/.profile" <<'PROFILE'
stty cols 400
cd files
show() { printf '\n$ %s\n' "$*"; "$@"; echo "[$?]"; }
show id
show cat /proc/self/cgroup
show memory_limit --check
show memory_limit --limit 64M --swap none --json -- dd if=/dev/zero of=/dev/null bs=20M count=1
show memory_limit --limit 16M --swap none --json -- dd if=/dev/zero of=/dev/null bs=40M count=1
show memory_limit --limit 16M --json -- dd if=/dev/zero of=/dev/null bs=40M count=1
show memory_limit --limit 64M --cpus 0 --json -- grep Cpus_allowed_list /proc/self/status
show memory_limit --limit 8M --json -- ./run_inference --json --names shapes.names shapes.cfg shapes.weights 000000.jpg
show memory_limit --limit 64M --json -- cat /proc/self/cgroup
printf '\nkilled while a command runs:\n'
memory_limit --limit 64M -- sleep 77 &
sleep 5
kill -KILL $!
sleep 2
show eval 'grep -la "^sleep.77" /proc/[0-9]*/cmdline'
show find /sys/fs/cgroup -name 'mafat-*'
show find /sys/fs/cgroup -name 'run-*.scope'
show env -u XDG_RUNTIME_DIR -u DBUS_SESSION_BUS_ADDRESS memory_limit --limit 64M -- true
show env PATH=/usr/local/bin memory_limit --limit 64M -- /bin/true
touch /tmp/finished
PROFILE
mkdir -p "$work/initramfs"/{bin,dev,modules,root,proc}
cp "$cache"/kernel/modules/* "$work/initramfs/modules"
cp "$(command -v busybox)" "$work/initramfs/bin/busybox"
cat >"$work/initramfs/init" <<'INIT'
#!/bin/busybox sh
busybox mount -t devtmpfs none /dev
while read -r module; do busybox insmod "/modules/$module"; done </modules/order
until [ -b /dev/vda ]; do busybox sleep 0.1; done
busybox mount -t ext4 /dev/vda /root && exec busybox switch_root /root /sbin/init
INIT
chmod 755 "$work/initramfs/init"
(cd "$work/initramfs" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$work/initramfs.gz"
truncate -s 1G "$work/disk" && truncate -s 256M "$work/swap"
mke2fs -q -t ext4 -d "$debian" "$work/disk" || exit 1
timeout -k 5 240 qemu-system-x86_64 -accel "${V2_ACCEL:-tcg}" -cpu max -smp 2 -m 1024 -nodefaults -display none -no-reboot \
  -serial "file:$work/console" -serial "file:$work/user" -kernel "$cache/kernel/vmlinuz" -initrd "$work/initramfs.gz" \
  -append 'console=ttyS0 loglevel=4 panic=-1' \
  -drive "if=virtio,format=raw,file=$work/disk" -drive "if=virtio,format=raw,file=$work/swap" </dev/null
tr -d '\r' <"$work/user"
[ -s "$work/user" ] || cat "$work/console"
