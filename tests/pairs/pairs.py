#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves or refutes the pairs of caller and callee in the stacks of a profile, by machine code.

Reads what `soprof profile -U -v -A` prints. A pair is the place to which a call returns and the function that
was called. It is
  confirmed  a call ends there, and leads to that function: at once, by the PLT or the GOT, or on through jumps
  possible   a call ends there, by a register or by memory that the program fills
  refuted    no call ends there, or the call leads elsewhere
  unknown    memory without a file, or a file that is not found or does not say where functions are
What a guess led to (marked as such by soprof), and what lies beyond it, is counted apart. So is what no call makes:
the frames of signal handlers' return, and the code that a whole stack begins with.
The decoder is capstone's or objdump's, tables and symbols are readelf's: nothing of soprof's own.
Exit code: 0 nothing was refuted, 1 something was, 2 usage.
"""
import argparse
import collections
import re
import sys
import machine_code as code
from objects import Files

PLACES = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/games", "/usr/local", "/opt"]
FRAME = re.compile(r"    0x([0-9a-f]{16}) (.*?) (\[[^\[\]]*\])(?: at \S+)?( \(inlined\))?( \(guessed\))?( \(derived\))?$")
Frame = collections.namedtuple("Frame", "library address is_offset guessed")
Stack = collections.namedtuple("Stack", "frames whole count")
KINDS = ("confirmed", "possible", "refuted", "unknown", "signal", "root")


def frame_of(line):
    found = FRAME.match(line)
    if not found:
        return Frame("", 0, False, False)
    address, name, library = int(found[1], 16), found[2], found[3][1:-1]
    place = re.match(r"(.+)\+0x([0-9a-f]+)$", library)
    if place: # code without a function around it: LIBRARY+0xOFFSET [LIBRARY+0xOFFSET]
        return Frame(place[1], int(place[2], 16), True, bool(found[5]))
    return Frame(library, address, name == f"{library}+0x{address:x}", bool(found[5]))


def stacks_of(text):
    """[Stack], frames from the leaf to the root."""
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if len(lines) < 3 or not lines[-1].strip().isdigit():
            continue
        frames = [frame_of(line) for line in lines if line.startswith("    0x")]
        whole = not any(line.startswith(("    [cut: ", "    [Missed")) for line in lines)
        if frames:
            yield Stack(frames, whole, int(lines[-1]))


def build_ids(text):
    """Of the summary's table: {name: the first digits, "" of a file that has none}."""
    rows = re.findall(r"^ +[\d.]+ +[\d.]+  ([0-9a-f]{8,}| {12})  (.+)$", text, re.M)
    return {name: build_id.strip() for build_id, name in rows}


class Checker:
    def __init__(self, files):
        self.files = files
        self.verdicts = {}
        self.callees = {}

    def place(self, frame):
        """(Object, address) of a frame, or (None, why)."""
        if not frame.library or frame.library.startswith(("anon", "vdso")):
            return None, frame.library.split(":")[0] or "no file"
        obj = self.files.get(frame.library)
        if not obj:
            return None, f"{frame.library}: {self.files.trouble[frame.library]}"
        return obj, obj.address_of(frame.address) if frame.is_offset else frame.address

    def judge_call(self, caller, at, callee, place):
        """The verdict, and why."""
        region = caller.function_at(at)
        if not region:
            return "unknown", f"{caller.name}: it does not say where functions are"
        found = code.call_before(caller, region, at + 1)
        if not found:
            return "refuted", "no call ends there"
        calls = found if isinstance(found, list) else [found]
        results = [self.judge_insn(caller, insn, callee, place) for insn in calls]
        return min(results, key=lambda r: KINDS.index(r[0]))

    def judge_insn(self, caller, insn, callee, place):
        reach = code.Reach(self.files, callee, place)
        to, word = code.direct(insn), code.slot(insn)
        if to is not None:
            reach.add(caller, to)
        elif word is not None:
            reach.add_word(caller, word)
        else:
            return "possible", f"call {insn.operand}"
        return reach.result(), f"call {insn.operand}"

    def judge(self, caller, callee):
        """Of two frames."""
        (obj, at), (other, place) = self.place(caller), self.place(callee)
        if not obj or not other or at is None or place is None:
            return "unknown", at if not obj else place if not other else "outside of the file"
        if code.is_trampoline(obj, at) or code.is_signals(other, place):
            return "signal", ""
        return self.judge_call(obj, at, other, place)

    def called(self, callee):
        """The frame with its address moved to where its function begins, if that is known: all of it is one callee."""
        obj, at = self.place(callee)
        region = obj.function_at(at) if obj and at is not None and not code.is_trampoline(obj, at) else None
        if not region or region.kind in ("gap", "window", "plt"):
            return callee._replace(guessed=False)
        return Frame(callee.library, region.start, False, False)

    def verdict(self, caller, callee, is_root):
        """((caller, callee), kind, why)"""
        if callee not in self.callees:
            self.callees[callee] = self.called(callee)
        key = caller._replace(guessed=False), self.callees[callee]
        if key not in self.verdicts:
            self.verdicts[key] = self.judge(*key)
        kind, why = self.verdicts[key]
        return key, "root" if kind == "refuted" and is_root and why == "no call ends there" else kind, why

    def name(self, frame):
        obj, at = self.place(frame)
        return f"{obj.named(at)} 0x{at:x}" if obj and at is not None else f"{frame.library}+0x{frame.address:x}"


