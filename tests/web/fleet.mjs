// SPDX-License-Identifier: GPL-2.0-or-later
// `soprof serve` over the fleet of tests/cmd/fleet.sh: node fleet.mjs CHROMIUM ADDRESS TOKEN AGENT-API DIRECTORY END.
// What it says of a host is what the same API says of the host's own store (store1 is web1's); of both their sums. Then
// the page, in a browser. Prints a line a check; exit code 1 if any failed. With PICTURES in the environment,
// screenshots are written there.
import {spawnSync} from "node:child_process";
import {writeFileSync} from "node:fs";
import {Browser} from "../cmd/chromium.mjs";

const [program, address, token, api, directory, endText] = process.argv.slice(2), end = Number(endText);
const range = {from: end - 1800, to: end};
let failed = 0;
function check(what, got, wanted) {
	const ok = wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted);
	console.log((ok ? "ok " : "FAILED ") + what + (ok ? "" : ": " + JSON.stringify(got).slice(0, 2000) + ", wanted " +
		(wanted instanceof RegExp ? wanted : JSON.stringify(wanted).slice(0, 2000))));
	failed += !ok;
}

// --- the API ---
async function answer(route, parameters, headers = {Authorization: "Bearer " + token}) {
	const a = await fetch(`${address}api/v1/${route}?${new URLSearchParams(parameters)}`, {headers});
	const text = await a.text();
	return {status: a.status, text, ...(a.status === 200 ? JSON.parse(text) : {})};
}
function ofStore(host, route, parameters) {
	const run = spawnSync(api, [`${directory}/store${host}`, "/api/v1/" + route, String(new URLSearchParams(parameters)), endText]);
	return JSON.parse(run.stdout.subarray(run.stdout.indexOf("\n\n") + 2));
}
// Rows have no order of their own where their values are the same; what only one of the two knows is left out.
const rowsOf = (a) => a.rows.map(({pid, user, ...r}) => JSON.stringify(r)).sort();
const nodesOf = (a) => a.trees.map((t) => t.id.map((id, i) => [id, t.depth[i], ...t.self.map((column) => column[i])].join()).sort());

check("without a token it says nothing", (await answer("libraries", range, {})).status, 401);
for (const host of [1, 2]) {
	const parameters = {...range, host: "web" + host};
	for (const more of [{}, {value: "samples"}, {library: "libz*"}, {process: "git"}, {user: 33}]) {
		for (const route of Object.keys(more).length ? ["functions"] : ["libraries", "functions", "matrix", "cgroups", "users"]) {
			const got = await answer(route, {...parameters, ...more}), wanted = ofStore(host, route, {...range, ...more});
			if (!wanted.rows.length) throw new Error("the store has nothing for " + route);
			const of = `web${host}: ${route} ${JSON.stringify(more)}`;
			check(of, rowsOf(got), rowsOf(wanted));
			check(of + ": the whole", [got.whole, got.samples, got.unit], [wanted.whole, wanted.samples, wanted.unit]);
		}
	}
	for (const more of [{}, {direction: "callers"}, {fold: "library", recursion: 1}, {focus: "main", direction: "both"}, {least: 0.2}])
		check(`web${host}: the tree ${JSON.stringify(more)}`, nodesOf(await answer("flame", {...parameters, ...more})),
			nodesOf(ofStore(host, "flame", {...range, ...more})));
}
const [web1, web2] = [1, 2].map((host) => ofStore(host, "libraries", range));
const both = await answer("libraries", range);
check("both hosts together", both.whole, web1.whole + web2.whole);
check("of how many", [both.hosts, both.missing, both.unknown], [2, 0, 0]);

const hosts = await answer("hosts", range), named = (a, name) => a.rows.find((r) => r.name === name);
check("what each host cost", [named(hosts, "web1").self, named(hosts, "web2").self, hosts.whole], [web1.whole, web2.whole, both.whole]);
check("their labels", [named(hosts, "web1").labels, named(hosts, "web2").labels], [["service=web", "canary=yes"], ["service=web", "canary=no"]]);
check("how far behind", named(hosts, "web1").behind_seconds >= Math.floor(Date.now() / 1000) - end - 120, true);
const zlib = await answer("hosts", {...range, library: "libz*"});
check("what a library cost on each", zlib.rows.map((r) => [r.name, r.self]).sort(),
	[1, 2].map((host) => ["web" + host, ofStore(host, "libraries", {...range, library: "libz*"}).whole]));
