# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile.py DIRECTORY GOLDEN: the files that view-hostile wrote, read by Python's parsers and by the rules of the
programs that the formats are for. Every name must come back byte for byte. The golden files are checked for their form.
"""
import csv
import glob
import json
import re
import sys

ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
problems = 0


def complain(*words):
    global problems
    problems += 1
    if problems < 20:
        print(*words)


def plain(text):
    """The bytes that an encoded name stands for."""
    return ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), text.encode())


def compare(what, found):
    found = list(found)
    lost, new = wanted - set(found), set(found) - wanted
    if lost or new or len(found) != len(wanted):
        complain(f"{what}: {len(found)} names, {len(lost)} lost ({list(lost)[:3]}), {len(new)} new ({list(new)[:3]})")


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def cell(text):
    return plain(re.sub(r"^'(?='*[=+\-@])", "", text))


def check_csv(directory):
    for by in "function", "process":
        rows = list(csv.DictReader(open(f"{directory}/{by}.csv", encoding="utf-8", newline=""), strict=True))
        compare(f"{by}.csv", (cell(r["name"]) for r in rows))
        for r in rows:
            if None in r or None in r.values() or r["by"] != by or int(r["self"]) != 1:
                complain(by, "a line is broken:", r)
            if r["name"][:1] in tuple("=+-@"):
                complain(by, "a spreadsheet would run", r["name"])
            if by == "function" and not r["name"] == r["library"] == r["path"]:
                complain(by, "cells differ:", r)


def check_json(directory):
    for by in "function", "process":
        table = json.loads(read(f"{directory}/{by}.json"))
        compare(f"{by}.json", (plain(g["name"]) for g in table["groups"]))
        if sum(g["self"] for g in table["groups"]) != table["total"] or table["samples"] != len(wanted):
            complain(by, "the sum is not the total")
        if by == "function" and any(g["name"] != g["library"] or g["name"] != g["path"] for g in table["groups"]):
            complain(by, "words of one group differ")


def check_folded(directory):
    stacks = []
    for line in read(f"{directory}/folded").split("\n")[:-1]:
        m = re.match(r"^(.*)\s+(\d+(?:\.\d*)?)$", line)  # flamegraph.pl's rule
        parts = m[1].split(";") if m else []
        if len(parts) != 2 or m[2] != "1":
            complain("folded: not two frames and a count:", repr(line))
        stacks += [tuple(map(plain, parts))]
    compare("folded", (s[-1] for s in stacks))
    if any(len(set(s)) != 1 for s in stacks):
        complain("folded: thread and function differ")


# stackcollapse-perf.pl's rules, which are speedscope's, too; JavaScript's \s and \w are these on what we write.
EVENT = re.compile(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+")
TIME = re.compile(r"\s+(\d+\.\d+):\s+")
EVENT_NAME = re.compile(r"(\S+):\s*$")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((\S*)\)")


def check_perf(directory):
    names, last = [], 0.0
    for event in read(f"{directory}/perf").split("\n\n")[:-1]:
        head, *frames = event.split("\n")
        m, f = EVENT.match(head), [FRAME.match(line) for line in frames]
        time, kind = TIME.search(head), EVENT_NAME.search(head)
        if head.startswith("#") or not m or not time or not kind or len(f) != 1 or not f[0] or EVENT.match(frames[0]):
            complain("perf: not an event with a frame:", repr(event))
            continue
        words = {m[1].rstrip(" "), re.sub(r"\+0x[\da-f]+$", "", f[0][2]), f[0][3]}
        if len({plain(w) for w in words}) != 1 or f[0][1] != "123" or kind[1] != "cpu-clock" or float(time[1]) < last:
            complain("perf: another event than was written:", repr(event))
        last = float(time[1])
        names.append(plain(f[0][3]))
    compare("perf", names)


def check_text(directory):
    form = re.compile(r"    (.+)\n    -                (.+) \((\d+)\)\n        1\Z")
    blocks = [form.match(block) for block in read(f"{directory}/text").split("\n\n")[:-1]]
    if None in blocks:
        complain("text: a block is broken")
    compare("text", (plain(b[1]) for b in blocks if b))
    compare("text, threads", (plain(b[2]) for b in blocks if b))


UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}


def is_number(n):
    return isinstance(n, int) and not isinstance(n, bool)


def check_speedscope_form(what, f):
    """What file-format-schema.json of speedscope demands, and what its importer needs beyond that."""
    frames = f["shared"]["frames"]
    good = f["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    good &= all(isinstance(x["name"], str) and isinstance(x.get("file", ""), str) for x in frames)
    good &= isinstance(f["name"], str) and isinstance(f["exporter"], str)
    good &= 0 <= f["activeProfileIndex"] < len(f["profiles"])
    for p in f["profiles"]:
        good &= p["type"] == "sampled" and p["unit"] in UNITS and isinstance(p["name"], str)
        good &= len(p["samples"]) == len(p["weights"]) and p["startValue"] == 0 and p["endValue"] == sum(p["weights"])
        good &= all(is_number(w) and w > 0 for w in p["weights"])
        good &= all(is_number(i) and 0 <= i < len(frames) for stack in p["samples"] for i in stack)
    if not good:
        complain(what, "is not of the form that speedscope reads")


def check_speedscope(directory):
    f = json.loads(read(f"{directory}/speedscope"))
    frames = f["shared"]["frames"]
    check_speedscope_form("speedscope", f)
    compare("speedscope", (plain(frames[s[-1]]["file"]) for s in f["profiles"][0]["samples"]))
    for s in f["profiles"][1]["samples"]:
        thread, frame = frames[s[0]], frames[s[1]]
        if len(s) != 2 or not thread["name"] == frame["name"] == frame["file"]:
            complain("speedscope: a stack is broken:", thread, frame)


def check_golden(golden):
    speedscope, tables = glob.glob(golden + "/*.speedscope.json"), glob.glob(golden + "/json-*.json")
    for path in speedscope:
        check_speedscope_form(path, json.loads(read(path)))
    for path in tables:
        table = json.loads(read(path))
        if sum(g["self"] for g in table["groups"]) + table["left_out"]["self"] != table["total"]:
            complain(path, "self does not add up")
    if not speedscope or not tables:
        complain("no golden files in", golden)


wanted = {bytes.fromhex(line) for line in open(f"{sys.argv[1]}/names", encoding="ascii")}
for check in check_csv, check_json, check_folded, check_perf, check_text, check_speedscope, check_golden:
    try:
        check(sys.argv[2 if check is check_golden else 1])
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        complain(check.__name__, repr(error))
if problems:
    sys.exit(f"{problems} problems")
print(f"{len(wanted)} names came back from every format")
