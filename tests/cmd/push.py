#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that takes profiles, and what it got, for push.sh.

push.py serve DIR: its port goes to DIR/port; requests that it takes to DIR/PATH/N.json and N.body, where PATH is the first
    part of the address. DIR/mode says how it answers: ok; status N TEXT; slow SECONDS; cut; after N (ok N times, then cut);
    reject (OTLP's partial success). Those to /agent are always taken.
push.py read DIR DATA: the requests of DIR, decoded by protoc with the descriptions in DATA; each has to be as the formats'
    readers want it. Prints services, time range, and the sum of all as folded stacks with numbers of samples.
"""
import ast, collections, gzip, http.server, json, os, re, subprocess, sys, threading, time, urllib.parse


def serve(top):
    lock = threading.Lock()
    taken = collections.Counter()

    class Server(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "120")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            place = self.path.split("/")[1]
            mode = open(top + "/mode").read()
            word, *rest = ["ok"] if place == "agent" else mode.split(None, 2)
            with lock:
                if word == "after":
                    word = "ok" if taken[mode] < int(rest[0]) else "cut"
                    taken[mode] += 1
                if word == "cut":
                    self.close_connection = True
                    return
                if word == "ok":
                    os.makedirs(f"{top}/{place}", exist_ok=True)
                    name = f"{top}/{place}/{taken[place]}"
                    taken[place] += 1
                    open(name + ".body", "wb").write(body)
                    with open(name + ".new", "w") as f:
                        json.dump({"path": self.path, "headers": dict(self.headers)}, f)
                    os.rename(name + ".new", name + ".json")
            if word == "slow":
                time.sleep(float(rest[0]))
            if word == "status":
                self.answer(int(rest[0]), rest[1].encode())
            elif word == "reject":
                self.answer(200, b"\x0a\x0b\x08\x01\x12\x07too new")
            else:
                self.answer(200, b"")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    with open(top + "/port.new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(top + "/port.new", top + "/port")
    server.serve_forever()


class Message(dict):
    """Lists of values by name; of a field that is not there, none."""

    def __missing__(self, name):
        return []

    def one(self, name, default=0):
        values = self[name]
        assert len(values) <= 1, (name, values)
        return values[0] if values else default


def decode(data, directory, name, file):
    text = subprocess.run(["protoc", f"--decode={name}", f"--proto_path={directory}", file], input=data, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    stack = [Message()]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
            continue
        name, value = line[:-2] if line.endswith(" {") else line.split(": ", 1)[0], line.split(": ", 1)[-1]
        assert not name.isdigit(), f"a field that the description does not know: {line}"
        if line.endswith(" {"):
            inner = Message()
            stack[-1].setdefault(name, []).append(inner)
            stack.append(inner)
        else:
            value = ast.literal_eval("b" + value) if value[0] == '"' else value == "true" if value[0] in "tf" else int(value)
            stack[-1].setdefault(name, []).append(value)
    return stack[0]


def read_pyroscope(request, body, data):
    url = urllib.parse.urlsplit(request["path"])
    query = urllib.parse.parse_qs(url.query, strict_parsing=True, errors="strict")
    assert url.path.endswith("/ingest"), url.path
    name, labels = re.fullmatch(r"([-A-Za-z0-9_.]+)\{(.*)\}", query["name"][0]).groups()
    labels = dict(label.split("=") for label in labels.split(","))
    kind, boundary = re.fullmatch(r"(\S+); boundary=(\w+)", request["headers"]["Content-Type"]).groups()
    assert kind == "multipart/form-data"
    parts = body.split(b"--" + boundary.encode())
    assert len(parts) == 3 and not parts[0] and parts[2] == b"--\r\n", parts
    head, profile = parts[1].split(b"\r\n\r\n", 1)
    assert b'form-data; name="profile"; filename="' in head and profile.endswith(b"\r\n")
    p = decode(gzip.decompress(profile[:-2]), data + "/view", "Profile", "profile.proto")
    strings = [s.decode() for s in p["string_table"]]
    types = [(strings[t.one("type")], strings[t.one("unit")]) for t in p["sample_type"]]
    assert types == [("samples", "count"), ("cpu", "nanoseconds")], types
    assert [strings[p.one("period_type")[x][0]] for x in ("type", "unit")] == ["cpu", "nanoseconds"] and p.one("period") == 10000000
    at = int(query["from"][0]), int(query["until"][0])
    assert (p.one("time_nanos"), p.one("duration_nanos")) == (at[0] * 10**9, (at[1] - at[0]) * 10**9)
    functions = {f.one("id"): strings[f.one("name")] for f in p["function"]}
    locations = {l.one("id"): [functions[x.one("function_id")] for x in l["line"]] for l in p["location"]}
    folded = collections.Counter()
    for s in p["sample"]:
        assert not s["label"], "labels would be series"
        assert s["value"][1] == s["value"][0] * 10000000
        folded[";".join(reversed([n for l in s["location_id"] for n in locations[l]]))] += s["value"][0]
    assert len({tuple(s["location_id"]) for s in p["sample"]}) == len(p["sample"]), "a stack is there once"
    return name, at, labels, folded


def read_otlp(request, body, data):
    assert request["path"].endswith("/v1development/profiles") and request["headers"]["Content-Type"] == "application/x-protobuf"
    assert request["headers"]["Content-Encoding"] == "gzip"
    package = "opentelemetry.proto.collector.profiles.v1development"
    message = decode(gzip.decompress(body), data + "/otlp", package + ".ExportProfilesServiceRequest",
                     package.replace(".", "/") + "/profiles_service.proto")
    d, resource = message.one("dictionary"), message.one("resource_profiles")
    for table in "mapping", "location", "function", "link", "attribute", "stack":
        items = d[table + "_table"]
        assert items[0] == {}, f"item 0 of {table}"
        assert table == "function" or len({json.dumps(i, default=str) for i in items}) == len(items), f"duplicates in {table}"
    strings = [s.decode() for s in d["string_table"]]
    assert strings[0] == "" and len(set(strings)) == len(strings)

    def attributes(item):
        found = {}
        for i in item["attribute_indices"]:
            assert i > 0
            a = d["attribute_table"][i]
            found[strings[a.one("key_strindex")]] = a.one("value").one("string_value").decode()
        return found

    about = {a.one("key").decode(): a.one("value").one("string_value").decode() for a in resource.one("resource")["attributes"]}
    scope = resource.one("scope_profiles")
    assert scope.one("scope").one("name") == b"soprof" and scope.one("scope").one("version")
    p = scope.one("profiles")
    kind = [strings[p.one(t).one(x)] for t in ("sample_type", "period_type") for x in ("type_strindex", "unit_strindex")]
    assert kind == ["samples", "count", "cpu", "nanoseconds"] and p.one("period") == 10000000, kind
    assert len(p.one("profile_id")) == 16
    ids.add(p.one("profile_id"))
    mappings = [(strings[m.one("filename_strindex")], attributes(m)) for m in d["mapping_table"]]
    for name, a in mappings:
        if name.endswith("/libz.so.1"):
            assert a == {"process.executable.build_id.gnu": "00112233445566778899aabbccddeeff00112233"}, a
    locations = []
    for l in d["location_table"]:
        m, a = d["mapping_table"][l.one("mapping_index")], attributes(l)
        assert not l.one("address") or m.one("memory_start") <= l.one("address") < m.one("memory_limit")
        if l["lines"]:
            assert a["profile.frame.type"] == ("kernel" if mappings[l.one("mapping_index")][0] == "[kernel.kallsyms]" else "native")
        locations.append([strings[d["function_table"][x.one("function_index")].one("name_strindex")] for x in l["lines"]])
    folded = collections.Counter()
    for s in p["samples"]:
        assert len(s["values"]) == 1 and s.one("stack_index") > 0
        stack = d["stack_table"][s.one("stack_index")]["location_indices"]
        folded[";".join(reversed([n for l in stack for n in locations[l]]))] += s["values"][0]
    assert len({s.one("stack_index") for s in p["samples"]}) == len(p["samples"]), "a stack is there once"
    at = p.one("time_unix_nano") // 10**9, (p.one("time_unix_nano") + p.one("duration_nano")) // 10**9
    about["host"] = about["host.name"]
    return about["service.name"], at, about, folded


ids = set()


def read(top, data):
    folded, seen, ranges = collections.Counter(), set(), set()
    names = [n[:-5] for n in os.listdir(top) if n.endswith(".json")]
    for name in sorted(names, key=int):
        request = json.load(open(f"{top}/{name}.json"))
        body = open(f"{top}/{name}.body", "rb").read()
        reader = read_pyroscope if "/ingest" in request["path"] else read_otlp
        service, at, labels, stacks = reader(request, body, data)
        assert (service, at) not in seen, f"{service} of {at} is there twice"
        seen.add((service, at))
        ranges.add(at)
        folded += stacks
        assert labels["env"] == "prod" and request["headers"]["Authorization"] == "Bearer secret-word", (labels, request)
    assert not ids or len(ids) == len(seen)
    print(*sorted({s for s, _ in seen}))
    print(min(ranges)[0], max(ranges)[1], len(ranges))
    for stack, n in sorted(folded.items()):
        print(stack, n)


serve(sys.argv[2]) if sys.argv[1] == "serve" else read(*sys.argv[2:])
