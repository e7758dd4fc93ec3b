// SPDX-License-Identifier: GPL-2.0-or-later
// What axe, the checker of accessibility, says of the pages: node axe.mjs CHROMIUM AXE.MIN.JS REPORT.html TIMED.html GRAPH.svg AGENT-API STORE END,
// where STORE is of the three hours before END. Prints a line a check; exit code 1 if any failed.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import {Browser} from "../cmd/chromium.mjs";
import {serve} from "./serve.mjs";

const [program, axe, report, timed, graph, api, store, end] = process.argv.slice(2), script = readFileSync(axe, "utf8");
const server = await serve(api, store, () => Number(end)), browser = new Browser(program), page = await browser.page(1440, 900);
let failed = 0;

async function check(what) {
	await page.run(script + "; 0");
	const {violations, passes} = await page.run(`axe.run(document).then((r) => ({passes: r.passes.length, violations: r.violations.flatMap((v) =>
		v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + ": " + n.failureSummary.split("\\n").slice(1, 3).join(" ").trim()))}))`);
	const bad = violations.length || passes < 5;
	console.log((bad ? "FAILED " : "ok ") + what + [`: ${passes} rules held`, ...violations].join("\n   "));
	failed += bad ? 1 : 0;
}
async function open(url, ready) {
	await page.open(url);
	for (let i = 0; i < 200 && !await page.run(ready); i++) await new Promise((done) => setTimeout(done, 50));
}
const key = async (k) => {
	await page.key(k);
	await new Promise((done) => setTimeout(done, 250));
};

const file = String(pathToFileURL(report)), there = `!document.getElementById("app").hidden`;
for (const dark of [false, true]) {
	await page.dark(dark);
	await open(file + "#l=libcrypto.so.3&s=main", there);
	await key("Enter");
	await check(`the report, ${dark ? "dark" : "light"}`);
	await open(String(pathToFileURL(timed)) + "#at=5-9", there);
	await check(`a range of the report's time, ${dark ? "dark" : "light"}`);
	await open(String(pathToFileURL(graph)) + "#s=main&l=libcrypto.so.3", "true");
	await check(`the svg, ${dark ? "dark" : "light"}`);
}
for (const view of ["sandwich&p=lib:libcrypto.so.3", "matrix&m=1.2", "functions", "tree"]) {
	await open(file + "#v=" + view, there);
	await check("the report: " + view);
}
await key("?");
await check("the report: help");

const answered = `!document.getElementById("app").hidden && !document.getElementById("app").classList.contains("asking")`;
await open(server.url, `!document.getElementById("login").hidden`);
await check("the agent's page without a token");
await open(server.url + "#token=secret&span=10800", answered);
for (const view of ["flame", "functions", "events", "processes"]) {
	await open(server.url + "#span=10800&v=" + view, answered);
	await check("the agent's page: " + view);
}
await page.dark(false);
await open(server.url + `#span=10800&at=${end - 3600}-${end - 1800}&before=${end - 7200}-${end - 5400}&process=nginx`, answered);
await key("e");
await check("the agent's page: two ranges, filters");
await page.resize(390, 844);
await open(server.url + "#span=10800", answered);
await page.run(`document.getElementById("menu").click()`);
await check("the agent's page on a phone, its menu open");
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
