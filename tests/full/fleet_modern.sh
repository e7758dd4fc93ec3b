#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1500
# Every statement that soprof sends to a fleet's server, of sending and of all questions, is taken by today's ClickHouse, too
# (in process: the npm package chdb), and answered as 18.16 answers it.
. "$(dirname "$0")/../cmd/lib.bash"
. "$SOPROF_SOURCE/tests/clickhouse.bash"
for tool in curl node npm zstd; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"
modern=$SOPROF_BUILD/unpacked/chdb
[ -d "$modern" ] || { # 546 MB; what an interrupted run leaves is not taken for it
	rm -rf "$modern.part"
	npm install --no-audit --no-fund --prefix "$modern.part" chdb@3.4.0 >"$dir/npm.log" 2>&1 && mv "$modern.part" "$modern"
} || { tail -n 3 "$dir/npm.log"; skip "chdb cannot be fetched"; }

# --- between: hands on, and writes down what is said. Its answer about the version is of today's, if asked for it
cat >"$dir/record.py" <<'END'
import json, subprocess, sys, urllib.error, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
port, server, log, version = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "a"), sys.argv[4:]
def unpacked(body):
    """Blocks: a checksum, the method (zstd), the length with this head, that of the rows."""
    rows = b""
    while body:
        n = int.from_bytes(body[17:21], "little")
        assert body[16] == 0x90
        rows += subprocess.run(["zstd", "-dc"], input=body[25:16 + n], stdout=subprocess.PIPE, check=True).stdout
        body = body[16 + n:]
    return rows
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        said = {"sql": body.decode("latin1")}
        if "query" in asked:
            said = {"insert": asked["query"][0], "data": unpacked(body).hex()}
        print(json.dumps(said), file=log, flush=True)
        request = urllib.request.Request(server + self.path, data=body, method="POST")
        if self.headers["X-ClickHouse-User"]:
            request.add_header("X-ClickHouse-User", self.headers["X-ClickHouse-User"])
        try:
            with urllib.request.urlopen(request) as r:
                status, answer = r.status, r.read()
        except urllib.error.HTTPError as e:
            status, answer = e.code, e.read()
        if version and b"version()" in body:
            answer = int(version[0]).to_bytes(4, "little")
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
END
record() { # NAME [VERSION]
	local port
	port=$(free_port)
	/usr/bin/python3 "$dir/record.py" "$port" "$address" "$dir/$1.said" "${@:2}" &
	recorder=http://127.0.0.1:$port
	until (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
}
clickhouse_start one
record schema 26
expect 0 fleet init "$recorder" --print
cp "$out" "$dir/schema.sql"
has "$dir/schema.sql" 'CODEC\(ZSTD\(1\)\).* TTL day \+ INTERVAL 14 DAY'
record all
expect 0 fleet init "$recorder"
rows 1 3600 | "$fill" "$dir/store1" && rows 2 1800 | "$fill" "$dir/store2"
expect 0 fleet send "$recorder" --store "$dir/store1" --name web1 --labels 'service=web,canary=yes'
expect 0 fleet send "$recorder" --store "$dir/store2" --name web2 --labels 'canary=no'
range=(--fleet "$recorder" --from "@$((end - 1800))" --to "@$end")
expect 0 query "${range[@]}" --csv
expect 0 query "${range[@]}" --by host --csv
expect 0 query "${range[@]}" --library 'libz*' --csv
expect 0 query "${range[@]}" --function 's*' --csv
expect 0 query "${range[@]}" --process 'nginx*' --csv
expect 0 query "${range[@]}" --cgroup /system.slice --label canary=yes --csv
expect 0 query "${range[@]}" --host 'web*' --exact --format folded
expect 0 query "${range[@]}" -o "$dir/x.html"
expect 0 diff --fleet "$recorder" --label canary=yes --against canary=no -2h --by function --csv
expect 0 libs "${range[@]}" 'lib*' --csv
expect 0 fleet status "$recorder"

cat >"$modern/replay.js" <<'END'
// replay.js PLACE SCHEMA SAID SERVER: makes the tables, inserts all, then asks each question of both.
const { Session } = require("chdb"), fs = require("fs");
const [place, schema, said, server] = process.argv.slice(2);
const today = new Session(place), lines = fs.readFileSync(said, "utf8").trim().split("\n").map(JSON.parse);
const sorted = (text) => text.replace(/\n$/, "").split("\n").sort().join("\n");
let nInserts = 0, nDiffer = 0, nAsked = 0;
for (const statement of fs.readFileSync(schema, "utf8").split(";\n"))
	if (statement.trim()) today.query(statement);
const structure = {};
for (const line of today.query("SELECT table, name, type FROM system.columns WHERE database = 'soprof'", "TabSeparated").trim().split("\n")) {
	const [table, name, type] = line.split("\t");
	(structure[table] = structure[table] || {})[name] = type.replace(/\\'/g, "'");
}
for (const { insert, data } of lines.filter((l) => l.insert)) {
	const [, table, columns] = insert.match(/^INSERT INTO (\w+) \(([^)]*)\) FORMAT RowBinary$/);
	const file = `${place}/rows`;
	fs.writeFileSync(file, Buffer.from(data, "hex"));
	const types = columns.split(",").map((c) => `${c} ${structure[table][c].replace(/^LowCardinality\((.*)\)$/, "$1")}`).join(", ");
	today.query(`INSERT INTO soprof.${table} (${columns}) SELECT * FROM file('${file}', 'RowBinary', '${types}')`);
	nInserts++;
}
today.query(`INSERT INTO soprof.meta (version, seed) VALUES (1, 1)`);
today.query("USE soprof");
(async () => {
	const questions = new Set(lines.filter((l) => l.sql && / FORMAT RowBinary$/.test(l.sql)).map((l) => l.sql));
	for (const question of questions) {
		const sql = question.replace(/ FORMAT RowBinary$/, "");
		const mine = sorted(today.query(sql, "TabSeparated"));
		const r = await fetch(`${server}/?database=soprof`, { method: "POST", body: `${sql} FORMAT TabSeparated` });
		const old = sorted(await r.text());
		nAsked++;
		// the time when a row came, a seed, the server's version and its disk are its own
		if (r.status === 200 && (old === mine || /made|min\(seed\)|version\(\)|system\.parts/.test(sql))) continue;
		nDiffer++;
		console.log(`DIFFERS ${sql.slice(0, 1500)}\n--- 18.16 (${r.status})\n${old.slice(0, 600)}\n--- today's\n${mine.slice(0, 600)}`);
	}
	console.log(`${today.query("SELECT version()", "TabSeparated").trim()}: ${nAsked} questions, ${nDiffer} differ; ${nInserts} inserts`);
	today.cleanup && today.cleanup();
	process.exit(nDiffer || nAsked < 30 || nInserts < 10 ? 1 : 0);
})();
END
(cd "$modern" && timeout 900 node replay.js "$dir/chdb" "$dir/schema.sql" "$dir/all.said" "$address") 2>&1 | tail -n 60
[ "${PIPESTATUS[0]}" = 0 ] || fail "today's ClickHouse to say the same"
finish
