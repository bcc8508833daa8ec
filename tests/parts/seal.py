"""Runs in gdb, for check.py: takes all rights from the code that a static program drops while a model runs, and prints a line for
each page of it that is entered nevertheless: the part, the function, its caller. The page is opened then, so that the run goes on.

The program says itself what it drops and makes resident: by mafat_process_keep_code, mafat_process_drop and
mafat_process_populate. Readers of model files (`import`) are sealed only when they are dropped by name: opening the weights of a
packed model enters them once more."""
import re
import struct

import gdb

PAGE, READ, EXECUTE = 4096, 1, 4
# By architecture: a system call's instruction, its number of mprotect, registers.
CALLS = {"i386:x86-64": (b"\x0f\x05", 10, "rip", "rax", ("rdi", "rsi", "rdx"), ("rcx", "r11")),
         "aarch64": (b"\x01\x00\x00\xd4", 226, "pc", "x8", ("x0", "x1", "x2"), ())}


def number(expression):
    return int(gdb.parse_and_eval(f"(unsigned long)({expression})"))


def name_of(address):
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return re.sub(r"( \+ \d+)? in section.*", "", text).strip() if " in section" in text else "?"


class Program:
    def __init__(self):
        process = gdb.selected_inferior()
        head = bytes(process.read_memory(number("&__ehdr_start"), PAGE))
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", head, offset + size * i) for i in range(count)]
        loads = [header for header in headers if header[0] == 1]
        self.begin = number("&__ehdr_start")
        moved = self.begin - min(header[3] for header in loads)
        self.segments = [(moved + header[3], moved + header[3] + header[6], header[1]) for header in loads]
        self.end = min(begin for begin, _, flags in self.segments if flags & 2) // PAGE * PAGE
        self.instruction, self.mprotect, self.pc, self.call, self.arguments, self.lost = CALLS[gdb.selected_frame().architecture().name()]
        gate = number("&mprotect")
        self.gate = gate + bytes(process.read_memory(gate, 64)).index(self.instruction)
        symbols = "".join(gdb.execute(f"info {kind} ^mafat_linked_", to_string=True) for kind in ("functions", "variables"))
        self.parts = sorted((int(at, 16), part) for at, part in re.findall(r"^(0x\w+) +mafat_linked_(\w+)$", symbols, re.M))
        self.sealed = set()
        self.most = 0

    def part_at(self, address):
        last = [part for begin, part in self.parts if begin <= address][-1:]
        return last[0] if last and not last[0].endswith("_end") else "no part"

    def protect(self, begin, end, rights):
        registers = (self.pc, self.call, *self.arguments)
        before = {name: number(f"${name}") for name in (*registers, *self.lost)}
        for name, value in zip(registers, (self.gate, self.mprotect, begin, end - begin, rights)):
            gdb.execute(f"set ${name} = {value}")
        gdb.execute("stepi", to_string=True)
        for name, value in before.items():
            gdb.execute(f"set ${name} = {value}")

    def seal(self, begin, end):
        begin, end = (max(begin, self.begin) + PAGE - 1) // PAGE * PAGE, min(end, self.end) // PAGE * PAGE
        if begin < end:
            self.protect(begin, end, 0)
            self.sealed.update(range(begin, end, PAGE))
            self.most = max(self.most, len(self.sealed))

    def open(self, begin, end):
        for page in range(begin // PAGE * PAGE, end, PAGE):
            if page in self.sealed:
                flags = [flags for first, last, flags in self.segments if first - PAGE < page < last]
                self.protect(page, page + PAGE, READ | (EXECUTE if any(f & 1 for f in flags) else 0))
                self.sealed.remove(page)

    def argument(self, index):
        return number(f"${self.arguments[index]}")

    def keep(self):
        """mafat_process_keep_code(parts, n): all that lies between the parts is dropped."""
        kept = struct.iter_unpack("<QQ", bytes(gdb.selected_inferior().read_memory(self.argument(0), 16 * self.argument(1))))
        names = {part: at for at, part in self.parts}
        at = self.begin
        gdb.execute("finish", to_string=True)
        self.open(self.begin, self.end)
        for begin, end in [*kept, (self.end, self.end)]:
            self.seal(at, min(begin, names["import"]))
            self.seal(max(at, names["import_end"]), begin)
            at = end

    def fault(self):
        address = number("$_siginfo._sifields._sigfault.si_addr")
        if address // PAGE * PAGE not in self.sealed:
            print(f"seal: failed: a fault at {address:#x}, from {name_of(number(f'${self.pc}'))}")
            return False
        here = number(f"${self.pc}")
        if here == address:
            try:
                here = gdb.selected_frame().older().pc()
            except (gdb.error, AttributeError):
                here = 0
        print(f"seal: entered {self.part_at(address)}: {name_of(address)} from {name_of(here)}")
        self.open(address, address + 1)
        return address // PAGE * PAGE not in self.sealed


def main():
    for line in ("set pagination off", "set confirm off", "set print thread-events off", "handle SIGSEGV stop nopass print",
                 "handle SIGPIPE SIGALRM SIGUSR1 SIGUSR2 SIGCHLD nostop noprint pass", "tbreak mafat_process_keep_code", "run"):
        gdb.execute(line)
    if not gdb.selected_thread():
        return
    program = Program()
    stops = {number(f"&mafat_process_{name}"): name for name in ("keep_code", "drop", "populate")}
    for address in stops:
        gdb.execute(f"break *{address:#x}", to_string=True)
    while gdb.selected_thread():
        stop = stops.get(number(f"${program.pc}"))
        if stop == "keep_code":
            program.keep()
        elif stop:
            begin, end = program.argument(0), program.argument(1)
            gdb.execute("finish", to_string=True)
            if program.begin <= begin < program.end:
                (program.seal if stop == "drop" else program.open)(begin, end)
        elif not program.fault():
            return
        gdb.execute("continue", to_string=True)
    print(f"seal: {program.most} pages were sealed")


try:
    main()
except gdb.error as problem:
    print(f"seal: failed: {problem}")
