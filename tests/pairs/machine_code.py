# SPDX-License-Identifier: GPL-2.0-or-later
"""Machine code, decoded by capstone, and by objdump what capstone does not know: calls, and where jumps lead."""
import collections
import functools
import re
import subprocess
import capstone

Insn = collections.namedtuple("Insn", "at size op operand")
MAX_NODES = 400     # functions that tail calls are followed through
ENTRY_BYTES = 64    # the code at a program's entry point is not longer
MAX_TABLE = 256     # addresses in a table that a jump goes by
MAX_WALK = 30000    # instructions, where nobody says where functions end
N_DECODED = 128     # ranges that are kept decoded; a large one takes 5 MB
ENDS = {"ret", "retf", "jmp", "ud2", "hlt", "int3", "iretq"}
UD1 = b"\x67\x0f\xb9\x40"
SIGRETURN = (b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", b"\xb8\x0f\x00\x00\x00\x0f\x05")
PREFIXES = {"bnd", "notrack", "data16", "rex.w", "rep", "repz", "lock", "addr32", "cs", "ds", "es", "ss"}

decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)


def plain(mnemonic, operand):
    words = mnemonic.split()
    while len(words) > 1 and words[0] in PREFIXES:
        words.pop(0)
    return words[0], " ".join(words[1:] + [operand]).strip()


