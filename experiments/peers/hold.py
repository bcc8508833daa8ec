"""Restricts peers' libraries to AVX2 on a processor that has more: copies whose CPUID instructions
cpuid.c answers."""

import os
import re
import shutil
import subprocess

from workloads import Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
CPUID, UNDEFINED = b"\x0f\xa2", b"\x0f\x0b"    # instructions of two bytes each
LOADED = re.compile(r"\s+LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)")


def tool(*command):
    if not shutil.which(command[0]):
        raise Unavailable("%s is missing; apt-get install binutils gcc" % command[0])
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def file_offset(segments, address):
    """The file offset of an address."""
    for offset, begin, size in segments:
        if begin <= address < begin + size:
            return address - begin + offset
    raise Unavailable("an instruction at %#x lies in no segment" % address)


def held_library(library, copy):
    """Writes the copy unless it is newer. Refuses a library without CPUID instructions: it would
    not be restricted."""
    if os.path.exists(copy) and os.path.getmtime(copy) > os.path.getmtime(library):
        return
    segments = [[int(word, 16) for word in found.groups()]
                for found in map(LOADED.match, tool("readelf", "-lW", library).splitlines()) if found]
    asked = [int(line.split(":")[0], 16) for line in tool("objdump", "-d", "--no-show-raw-insn", library).splitlines()
             if line.rstrip().endswith("\tcpuid")]
    if not asked:
        raise Unavailable("%s has no CPUID instruction" % os.path.basename(library))
    with open(library, "rb") as file:
        data = bytearray(file.read())
    for address in asked:
        at = file_offset(segments, address)
        if data[at:at + len(CPUID)] != CPUID:
            raise Unavailable("%s has no CPUID instruction at %#x" % (os.path.basename(library), address))
        data[at:at + len(CPUID)] = UNDEFINED
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with open(copy + ".new", "wb") as file:
        file.write(data)
    os.replace(copy + ".new", copy)


def held_package(package, copy, library):
    """Copies a folder with one library below it restricted; None: there is none."""
    for folder, _, files in os.walk(package):
        there = os.path.join(copy, os.path.relpath(folder, package))
        os.makedirs(there, exist_ok=True)
        for name in files:
            path = os.path.join(there, name)
            if os.path.relpath(os.path.join(folder, name), package) != library and not os.path.lexists(path):
                shutil.copy2(os.path.join(folder, name), path)
    if library:
        held_library(os.path.join(package, library), os.path.join(copy, library))


def preloaded(build):
    """Builds the preloaded library that answers CPUID."""
    source, out = os.path.join(HERE, "cpuid.c"), os.path.join(os.path.abspath(build), "peers", "avx2", "cpuid.so")
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        tool("gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-Wl,-z,initfirst", "-o", out, source)
    return out
