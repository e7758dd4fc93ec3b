// SPDX-License-Identifier: GPL-2.0-or-later
// An agent for the tests of its page: node serve.mjs AGENT-API STORE [NOW], AGENT-API being tests/unit/agent-api. It
// has the token "secret", and answers as the agent does, one process a question. Prints its port.
import {spawn} from "node:child_process";
import {createServer} from "node:http";
import {pathToFileURL} from "node:url";

const run = (program, parameters) => new Promise((done, fail) => {
	const child = spawn(program, parameters, {stdio: ["ignore", "pipe", "inherit"]}), parts = [];
	child.stdout.on("data", (bytes) => parts.push(bytes));
	child.on("error", fail);
	child.on("close", () => {
		const all = Buffer.concat(parts), at = all.indexOf("\n\n");
		done({head: all.subarray(0, at).toString(), body: all.subarray(at + 2)});
	});
});

// now(): seconds since 1970; asked: every question is added to it.
export async function serve(program, store, now, asked = []) {
	const page = await run(program, ["page"]);
	const server = createServer(async (q, answer) => {
		const [path, query = ""] = q.url.split("?");
		if (path === "/") {
			answer.writeHead(200, {"Content-Type": "text/html; charset=utf-8",
				"Content-Security-Policy": page.head + "; frame-ancestors 'none'"});
			return answer.end(page.body);
		}
		asked.push(q.url);
		if (q.headers.authorization !== "Bearer secret") return answer.writeHead(401).end("the token is missing\n");
		const {head, body} = await run(program, [store, path, query, String(now())]);
		answer.writeHead(Number(head) || 500, {"Content-Type": "application/json"});
		answer.end(body);
	});
	await new Promise((done) => server.listen(0, "127.0.0.1", done));
	return {url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close(), size: page.body.length};
}

if (import.meta.url === String(pathToFileURL(process.argv[1]))) {
	const [program, store, now] = process.argv.slice(2);
	console.log((await serve(program, store, () => now || Date.now() / 1000)).url);
}