def by_objdump(obj, start, end):
    command = ["objdump", "-d", "-w", "-M", "intel", f"--start-address={start}", f"--stop-address={end}", obj.path]
    text = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    insns = []
    for at, raw, rest in re.findall(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$", text, re.M):
        op, operand = plain(*(re.split(r"\s+", re.sub(r" *[#<].*", "", rest).strip(), 1) + [""])[:2])
        if op in ("call", "jmp") or op.startswith(("j", "loop")):
            operand = re.sub(r"^([0-9a-f]+)$", r"0x\1", operand)
        insns.append(Insn(int(at, 16), len(raw.split()), op, re.sub(r"(QWORD) PTR", "qword ptr", operand)))
    return insns


def by_capstone(code, start):
    """What capstone knows, and clang's `ud1 N(%eax), %eax`, which it does not."""
    at = 0
    while at < len(code):
        insns = [Insn(*found[:2], *plain(*found[2:])) for found in decoder.disasm_lite(code[at:], start + at)]
        yield from insns
        at += sum(i.size for i in insns)
        if not code.startswith(UD1, at):
            return
        yield Insn(start + at, len(UD1) + 1, "ud2", "")
        at += len(UD1) + 1


@functools.lru_cache(maxsize=N_DECODED)
def decode(obj, start, end):
    insns = list(by_capstone(obj.bytes_at(start, end - start), start))
    whole = insns and insns[-1].at + insns[-1].size == end
    return insns if whole else by_objdump(obj, start, end)


@functools.lru_cache(maxsize=1 << 18)
def insn_at(obj, at, end):
    """The first instruction, where nobody says where the next ones end."""
    end = min(at + 15, end)
    found = next(by_capstone(obj.bytes_at(at, end - at), at), None)
    return found or next(iter(by_objdump(obj, at, end)), Insn(at, 1, "ud2", ""))


def direct(insn):
    return int(insn.operand, 16) if insn.operand.startswith("0x") else None


def slot(insn):
    """The address of the word that a call or jump goes by, if it has one of its own."""
    found = re.match(r"qword ptr (?:ds:)?\[(?:rip ([+-]) (0x[0-9a-f]+|\d+)|(0x[0-9a-f]+))\]$", insn.operand)
    if not found:
        return None
    if found[3]:
        return int(found[3], 16)
    return insn.at + insn.size + (-1 if found[1] == "-" else 1) * int(found[2], 0)


def is_jump(insn):
    return insn.op.startswith("j") or insn.op.startswith("loop")


def is_switch(insns, i):
    """Whether an indirect jump is one by a table of offsets, which stays in its function: to a sum in a register."""
    register = insns[i].operand
    before = insns[max(i - 12, 0):i]
    writes = [b for b in before if b.operand.split(",")[0] == register and b.op not in ("cmp", "test", "push")]
    is_sum = bool(writes) and writes[-1].op == "add" and writes[-1].operand.startswith(register + ", r")
    return is_sum and any(b.op in ("movsxd", "movslq") for b in before)


def table_of(insns, i):
    """The table of addresses that an indirect jump goes by, by an index; None where it is no such jump."""
    found = re.match(r"qword ptr (?:ds:)?\[(?:(r\w+) ?\+ ?)?r\w+ ?\* ?8(?: ?\+ ?(0x[0-9a-f]+))?\]$", insns[i].operand)
    if not found:
        return None
    if found[2] and not found[1]:
        return int(found[2], 16)
    for insn in reversed(insns[:i]):
        lea = re.match(rf"{found[1]}, \[rip ([+-]) (0x[0-9a-f]+)\]$", insn.operand) if insn.op == "lea" else None
        if lea:
            return insn.at + insn.size + (-1 if lea[1] == "-" else 1) * int(lea[2], 16) + int(found[2] or "0", 16)
    return None


def words_of(obj, table):
    """The addresses in a table: as relocations fill it, or as it stands in a program that is linked to a place."""
    for at in range(table, table + 8 * MAX_TABLE, 8):
        word = obj.slots.get(at)
        value = word.addend if word else int.from_bytes(obj.bytes_at(at, 8), "little")
        if word and word.type != "R_X86_64_RELATIVE" or not obj.function_at(value):
            return
        yield value


def call_before(obj, region, after):
    """The call that ends at this address: Insn, None where none does, or a list where its start is not known."""
    if region.kind not in ("gap", "window"):
        for how in (decode, by_objdump):
            insn = next((i for i in how(obj, region.start, region.end) if i.at + i.size == after), None)
            if insn and insn.op == "call":
                return insn
        return None
    found = []
    for size in range(2, 9):
        insns = list(by_capstone(obj.bytes_at(after - size, size), after - size))
        if len(insns) == 1 and insns[0].op == "call" and insns[0].size == size:
            found.append(insns[0])
    return found or None


def is_signals(obj, at):
    """Whether no call leads to this code or from it, but a signal: what handlers return to, or put on the stack."""
    region = obj.injected and obj.function_at(at)
    return is_trampoline(obj, at) or bool(region) and region.start in obj.injected


def is_trampoline(obj, at):
    """Whether handlers of signals return to this code: its address, one less, its second instruction, or behind that."""
    return any(obj.bytes_at(at + by, 12).startswith(SIGRETURN) for by in (1, 0, -5, -7, -9))


def is_resolver(obj, at):
    """Whether this is the loader's code that binds a name at the first call."""
    region = obj.is_loader and obj.function_at(at)
    return bool(region) and any(i.op.startswith(("xsave", "fxsave")) for i in decode(obj, region.start, region.end))


@functools.lru_cache(maxsize=N_DECODED)
def walked(obj, at, start, end):
    """Code of which nobody says where functions end, along all its branches: ({at: size}, whether that is all)."""
    wait, seen, is_all = [at], {}, True
    while wait and len(seen) < MAX_WALK:
        at = wait.pop()
        while at not in seen and start <= at < end:
            insn = insn_at(obj, at, end)
            seen[at] = insn.size
            if is_jump(insn) and direct(insn) is not None:
                wait.append(direct(insn))
            elif is_jump(insn):
                is_all = False
            if insn.op in ENDS:
                break
            at += insn.size
    return seen, is_all and not wait


@functools.lru_cache(maxsize=None)
def exits(obj, region):
    """The jumps that leave a function, and what it falls into: [(kind, address)] of to, word, table; or unsure."""
    insns, found = decode(obj, region.start, region.end), []
    for i, insn in enumerate(insns):
        if not is_jump(insn):
            continue
        to, word, table = direct(insn), slot(insn), table_of(insns, i)
        if to is not None:
            if not region.start <= to < region.end:
                found.append(("to", to))
        elif word is not None:
            found.append(("word", word))
        elif table is not None:
            found.append(("table", table))
        elif not is_switch(insns, i):
            found.append(("unsure", 0))
    if insns and insns[-1].op not in ENDS and insns[-1].op != "call" and region.kind != "gap":
        found.append(("to", region.end))
    return tuple(dict.fromkeys(found))


class Reach:
    """Whether a call of an address comes to a function, by jumps alone: "confirmed", "possible" or "refuted"."""
    def __init__(self, files, callee, place):
        self.files, self.callee, self.place = files, callee, place
        self.target = callee.function_at(place)
        self.unsure = self.target is None
        self.seen, self.wait = set(), []

    def add(self, obj, at):
        self.wait.append((obj, at))

    def add_word(self, obj, at):
        """What stands in a word of the GOT."""
        word, (section, *_) = obj.slots.get(at), obj.section_at(at)
        if not section.startswith(".got") and not (word and word.type == "R_X86_64_JUMP_SLOT"):
            self.unsure = True
        elif word and word.symbol:
            self.add_symbol(obj, word)
        elif word and word.type == "R_X86_64_RELATIVE":
            self.add(obj, word.addend)
        elif not word and any(obj.bytes_at(at, 8)):
            self.add(obj, int.from_bytes(obj.bytes_at(at, 8), "little"))
        elif not word:
            self.wait.append((None, None)) if is_resolver(self.callee, self.place) else None
        else:
            self.unsure = True  # R_X86_64_IRELATIVE: the program chooses

    def add_symbol(self, obj, word):
        found = self.files.defining(word.symbol, obj)
        self.unsure |= not found
        for where, at, kind in found:
            if kind == "IFUNC":
                self.unsure = True
            else:
                self.add(where, at)
        # until it is bound, a word of the PLT leads back to its entry, and that to the loader
        if word.type == "R_X86_64_JUMP_SLOT" and is_resolver(self.callee, self.place):
            self.wait.append((None, None))

    def is_there(self, obj, at, region):
        if obj is not self.callee or not self.target:
            return False
        if "window" in (region.kind, self.target.kind):
            return self.walks_to(obj, at, *obj.section_at(at)[1:])
        if self.target.kind == "plt" and region.kind == "plt":
            return region == self.target or obj.section_at(self.place)[0] == ".plt"
        if self.target.kind != "gap" or region != self.target:
            return region == self.target
        return self.walks_to(obj, at, self.target.start, self.target.end - self.target.start)

    def walks_to(self, obj, at, start, size):
        seen, is_all = walked(obj, at, start, start + size)
        self.unsure |= not is_all
        return any(place in seen and self.place < place + seen[place] for place in range(self.place - 14, self.place + 1))

    def add_table(self, obj, region, table):
        """Of a switch, or of functions; where it ends nobody says, so it may have one word too many."""
        words = [w for w in words_of(obj, table) if not region.start <= w < region.end]
        for word in words:
            self.add(obj, word)
        self.unsure |= not any(words_of(obj, table))

    def follow(self, obj, region):
        if region.kind == "window":  # it was walked from where it was entered
            self.unsure |= obj is not self.callee
            return
        for kind, at in exits(obj, region):
            if kind == "to":
                self.add(obj, at)
            elif kind == "word":
                self.add_word(obj, at)
            elif kind == "table":
                self.add_table(obj, region, at)
            else:
                self.unsure = True

    def result(self):
        while self.wait:
            obj, at = self.wait.pop(0)
            if not obj:
                return "confirmed"
            region = obj.function_at(at)
            if not region:
                self.unsure = True
                continue
            if self.is_there(obj, at, region):
                return "confirmed"
            if (obj, region) in self.seen:
                continue
            self.seen.add((obj, region))
            if len(self.seen) > MAX_NODES:
                return "possible"
            self.follow(obj, region)
        return "possible" if self.unsure else "refuted"


def starts_threads(obj, at):
    """Whether what stands here is behind the system call clone or clone3: what it leaves is a thread's beginning."""
    before = obj.bytes_at(at - 255, 256)
    return b"\x0f\x05" in before and re.search(rb"\xb8(\xb3\x01|\x38\x00)\x00\x00|\xb0\x38", before) is not None


def root_kind(obj, at):
    """What a stack that is called whole begins with: entry, thread, fiber (no call ends there), other."""
    region = obj.function_at(at)
    if 0 <= at - obj.entry < ENTRY_BYTES or region and region.start <= obj.entry < region.end:
        return "entry"
    if not region:
        return "unknown"
    if region.start in obj.tops:
        return obj.tops[region.start]
    if starts_threads(obj, at):
        return "thread"
    return "other" if call_before(obj, region, at + 1) else "fiber"