def check(checker, stacks):
    """{(kind, guessed): {(caller, callee, why): samples}}, {root: samples of whole stacks}"""
    found, roots = collections.defaultdict(collections.Counter), collections.Counter()
    for stack in stacks:
        guessed = False
        for i in range(1, len(stack.frames)):
            callee, caller = stack.frames[i - 1:i + 1]
            guessed |= caller.guessed
            pair, kind, why = checker.verdict(caller, callee, stack.whole and i == len(stack.frames) - 1)
            found[kind, guessed][*pair, why] += stack.count
        if stack.whole:
            roots[stack.frames[-1]._replace(guessed=False)] += stack.count
    return found, roots


def settle(found):
    """A pair is one of guesses only where no stack has it without one."""
    for kind in KINDS:
        for pair in list(found[kind, True]):
            if pair in found[kind, False]:
                found[kind, False][pair] += found[kind, True].pop(pair)


def doubt(checker, found):
    """A file that the summary does not tell of may be another one of its name, where no call in it is confirmed."""
    sure = {caller.library for guessed in (False, True) for caller, _, _ in found["confirmed", guessed]}
    for guessed in (False, True):
        for pair in list(found["refuted", guessed]):
            caller, callee, _ = pair
            untold = [f.library for f in (caller, callee) if checker.files.is_untold(f.library) and f.library not in sure]
            if untold:
                why = f"{untold[0]}: which file of that name, nothing says"
                found["unknown", guessed][caller, callee, why] += found["refuted", guessed].pop(pair)


def begins(checker, roots):
    """What whole stacks begin with: {kind: samples}; [(kind, name, samples)] of what is no program's or thread's start."""
    kinds, others = collections.Counter(), []
    for frame, n in roots.items():
        obj, at = checker.place(frame)
        kind = code.root_kind(obj, at) if obj and at is not None else "unknown"
        kinds[kind] += n
        if kind not in ("entry", "thread"):
            others.append((kind, checker.name(frame), n))
    return kinds, others


def report(checker, found, roots, show):
    settle(found)
    doubt(checker, found)
    total = sum(len(pairs) for pairs in found.values())
    words = [f"{kind} {len(found[kind, False])}" for kind in KINDS]
    guesses = [f"{kind} {len(found[kind, True])}" for kind in KINDS if found[kind, True]]
    print(f"{total} pairs: {', '.join(words)}; by guesses: {', '.join(guesses) or 'none'}")
    kinds, others = begins(checker, roots)
    print(f"whole stacks begin with: {', '.join(f'{k} {n}' for k, n in kinds.most_common()) or 'nothing'}")
    for kind, name, n in sorted(others, key=lambda o: -o[2]):
        print(f"{kind} begins: {name}, {n} samples")
    for kind, guessed in [("refuted", False), ("refuted", True)] + [(k, g) for k in show for g in (False, True)]:
        for (caller, callee, why), n in found[kind, guessed].most_common():
            print(f"{kind}{' (guessed)' if guessed else ''}: {checker.name(caller)} -> {checker.name(callee)}: {why},"
                  f" {n} samples")
    whys = collections.Counter(why for guessed in (False, True) for _, _, why in found["unknown", guessed])
    for why, n in whys.most_common():
        print(f"unknown: {n} pairs: {why}")


def text_of(path):
    with open(0 if path == "-" else path, errors="replace") as f:
        return f.read()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--files", action="append", default=[], metavar="PATH", help="a program, or a directory, beside /usr")
    p.add_argument("--summary", metavar="FILE", help="what soprof said on stderr: tells files of one name apart")
    p.add_argument("--show", action="append", default=[], choices=KINDS, help="list these pairs, too")
    p.add_argument("profile", nargs="?", default="-")
    a = p.parse_args()
    checker = Checker(Files(a.files + PLACES, build_ids(text_of(a.summary) if a.summary else "")))
    found, roots = check(checker, stacks_of(text_of(a.profile)))
    report(checker, found, roots, a.show)
    return 1 if found["refuted", False] else 0


if __name__ == "__main__":
    sys.exit(main())