check("hosts by label", (await answer("hosts", {...range, label: "canary=n*"})).rows.map((r) => r.name), ["web2"]);
check("samples by label", (await answer("libraries", {...range, label: "canary=no"})).whole, web2.whole);

const chart = await answer("overview", {...range, width: 300}), sum = (l) => l.series.reduce((a, b) => a + b, 0);
check("slices of whole windows", [chart.step % 60, chart.n <= 31, chart.unit], [0, true, "seconds"]);
check("what was not sampled is a gap", chart.covered.slice(5, 10).concat(chart.covered[4]), [0, 0, 0, 0, 0, 60]);
const narrow = await answer("overview", {...range, width: 300, library: "libz*", process: "git"});
check("and a gap with filters, too", [narrow.step, narrow.covered], [chart.step, chart.covered]);
for (const l of chart.libraries) {
	const wanted = named(both, l.name).self / 1e9;
	check("the chart's " + l.name, Math.abs(l.self - wanted) + Math.abs(sum(l) - wanted) < 0.01 * wanted + 1e-6, true);
}
check("diff of two times", (await answer("diff", {from: end - 1800, to: end - 900, from2: end - 900, to2: end})).trees.length, 1);
const canaries = await answer("diff", {from: end - 1800, to: end, from2: end - 1800, to2: end, label: "canary=yes", label2: "canary=no"});
const sums = (a) => a.trees[0].self.map((column) => column.reduce((s, x) => s + x, 0)), cpu = canaries.values.findIndex(([, unit, old]) => unit === "nanoseconds" && old >= 0);
check("diff of two groups of hosts", [sums(canaries)[canaries.values[cpu][2]], sums(canaries)[cpu]].map((n) => Math.round(n / 1e6)),
	[web2.whole, web1.whole].map((n) => Math.round(n / 1e6)));
const none = await answer("libraries", {...range, host: "nobody*"});
check("no such host: nothing, and why", [none.rows, none.note], [[], "no host nobody* sent anything of that time"]);
for (const [route, parameters, status, why] of [["live", {seconds: 30}, 400, /seconds: a fleet has/], ["live", range, 404, /nothing live/],
	["users", {...range, user: "root"}, 400, /give a number/], ["events", range, 200, /"events":\[\]/]]) {
	const a = await answer(route, parameters);
	check(`${route} ${JSON.stringify(parameters)}`, a.status, status);
	check(`${route}: why`, a.text, why);
}
check("another's profile", (await fetch(address + "debug/pprof/profile", {headers: {Authorization: "Bearer " + token}})).status, 404);

// --- the page ---
const browser = new Browser(program), page = await browser.page(1440, 900);
const inPage = `
	const id = (name) => document.getElementById(name);
	const text = (name) => id(name).textContent;
	const seen = (e) => Boolean(e.offsetParent);
	const button = (text, within = document) => [...within.querySelectorAll("button")].find((b) => b.textContent.startsWith(text) && seen(b));
	const middle = (e) => { e.scrollIntoView({block: "nearest"}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; };
	const cells = (name) => [...id(name).querySelectorAll("tbody tr")].map((r) => [...r.children].map((c) => c.textContent.trim()));
`;
const run = (code) => page.run("(() => {" + inPage + "return " + code + "})()");
const click = async (code) => page.click(...await run("middle(" + code + ")"));
async function eventually(what, code, wanted) {
	let got;
	for (let i = 0; i < 200; i++) {
		got = await run(code);
		if (wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted)) break;
		await new Promise((done) => setTimeout(done, 50));
	}
	check(what, got, wanted);
}
const settled = () => eventually("the fleet has answered", `!id("app").classList.contains("asking") && !id("app").hidden`, true);
const picture = async (name) => process.env.PICTURES && writeFileSync(`${process.env.PICTURES}/${name}.png`, await page.screenshot());
const percent = (part, whole) => (100 * part / whole).toFixed(2) + "%";

