# SPDX-License-Identifier: GPL-2.0-or-later
"""ELF files as readelf prints them, and where they are: functions, symbols, what fills the GOT, bytes by address.
Where functions of a Go program are, Go's debug/gosym reads from its table (gosym.go)."""
import atexit
import bisect
import collections
import functools
import os
import re
import shutil
import subprocess
import tempfile

# kind: fde, symbol, go, plt; gap: what lies between; window: a part of a long gap, of which nobody says where functions begin
Region = collections.namedtuple("Region", "start end kind")
Slot = collections.namedtuple("Slot", "type symbol addend")  # what a relocation puts into a word
RELOCATION = r"^([0-9a-f]{16})  [0-9a-f]{16} (R_X86_64_\w+) +(?:[0-9a-f]{16} (\S+) \+ )?([0-9a-f]*)$"
SYMBOL = r"^ +\d+: ([0-9a-f]{16}) +(\S+) (FUNC|IFUNC|NOTYPE) +\w+ +\w+ +(?!UND)\S+ (\S+)"
MAX_GAP = 1 << 16  # a longer one is no function's
PLT_ENTRY = 16
PADDING = b"\xcc" * 4  # a byte or two may be of an instruction
FIFTH = b"\xcd" + b"\xcc" * 7  # and so are these, a number by which code divides by 5
INJECTED = {"runtime.asyncPreempt", "runtime.sigpanic", "runtime.sigpanic0"}
TOPS = {"runtime.rt0_go": "entry", "runtime.mstart": "thread"}  # TOPFRAME in Go's sources: its own walk ends there
USUAL = ["/usr/bin", "/usr/lib/x86_64-linux-gnu"]


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, errors="replace").stdout


@functools.cache
def gosym():
    """The program that reads Go's table, None where there is no Go."""
    if not shutil.which("go"):
        return None
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    source = os.path.join(os.path.dirname(os.path.realpath(__file__)), "gosym.go")
    environment = dict(os.environ, HOME=folder, GOCACHE=os.path.join(folder, "cache"), GO111MODULE="off")
    made = subprocess.run(["go", "build", "-o", f"{folder}/gosym", source], env=environment, check=False)
    return f"{folder}/gosym" if made.returncode == 0 else None


