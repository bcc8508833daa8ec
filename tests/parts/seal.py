"""Runs in gdb, for check.py: makes the code that a static program drops while a model runs
inaccessible. A page that is entered is made accessible again, so that the run continues; at the
end each is printed: part, function, caller.

The program's own calls show what it drops and makes resident: mafat_process_keep_code,
mafat_process_drop and mafat_process_populate. Readers of model files (`import`) are sealed when
they are dropped by name: opening the weights of a packed model enters them once more."""
import re
import struct

import gdb

PAGE, READ, EXECUTE = 4096, 1, 4
# For each architecture: the system call instruction, the number of mprotect, the registers of
# program counter, number and arguments, and those that a call overwrites.
CALLS = {
    "i386:x86-64": (b"\x0f\x05", 10, "rip", "rax", ("rdi", "rsi", "rdx"), ("rcx", "r11")),
    "aarch64": (b"\x01\x00\x00\xd4", 226, "pc", "x8", ("x0", "x1", "x2"), ()),
}
SETTINGS = (
    "set pagination off",
    "set confirm off",
    "set print thread-events off",
    "handle SIGSEGV stop nopass print",
    "handle SIGPIPE SIGALRM SIGUSR1 SIGUSR2 SIGCHLD nostop noprint pass",
)


def number(expression):
    return int(gdb.parse_and_eval(f"(unsigned long)({expression})"))


def name_of(address):
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return re.sub(r"( \+ \d+)? in section.*", "", text).strip() if " in section" in text else "?"


class Program:
    """The process, its file's segments and parts, and the sealed pages."""

    def __init__(self):
        process = gdb.selected_inferior()
        self.begin = number("&__ehdr_start")
        head = bytes(process.read_memory(self.begin, PAGE))
        offset, (size, count) = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<HH", head, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", head, offset + size * i) for i in range(count)]
        loads = [header for header in headers if header[0] == 1]
        moved = self.begin - min(header[3] for header in loads)
        self.segments = [(moved + at, moved + at + bytes_, flags) for _, flags, _, at, _, _, bytes_, _ in loads]
        self.end = min(begin for begin, _, flags in self.segments if flags & 2) // PAGE * PAGE
        architecture = gdb.selected_frame().architecture().name()
        instruction, self.mprotect, self.pc, self.call, self.arguments, self.lost = CALLS[architecture]
        gate = number("&mprotect")
        self.gate = gate + bytes(process.read_memory(gate, 64)).index(instruction)
        kinds = ("functions", "variables")
        symbols = "".join(gdb.execute(f"info {kind} ^mafat_linked_", to_string=True) for kind in kinds)
        found = re.findall(r"^(0x\w+) +mafat_linked_(\w+)$", symbols, re.M)
        self.parts = sorted((int(at, 16), part) for at, part in found)
        self.result = "x0" if self.pc == "pc" else "rax"
        self.sealed = set()
        self.entries = []
        self.most = 0

    def part_at(self, address):
        last = [part for begin, part in self.parts if begin <= address][-1:]
        return last[0] if last and not last[0].endswith("_end") else "no part"

    def protect(self, begin, end, rights):
        """Makes a system call in the process, between two of its instructions."""
        registers = (self.pc, self.call, *self.arguments)
        before = {name: number(f"${name}") for name in (*registers, *self.lost)}
        for name, value in zip(registers, (self.gate, self.mprotect, begin, end - begin, rights)):
            gdb.execute(f"set ${name} = {value}")
        gdb.execute("stepi", to_string=True)
        result = number(f"${self.result}")
        for name, value in before.items():
            gdb.execute(f"set ${name} = {value}")
        if result and rights == 0:
            raise gdb.error(f"mprotect of {begin:#x} to {end:#x} fails: {2 ** 64 - result}")

    def seal(self, begin, end):
        begin = (max(begin, self.begin) + PAGE - 1) // PAGE * PAGE
        end = min(end, self.end) // PAGE * PAGE
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
        """mafat_process_keep_code(parts, n): everything between the parts is dropped."""
        memory = gdb.selected_inferior().read_memory(self.argument(0), 16 * self.argument(1))
        kept = list(struct.iter_unpack("<QQ", bytes(memory)))
        places = {part: at for at, part in self.parts}
        gdb.execute("finish", to_string=True)
        self.open(self.begin, self.end)
        at = self.begin
        for begin, end in [*kept, (self.end, self.end)]:
            self.seal(at, min(begin, places["import"]))
            self.seal(max(at, places["import_end"]), begin)
            at = end

    def fault(self):
        address, here = number("$_siginfo._sifields._sigfault.si_addr"), number(f"${self.pc}")
        if address // PAGE * PAGE not in self.sealed:
            print(f"seal: failed: a fault at {address:#x}, from {name_of(here)}")
            return False
        if here == address:
            try:
                here = gdb.selected_frame().older().pc()
            except (gdb.error, AttributeError):
                here = 0
        text = f"{self.part_at(address)}: {name_of(address)} from {name_of(here)}"
        self.entries.append((address, text))
        self.open(address, address + 1)
        return True


def main():
    for line in (*SETTINGS, "tbreak mafat_process_keep_code", "run"):
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
            if stop == "populate": # a decoder: entered when its first picture is opened, then counted
                program.entries = [entry for entry in program.entries if not begin <= entry[0] < end]
        elif not program.fault():
            break
        gdb.execute("continue", to_string=True)
    for _, text in program.entries:
        print(f"seal: entered {text}")
    if not gdb.selected_thread():
        print(f"seal: {program.most} pages were sealed")


try:
    main()
except gdb.error as problem:
    print(f"seal: failed: {problem}")