await page.open(`${address}#to=${end}&span=1800`);
await eventually("without a token the page says what to do", `!id("login").hidden && id("login").innerText`, /soprof open --socket/);
check("and nothing of an agent", await run(`/as root/.test(id("login").innerText)`), false);
page.problems.length = 0; // the browser logs the refusals
await page.open(`${address}#token=${token}&to=${end}&span=1800`);
await settled();
await eventually("it is a fleet's page", `document.title`, /^soprof fleet at 127\.0\.0\.1:\d+$/);
await eventually("of both hosts", `text("subtitle")`, /of 2 hosts/);
check("nothing live, no events", await run(`[seen(id("follow")), Boolean(id("tab-events"))]`), [false, false]);
await picture("fleet");
await click(`id("tab-hosts")`);
await eventually("hosts and what they cost", `cells("panel-hosts").map((r) => r.slice(0, 2))`,
	[["web1", web1], ["web2", web2]].sort((a, b) => b[1].whole - a[1].whole).map(([name, a]) => [name, percent(a.whole, both.whole)]));
await picture("fleet-hosts");
await click(`id("tab-labels")`);
await eventually("what hosts with a label cost", `cells("panel-labels").map((r) => [r[0], r[1], r[3]]).sort()`,
	[["canary=no", percent(web2.whole, both.whole), "1"], ["canary=yes", percent(web1.whole, both.whole), "1"], ["service=web", "100.00%", "2"]]);
await picture("fleet-labels");
await click(`button("canary=no", id("panel-labels"))`);
await settled();
await eventually("a label is a filter", `text("subtitle")`, /of 1 host\b/);
const share = (a, name) => percent(named(a, name).self, a.whole);
await eventually("whose libraries are the host's", `cells("libraries").find((r) => r[0] === "libz.so.1")[1]`, share(web2, "libz.so.1"));
await click(`button("label", id("chips"))`);
await settled();
await click(`id("tab-hosts")`);
await click(`button("web1", id("panel-hosts"))`);
await settled();
await eventually("a host is a filter", `new URLSearchParams(location.hash.slice(1)).get("host")`, "web1");
await eventually("whose libraries are the host's, too", `cells("libraries").find((r) => r[0] === "libz.so.1")[1]`, share(web1, "libz.so.1"));
await page.open(`${address}#to=${end}&span=1800&host=nobody*`);
await settled();
await eventually("no such host", `text("subtitle")`, /no host nobody\* sent anything of that time/);
await page.resize(390, 844);
await page.open(`${address}#to=${end}&span=1800&v=hosts`);
await settled();
await eventually("on a phone", `cells("panel-hosts").length`, 2);
check("nothing is wider than the screen", await run(`document.documentElement.scrollWidth`), 390);
await picture("fleet-phone");
check("no error in the browser", page.problems, []);

// --- the server does not answer, and is gone ---
const trouble = (what) => writeFileSync(`${directory}/tls.trouble`, what + "\n");
const nothing = `[...document.querySelectorAll("canvas")].filter((e) => seen(e) && getComputedStyle(e).visibility === "visible").length`;
trouble("hold");
await page.open(`${address}#to=${end}&span=1200`);
await eventually("who waits is told so", `text("subtitle")`, "Asking the fleet…");
check("and sees nothing that is not there yet", await run(nothing), 0);
trouble("cut 1");
await page.open(`${address}#to=${end}&span=2400`);
await eventually("one that is gone", `text("subtitle")`, /^https:\/\/127\..*\.$/);
check("in whole", await run(`id("subtitle").scrollWidth - id("subtitle").clientWidth`), 0);
await picture("fleet-gone");
trouble("pass");
await page.open(`${address}#to=${end}&span=1800`);
await settled();
await eventually("and back", `text("subtitle")`, /of 2 hosts/);
await browser.close();
process.exit(failed ? 1 : 0);