class Object:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)
        text = readelf("-h", "-l", "-S", "-d", "-r", "-n", path)
        self.entry = int((re.search(r"Entry point address: +0x([0-9a-f]+)", text) or [0, "0"])[1], 16)
        self.segments = [tuple(int(n, 16) for n in found) for found in re.findall(
            r"^ +LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+) ", text, re.M)]  # offset, address, bytes
        self.sections = [(name, int(at, 16), int(size, 16)) for name, at, size in re.findall(
            r"^ +\[ *\d+\] (\.\S+) +\S+ +([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+) ", text, re.M) if int(at, 16)]
        self.needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        self.soname = (re.search(r"\(SONAME\).*\[(.*)\]", text) or [0, ""])[1]
        self.build_id = (re.search(r"Build ID: ([0-9a-f]+)", text) or [0, ""])[1]
        relocations = re.findall(RELOCATION, text, re.M)
        self.slots = {int(at, 16): Slot(kind, symbol.split("@")[0], int(addend or "0", 16))
                      for at, kind, symbol, addend in relocations}
        with open(path, "rb") as f:
            self.content = f.read()

    @property
    def is_loader(self):
        return self.name.startswith(("ld-linux", "ld-musl", "ld.so", "ld-2."))

    @functools.cached_property
    def symbols(self):
        """{name: {address: type}} of the functions that it defines, and [(start, end)] of those with a size."""
        names, ranges = collections.defaultdict(dict), set()
        for at, size, kind, name in re.findall(SYMBOL, readelf("-s", self.path), re.M):
            names[name.split("@")[0]][int(at, 16)] = kind
            if kind != "NOTYPE" and int(size, 0):
                ranges.add((int(at, 16), int(at, 16) + int(size, 0)))
        return names, sorted(ranges)

    @functools.cached_property
    def functions(self):
        """[Region] by start: FDEs, and symbols or Go's functions where no FDE is."""
        fdes = {(int(a, 16), int(b, 16)) for a, b in
                re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)$", readelf("--debug-dump=frames", self.path), re.M)}
        regions = [Region(a, b, "fde") for a, b in sorted(fdes) if a < b]
        starts = [r.start for r in regions]
        others = [(a, b, "symbol") for a, b in self.symbols[1]]
        for a, b, kind in [f[:3] for f in self.go_functions] or others:
            i = bisect.bisect(starts, a) - 1
            if i < 0 or regions[i].end <= a:
                regions.append(Region(a, b, kind))
        return sorted(regions)

    @functools.cached_property
    def go_functions(self):
        """[(start, end, kind, name)]"""
        if not any(name.endswith(".gopclntab") for name, *_ in self.sections) or not gosym():
            return []
        text = subprocess.run([gosym(), self.path], capture_output=True, text=True).stdout
        return [(int(a, 16), int(b, 16), "go", name) for a, b, name in re.findall(r"^(\w+) (\w+) (.*)$", text, re.M)]

    @functools.cached_property
    def injected(self):
        """Where functions begin whose frames Go's signal handlers put above the interrupted one, without a call."""
        return {a for a, _, _, name in self.go_functions if name in INJECTED}

    @functools.cached_property
    def tops(self):
        """{where a Go function begins that has no caller: what begins with it}"""
        named = [(a, name.removesuffix(".abi0")) for a, _, _, name in self.go_functions]
        return {a: TOPS[name] for a, name in named if name in TOPS}

    @functools.cached_property
    def starts(self):
        return [r.start for r in self.functions]

    def section_at(self, address):
        return next((s for s in self.sections if s[1] <= address < s[1] + s[2]), ("", 0, 0))

    @functools.lru_cache(maxsize=1 << 18)
    def function_at(self, address):
        name, at, _ = self.section_at(address)
        if name.startswith(".plt"):
            start = at + (address - at) // PLT_ENTRY * PLT_ENTRY
            return Region(start, start + PLT_ENTRY, "plt")
        i = bisect.bisect(self.starts, address)
        for region in reversed(self.functions[max(i - 3, 0):i]):
            if address < region.end:
                return region
        _, low, size = self.section_at(address)
        high = low + size
        if i:
            low = max(low, self.functions[i - 1].end)
        if i < len(self.functions):
            high = min(high, self.functions[i].start)
        if not size:
            return None
        return Region(low, high, "gap") if high - low <= MAX_GAP else self.between_padding(address, low, high)

    def between_padding(self, address, low, high):
        """Where most functions have no FDE, lld and V8 put int3 between them, up to a multiple of 16: some of them."""
        low, high = max(low, address - MAX_GAP // 2), min(high, address + MAX_GAP // 2)
        code = self.bytes_at(low, high - low)
        begins = [low + i + 4 for i in range((-low - 4) % 16, len(code) - 4, 16)
                  if code[i:i + 4] == PADDING and code[i + 4] != PADDING[0] and code[max(i - 4, 0):i + 4] != FIFTH]
        i = bisect.bisect(begins, address)
        if not 0 < i < len(begins):
            return Region(low, high, "window")
        return Region(begins[i - 1], begins[i], "gap")

    def address_of(self, offset):
        return next((offset - o + a for o, a, n in self.segments if o <= offset < o + n), None)

    def bytes_at(self, address, n):
        for offset, start, size in self.segments:
            if start <= address < start + size:
                at = offset + address - start
                return self.content[at:min(at + n, offset + size)]
        return b""

    def named(self, address):
        """What a person calls the function there."""
        region = self.function_at(address)
        names = [n for n, at in self.symbols[0].items() if region and region.start in at]
        return f"{min(names, key=len) if names else hex(region.start) if region else hex(address)} [{self.name}]"


class Files:
    """Where the files of a profile are, by what it calls them."""
    def __init__(self, places, build_ids):
        self.places = places
        self.build_ids = build_ids  # {name: the first digits of its build id, "" of a file that has none}
        self.loaded = {}
        self.trouble = {}

    @functools.cached_property
    def index(self):
        found = collections.defaultdict(set)
        for place in self.places:
            if os.path.isfile(place):
                found[os.path.basename(place)].add(os.path.realpath(place))
            for folder, _, names in os.walk(place):
                for name in names:
                    found[name].add(os.path.join(folder, name))
        return found

    def objects(self, paths):
        """Distinct ELF files among these paths."""
        contents = {}
        for path in sorted({os.path.realpath(p) for p in paths if os.path.isfile(p)}):
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    obj = Object(path)
                    contents.setdefault(obj.build_id or path, obj)
        return list(contents.values())

    def candidates(self, name):
        """Those of this name, or that a link of this name leads to: where most are, then everywhere."""
        wanted = self.build_ids.get(name)
        if not wanted:
            found = self.objects(self.index.get(name, ()))
            return found if wanted is None else [o for o in found if not o.build_id]
        near = [p if os.path.basename(p) == name else os.path.join(p, name) for p in self.places + USUAL]
        return self.with_id(wanted, near) or self.with_id(wanted, self.index.get(name, ()))

    def with_id(self, wanted, paths):
        return [o for o in self.objects(paths) if o.build_id.startswith(wanted)]

    def is_untold(self, name):
        return bool(self.build_ids) and name not in self.build_ids

    def get(self, name):
        """The Object, or None: why is in trouble[name]."""
        if name not in self.loaded:
            found = self.candidates(name)
            self.loaded[name] = found[0] if len(found) == 1 else None
            if len(found) != 1:
                self.trouble[name] = f"{len(found)} files of that name" if found else self.missing(name)
        return self.loaded[name]

    def missing(self, name):
        others = sorted(self.index.get(name, ())) if name in self.build_ids else []
        return f"not that build: {others[0]}" if others else "no such file"

    def defining(self, symbol, user):
        """[(Object, address, type)] in the files of the profile; else in those that `user` needs, and so on."""
        def among(objects):
            return [(o, at, kind) for o in objects if o for at, kind in o.symbols[0].get(symbol, {}).items()]
        found = among(self.loaded.values())
        wait, seen = list(user.needed), set()
        while wait and not found:
            name = wait.pop(0)
            if name in seen:
                continue
            seen.add(name)
            obj = self.get(name)
            if obj:
                found = among([obj])
                wait += obj.needed
        return found
