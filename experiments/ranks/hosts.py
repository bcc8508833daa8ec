"""Emulates hosts by network namespaces, each with a name and a link of limited bandwidth to one
bridge. Closing removes everything, also after a signal. Needs root, ip and tc (Debian's
iproute2), and Open MPI."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile


class Unavailable(Exception):
    """Raised if something is missing; the message names it."""


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


class Hosts:
    """`with Hosts(6, 100) as hosts`: six hosts with 100 Mbit/s."""

    def __init__(self, n, megabits):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        for tool in ("ip", "tc", "unshare", "mpirun"):
            if not shutil.which(tool):
                raise Unavailable("%s is missing; scripts/packages.sh ranks" % tool)
        if "Open MPI" not in call("mpirun", "--version"):
            raise Unavailable("mpirun is not Open MPI's, whose options these are")
        self.n, self.megabits, self.made = n, megabits, []
        self.prefix = "mafat%d" % os.getpid()
        self.folder = tempfile.mkdtemp(prefix="mafat-hosts.")

    def space(self, host):
        return "%s-%s" % (self.prefix, host)

    def address(self, host):
        return "10.77.0.%d" % (host + 1)

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
            signal.signal(number, lambda taken, _: sys.exit(128 + taken))
        try:
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def add_space(self, name):
        call("ip", "netns", "add", self.space(name))
        self.made.append(self.space(name))
        call("ip", "-n", self.space(name), "link", "set", "lo", "up")

    def limit(self, space, device):
        call("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf", "rate", "%dmbit" % self.megabits,
             "burst", "%d" % max(16384, self.megabits * 1000000 // 8 // 250), "latency", "50ms")

    def make(self):
        hub = self.space("hub")
        self.add_space("hub")
        call("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", hub, "link", "set", "bridge", "up")
        for host in range(self.n):
            space, port = self.space(host), "port%d" % host
            self.add_space(host)
            call("ip", "-n", hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
            call("ip", "-n", hub, "link", "set", port, "master", "bridge", "up")
            call("ip", "-n", space, "addr", "add", self.address(host) + "/24", "dev", "eth0")
            call("ip", "-n", space, "link", "set", "eth0", "up")
            self.limit(space, "eth0")
            self.limit(hub, port)
        # mpirun uses this instead of ssh to start its daemons: AGENT HOST WORD...
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nhost=$((${1##*.} - 1))\nshift\n'
                       'exec ip netns exec %s-$host unshare --uts sh -c "hostname mafat-$host; $*"\n' % self.prefix)
        os.chmod(self.agent, stat.S_IRWXU)

    def mpirun(self, n, command):
        """The words that run a command on the first n hosts, started from the first one."""
        hosts = ",".join(self.address(host) + ":1" for host in range(n))
        words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1",
                 "--mca", "orte_tmpdir_base", self.folder, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0",
                 "--host", hosts, "-n", str(n)] + command
        return ["ip", "netns", "exec", self.space(0), "unshare", "--uts", "sh", "-c", 'hostname mafat-0; exec "$@"', "sh"] + words

    def sent_bytes(self, host):
        """Sent bytes by the interface's counter, including TCP and MPI overhead."""
        return int(call("ip", "netns", "exec", self.space(host), "cat", "/sys/class/net/eth0/statistics/tx_bytes"))

    def end_processes(self, space):
        found = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False).stdout.split()
        for pid in found:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self):
        for space in self.made:
            self.end_processes(space)
        for space in reversed(self.made):
            subprocess.run(["ip", "netns", "del", space], check=False)
        self.made = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *_):
        self.close()
