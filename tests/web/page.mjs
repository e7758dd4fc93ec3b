// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's page in a browser: node page.mjs CHROMIUM AGENT-API DIRECTORY END, where DIRECTORY has `rows`, which
// tests/cmd/fill understands, and `store`, made of them. What is expected is added up from the rows here. Prints a line
// a check; exit code 1 if any failed. With PICTURES in the environment, screenshots are written there.
import {cpSync, existsSync, mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {hostname} from "node:os";
import {gunzipSync} from "node:zlib";
import {Browser} from "../cmd/chromium.mjs";
import {serve} from "./serve.mjs";

const [program, api, directory, endText] = process.argv.slice(2), end = Number(endText), begin = end - 10800;
const rows = readFileSync(directory + "/rows", "utf8").split("\n").map((line) => line.split(" ")).filter((w) => w.length === 7 && /^\d/.test(w[0]))
	.map(([time, , process, uid, cgroup, stack, n]) => ({time: Number(time), process, uid, cgroup, n: Number(n),
		frames: stack.split(";").map((f) => [f.slice(0, f.lastIndexOf("@")), f.slice(f.lastIndexOf("@") + 1)])}));

let failed = 0;
function check(what, got, wanted) {
	const ok = wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted);
	console.log((ok ? "ok " : "FAILED ") + what + (ok ? "" : ": " + JSON.stringify(got) + ", wanted " +
		(wanted instanceof RegExp ? wanted : JSON.stringify(wanted))));
	failed += !ok;
}

// --- what the rows say ---
const percent = (part, whole) => (100 * part / whole).toFixed(2) + "%";
const sum = (some) => some.reduce((s, r) => s + r.n, 0);
const within = (a, b) => rows.filter((r) => r.time >= a && r.time < b);
function libraries(some) {
	const self = new Map(), total = new Map(), add = (map, name, n) => map.set(name, (map.get(name) || 0) + n);
	for (const r of some) {
		add(self, r.frames[r.frames.length - 1][1], r.n);
		for (const name of new Set(r.frames.map(([, library]) => library))) add(total, name, r.n);
	}
	return {self, total};
}
// [name, self %, total %] of the libraries that a reader can make out.
function expected(some) {
	const {self, total} = libraries(some), all = sum(some);
	return [...total.keys()].filter((name) => /^[\w.[\]-]+$/.test(name)).map((name) => [name, percent(self.get(name) || 0, all),
		percent(total.get(name), all)]).sort((a, b) => a[0] < b[0] ? -1 : 1);
}

// --- the browser ---
const asked = [];
let moved = 0;
mkdirSync(directory + "/new");
const server = await serve(api, directory + "/store", () => end + moved, asked), young = await serve(api, directory + "/new", () => end);
const browser = new Browser(program), page = await browser.page(1200, 800);
const inPage = `
	const id = (name) => document.getElementById(name);
	const box = (e) => e.getBoundingClientRect();
	const middle = (e) => { e.scrollIntoView({block: "nearest"}); const b = box(e); return [b.x + b.width / 2, b.y + b.height / 2]; };
	const text = (name) => id(name).textContent;
	const button = (text, within = document) => [...within.querySelectorAll("button")].find((b) => b.textContent.startsWith(text) && b.offsetParent);
	const cells = (name) => [...id(name).querySelectorAll("tbody tr")].map((r) => [...r.children].map((c) => c.textContent));
	const idle = () => !id("app").classList.contains("asking");
`;
const run = (code) => page.run("(() => {" + inPage + "return " + code + "})()");
const click = async (code) => page.click(...await run("middle(" + code + ")"));
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function eventually(what, code, wanted) {
	let got;
	for (let i = 0; i < 200; i++) {
		got = await run(code);
		if (wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted)) break;
		await pause(50);
	}
	check(what, got, wanted);
}
const settled = () => eventually("the agent has answered", `idle() && !id("app").hidden`, true);
const open = async (fragment) => {
	await page.open(server.url + "#" + fragment);
	await settled();
};
const picture = async (name) => process.env.PICTURES && writeFileSync(`${process.env.PICTURES}/${name}.png`, await page.screenshot());
const parameter = (name) => run(`new URLSearchParams(location.hash.slice(1)).get("${name}")`);
// name, self % and total %, of the plain names
const shown = `cells("libraries").map((r) => [r[0].trim(), r[1], r[3]]).filter((r) => /^[\\w.[\\]-]+$/.test(r[0])).sort((a, b) => a[0] < b[0] ? -1 : 1)`;
const chartAt = async (t, from, to) => {
	const [x, y, width] = await run(`(() => { const b = box(id("overview").querySelector("canvas")); return [b.x, b.y, b.width]; })()`);
	return [x + 40 + (t - from) / (to - from) * (width - 42), y + 70];
};
const mouse = (type, x, y) => page.send("Input.dispatchMouseEvent", {type, x, y, button: type === "mouseMoved" ? "none" : "left",
	buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1});
async function drag(a, b, from, to) {
	const [x0, y] = await chartAt(a, from, to), [x1] = await chartAt(b, from, to);
	await mouse("mouseMoved", x0, y);
	await mouse("mousePressed", x0, y);
	for (const part of [0.3, 0.7, 1]) await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", x: x0 + (x1 - x0) * part, y, button: "left", buttons: 1});
	await mouse("mouseReleased", x1, y);
}

// --- the token ---
await page.open(server.url);
await eventually("without a token the page says what to do", `!id("login").hidden && text("login")`, /run\s+soprof open\s/);
await picture("login");
check("and shows nothing else", await run(`id("app").hidden`), true);
page.problems.length = 0; // the browser logs the refusals
await click(`id("token")`);
await page.type("wrong");
await click(`button("Enter")`);
await eventually("a wrong token is refused", `!id("login").hidden && text("login-why")`, /does not know this token/);
await run(`id("token").value = ""`);
await click(`id("token")`);
await page.type("secret");
await click(`button("Enter")`);
await eventually("the token lets in", `id("login").hidden && cells("libraries").length > 3`, true);
await run(`localStorage.clear()`);
page.problems.length = 0;
await open("token=secret&span=10800");
check("the token is taken out of the address", await run("location.href"), server.url + "#span=10800");

// --- the overview ---
await settled();
await eventually("libraries of three hours are what the rows say", shown, expected(within(begin, end)));
await picture("day");
check("the machine's name is its title", await run(`document.title === "soprof " + ${JSON.stringify(hostname())} && text("title") === document.title`), true);
await open("span=864000");
const early = await run(`(() => { const b = box(id("overview").querySelector("canvas")); return [b.x + 46, b.y + 70]; })()`);
await page.hover(...early);
await eventually("the chart begins where the data begin", `text("tip")`, /CPUs.*libcrypto/);
check("the tip is not over the controls above", await run(`box(id("tip")).top >= box(id("overview")).top`), true);
await open("span=10800");
const [gapX, gapY] = await chartAt(begin + 4200, begin, end);
await page.hover(gapX, gapY);
await eventually("a gap is not a zero", `text("tip")`, /not sampled/);
const [fullX] = await chartAt(begin + 1000, begin, end);
await page.hover(fullX, gapY);
await eventually("what was sampled tells its libraries", `text("tip")`, /CPUs.*libcrypto\.so\.3 0\.2.*libz\.so\.1 0\.1/);
const [markX, markY] = await chartAt(begin + 7200, begin, end);
await page.hover(markX, markY);
await eventually("an upgrade is marked", `text("tip")`, /libz\.so\.1 was upgraded <img/);
const series = await run(`[...id("series").querySelectorAll("button")].map((b) => b.textContent)`);
check("the chart's libraries are those with most of their own", series.slice(0, 3), ["libcrypto.so.3", "libz.so.1", "libc.so.6"]);

// --- ranges: the mouse, keys, a finger ---
await drag(begin + 600, begin + 1800, begin, end);
await settled();
await eventually("dragging picks a range", `new URLSearchParams(location.hash.slice(1)).get("at")`, `${begin + 600}-${begin + 1800}`);
await eventually("its libraries are what the rows say", shown, expected(within(begin + 600, begin + 1800)));
await picture("range");
await run(`id("overview").querySelector("canvas").focus()`);
await page.key("Home");
await eventually("keys walk over the chart", `text("live")`, /CPUs, libcrypto\.so\.3/);
for (let i = 0; i < 5; i++) await page.key("ArrowRight", 8);
await eventually("and tell what they pick", `text("live")`, /^Picked /);
await page.key("Enter");
await settled();
await eventually("Shift and arrows pick a range", `new URLSearchParams(location.hash.slice(1)).get("at")`, `${begin}-${begin + 6 * 60}`);
await eventually("of which the tables are", shown, expected(within(begin, begin + 6 * 60)));
await page.key("z");
await settled();
check("z shows it alone", [await parameter("span"), await parameter("to"), await parameter("at")], [String(6 * 60), String(begin + 6 * 60), null]);
await run("history.back()");
await eventually("back is the range before", `new URLSearchParams(location.hash.slice(1)).get("at")`, `${begin}-${begin + 6 * 60}`);
await settled();
await page.key("Escape");
await eventually("Escape ends it", `new URLSearchParams(location.hash.slice(1)).get("at")`, null);
await open("span=10800");
await page.send("Emulation.setTouchEmulationEnabled", {enabled: true});
const [touchA, touchY] = await chartAt(begin + 8400, begin, end), [touchB] = await chartAt(begin + 9600, begin, end);
const touch = (type, x) => page.send("Input.dispatchTouchEvent", {type, touchPoints: type === "touchEnd" ? [] : [{x, y: touchY}]});
await touch("touchStart", touchA);
for (const part of [0.2, 0.5, 0.8, 1]) await touch("touchMove", touchA + (touchB - touchA) * part);
await touch("touchEnd");
await page.send("Emulation.setTouchEmulationEnabled", {enabled: false});
await settled();
await eventually("a finger picks a range", `new URLSearchParams(location.hash.slice(1)).get("at")`, `${begin + 8400}-${begin + 9600}`);

// --- the flame graph: zoom, search ---
await open("span=10800&d=1");
async function hoverFrame(depth, share, of = "flame") {
	const [x, y, width] = await run(`(() => { const b = box(id("${of}").querySelector("canvas")); return [b.x, b.y, b.width]; })()`);
	await page.hover(x + width * share, y + depth * 18 + 9);
	return run(`text("details-name")`);
}
const all = within(begin, end), byProcess = (name) => all.filter((r) => r.process === name);
const nginxFrom = sum(byProcess("<b>bold</b>")) / sum(all), nginxShare = sum(byProcess("nginx")) / sum(all);
check("threads are at the root", await hoverFrame(1, nginxFrom + nginxShare / 2), "nginx");
check("frames lie on them", await hoverFrame(2, nginxFrom + nginxShare / 2), "main");
const spreadShare = sum(all.filter((r) => r.frames[1]?.[0] === "spread")) / sum(all);
const children = ["deflate", "spread", "write"], before = sum(all.filter((r) => r.frames[1]?.[0] === "deflate")) / sum(all);
check("children by name", children.length && await hoverFrame(3, nginxFrom + before + spreadShare / 2), "spread");
check("what is narrow is one block", await hoverFrame(4, nginxFrom + before + spreadShare / 2), "[narrow]");
const spot = await run(`(() => { const b = box(id("flame").querySelector("canvas")); return [b.x + b.width * ${nginxFrom + before + spreadShare / 2}, b.y + 3 * 18 + 9]; })()`);
asked.length = 0;
await page.click(...spot);
await settled();
check("a zoom asks for deeper levels", asked.length === 1 && /flame\?.*root=\d+/.test(asked[0]), true);
await eventually("the zoom is in the address", `location.hash`, /z=id\d+/);
let leafName = "";
for (let i = 0; i < 100 && !/^leaf_\d+$/.test(leafName = await hoverFrame(4, 0.5)); i++) await pause(50); // it glides there
check("and they come", leafName, /^leaf_\d+$/);
const spreadOnly = all.filter((r) => r.frames[1]?.[0] === "spread"), middleLeaf = await run(`text("details-facts")`);
check("with their own values", Number(/([\d.]+)% of all/.exec(middleLeaf)[1]).toFixed(1), (100 * sum(spreadOnly) / 400 / sum(all)).toFixed(1));
const part = await run(`(() => { const p = document.querySelector("#panel-flame .part"), b = box(p.parentNode.firstChild), q = box(p); return [(q.x - b.x) / b.width, q.width / b.width]; })()`);
check("a strip of the whole marks it", part.map((x, i) => Math.abs(x - [nginxFrom + before, spreadShare][i]) < 0.003), [true, true]);
await picture("zoom");
await page.key("Escape");
await eventually("Escape is the whole again", `location.hash.includes("z=")`, false);
await page.key("/");
await page.type("^memcpy$");
await eventually("a search tells its share", `text("found").replace(/ \\(.*/, "")`, "Matched " + percent(sum(all.filter((r) => r.frames.some(([f]) => f === "memcpy"))), sum(all)));
check("and leaves the libraries with matches", await run(`cells("libraries").map((r) => r[0].trim())`), ["libc.so.6"]);
await page.key("Escape");
check("Tab comes to one row of a table", await run(`id("libraries").querySelectorAll("tbody [tabindex='0']").length`), 1);
await run(`id("libraries").querySelector("tbody button").focus()`);
for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await page.key(key);
check("arrow keys lead to the others", await run(`document.activeElement === id("libraries").querySelectorAll("tbody tr")[1].querySelector("button")`), true);

await open("span=10800&s=^leaf_7$");
await eventually("and of what is too narrow that it was not searched", `text("found")`, `Matched 0.00% (not searched: ${percent(sum(all.filter((r) => r.frames[1]?.[0] === "spread")), sum(all))})`);
await page.key("Escape");

// --- the other views ---
await page.run("document.activeElement.blur()");
await page.key("4");
const leaf = all.filter((r) => r.frames.at(-1)[0] === "leaf_7");
await eventually("functions are exact, however narrow", `cells("panel-functions").find((r) => r[0] === "leaf_7")?.slice(1, 3)`,
	[percent(sum(leaf), sum(all)), (sum(leaf) / 100).toFixed(sum(leaf) < 1000 ? 2 : 1) + " s"]);
await picture("functions");
await page.key("3");
await eventually("the matrix charges who called", `id("panel-matrix").querySelector("table.heat [aria-label^='libcrypto.so.3 called by libssl.so.3']")?.textContent`,
	percent(sum(all.filter((r) => r.frames.at(-1)[0] === "aes")), sum(all)).replace("%", ""));
await click(`id("panel-matrix").querySelector("table.heat [aria-label^='libcrypto.so.3 called by libssl.so.3']")`);
await eventually("a cell tells through which function", `[...id("panel-matrix").querySelectorAll("table")].map((t) => t.getAttribute("aria-label") === "Functions by which the library was entered" ? t.tBodies[0].rows[0]?.cells[0].textContent : "").join("")`, "aes");
check("which comes into view", await run(`box(id("panel-matrix").querySelector("h2")).bottom < innerHeight`), true);
await picture("matrix");
await click(`button("aes", id("panel-matrix"))`);
await eventually("a function's callers and callees", `text("sandwich-head")`, /^aes.*libcrypto\.so\.3.*callers above/);
await picture("sandwich");
check("with the function itself once", await run(`(() => { const b = box(id("callers").querySelector("canvas")); return [b.x + 200, b.bottom - 9]; })()`).then(async ([x, y]) => {
	const names = [];
	for (let i = 0; i < 3; i++) {
		await page.hover(x, y - 18 * i);
		names.push(await run(`text("details-name")`));
	}
	return names;
}), ["aes", "write", "main"]);
await open("span=10800&v=sandwich&p=" + encodeURIComponent("fn:memcpy`libc.so.6"));
await eventually("an address of them", `text("sandwich-head")`, new RegExp("^memcpy.*" + percent(sum(byProcess("python3")), sum(all)).replace(".", "\\.")));
for (const [key, name, field] of [["7", "processes", "process"], ["9", "users", "uid"]]) {
	await page.key(key);
	const sums = new Map();
	for (const r of all) sums.set(r[field], (sums.get(r[field]) || 0) + r.n);
	await eventually(name + " are a table", `cells("panel-${name}").map((r) => r[1]).sort()`, [...sums.values()].map((n) => percent(n, sum(all))).sort());
}
await page.key("2");
await page.run("location.hash = location.hash.replace(/&p=[^&]*/, '')");
await eventually("functions are offered", `text("sandwich-head")`, /Heaviest functions.*aes/);
check("what is too narrow is none", await run(`text("sandwich-head").includes("[narrow]")`), false);
const {panels: [{targets: [target]}]} = JSON.parse(readFileSync(new URL("../../share/grafana/flamegraph.json", import.meta.url)));
const dashboard = target.url.replace(/\$\{(\w+)[^}]*\}/g, (_, name) => ({agent: server.url.slice(0, -1), __from: begin, __to: end})[name] ?? "");
const nested = await run(`fetch("${dashboard}", {headers: {Authorization: "Bearer secret"}}).then((a) => a.json()).then((a) => a.${target.root_selector})`);
check("Grafana's dashboard asks for what is there", target.columns.map((c) => typeof nested[1][c.selector]), target.columns.map((c) => c.type));
check("rows for Grafana: parents first, and not less than their children", [nested[0].level, nested.every((r, i) => !i || r.level <= nested[i - 1].level + 1),
	nested.every((r, i) => { let n = r.self; for (let k = i + 1; k < nested.length && nested[k].level > r.level; k++) if (nested[k].level === r.level + 1) n += nested[k].value; return n <= r.value; })], [0, true, true]);
await page.key("6");
await eventually("events are a table", `cells("panel-events").map((r) => [r[1], r[2]])`, [["not sampled", "suspended"], ["upgrade", "libz.so.1"]]);
await picture("events");

// --- differences ---
await click(`button("Before and after", id("panel-events"))`);
await settled();
check("an event's button compares", [await parameter("before"), await parameter("at")], [`${begin + 6300}-${begin + 7200}`, `${begin + 7200}-${begin + 8100}`]);
const shareOf = (some, library) => percent(libraries(some).self.get(library), sum(some));
await eventually("libz grew", `cells("libraries").find((r) => r[0].trim() === "libz.so.1")?.slice(1, 3)`,
	[shareOf(within(begin + 6300, begin + 7200), "libz.so.1"), shareOf(within(begin + 7200, begin + 8100), "libz.so.1")]);
check("beyond noise", await run(`[...id("libraries").querySelectorAll("tbody tr")].find((r) => r.textContent.startsWith("libz")).querySelectorAll("span.grown").length`), 2);
await picture("diff");
await page.key("4");
await eventually("of functions, too", `cells("panel-functions")[0]?.[0]`, "deflate");
await page.key("1");
await page.key("c");
await settled();
await eventually("c ends it", `new URLSearchParams(location.hash.slice(1)).get("before")`, null);

// --- filters ---
await open("span=10800");
await page.key("e");
await click(`id("filter-process")`);
await page.type("python3");
await page.key("Tab");
await settled();
await eventually("a filter by process", shown, expected(byProcess("python3")));
await eventually("is in the address", `new URLSearchParams(location.hash.slice(1)).get("process")`, "python3");
await eventually("of the chart, too", `[...id("series").querySelectorAll("button")].map((b) => b.textContent)`, ["libc.so.6", "[kernel]"]);
await picture("filter");
await click(`button("process", id("chips"))`);
await settled();
await eventually("its chip ends it", shown, expected(all));
for (const [name, value, some] of [["cgroup", "/system.slice/nginx.service", byProcess("nginx")], ["user", "1000", byProcess("python3")],
	["library", "libssl*", all.filter((r) => r.frames.some(([, l]) => l.startsWith("libssl")))],
	["function", "memcpy", all.filter((r) => r.frames.some(([f]) => f === "memcpy"))]]) {
	await open(`span=10800&${name}=${encodeURIComponent(value)}`);
	await eventually("a filter by " + name, shown, expected(some));
}
await open("span=10800&user=nobody-such");
await eventually("what the agent refuses is said", `text("subtitle")`, /no such user/);
page.problems.length = 0; // status 400

// --- hostile names ---
await open("span=10800&process=" + encodeURIComponent("<b>bold</b>"));
await eventually("hostile names are text", `cells("libraries").map((r) => r[0].trim()).sort()`, ["</script><script>alert(2)</script>.so", "evil\\x1b[31m.so"]);
check("and no elements", await run(`document.querySelectorAll("img, b:not(#tip b), i:not([class]):not([aria-hidden]), script").length`), 1);
await page.key("4");
await eventually("what turns the writing round is shown by its bytes", `cells("panel-functions").map((r) => r[0]).sort()`, ["\"><img/src=x/onerror=alert(1)>", "abc\\xe2\\x80\\xaetxt.exe"]);
await picture("hostile");

// --- the table of libraries beside the view ---
await page.resize(1440, 900);
await open("span=10800");
check("it is as wide as its table, which is whole", await run(`[id("libraries").scrollWidth <= id("libraries").clientWidth, id("libraries").clientWidth - id("libraries").firstChild.offsetWidth < 3]`), [true, true]);
const sideWidth = await run(`id("side").offsetWidth`);
await run(`id("grip").focus()`);
await page.key("ArrowLeft");
check("keys make it wider", await run(`id("side").offsetWidth`), sideWidth + 24);
const [gripX, gripY] = await run("middle(id('grip'))");
await mouse("mousePressed", gripX, gripY);
await page.send("Input.dispatchMouseEvent", {type: "mouseMoved", x: gripX + 200, y: gripY, button: "left", buttons: 1});
await mouse("mouseReleased", gripX + 200, gripY);
check("a drag makes it narrower", await run(`id("side").offsetWidth < ${sideWidth - 150}`), true);
await click(`id("with-side")`);
check("a button closes it", await run(`[id("side").hidden, id("grip").hidden]`), [true, true]);
await page.resize(1200, 800);

// --- dark, narrow ---
await page.dark(true);
await open("span=10800");
check("dark as the system is", await run(`getComputedStyle(document.body).backgroundColor`), "rgb(23, 25, 29)");
await picture("dark");
await page.dark(false);
await page.resize(360, 780);
await open("span=10800");
check("a phone has one row of controls", await run(`[...document.querySelectorAll("header .tools > *, #times > *, #options > *")].filter((e) => e.offsetParent && e.textContent + e.id !== "chips" && box(e).height).map((e) => e.id || e.className)`), ["found", "search", "menu"].filter((n) => n !== "found"));
await click(`id("menu")`);
check("and a menu of the others", await run(`Boolean(id("span").offsetParent && id("theme").offsetParent)`), true);
await click(`id("menu")`);
for (const key of ["1", "2", "3", "4", "5", "6", "7", "8", "9"]) {
	await page.key(key);
	await settled();
	const wide = await run(`document.documentElement.scrollWidth`);
	check(`view ${key} is not wider than a phone`, wide <= 360, true);
	await picture("phone-" + key);
}
await page.key("?");
await eventually("help", `id("help-box").open && text("help-box")`, /pick a range/);
await picture("phone-help");
await page.resize(1200, 800);

// --- live ---
moved = -10;
await open("span=10800&live=60");
await eventually("live is the last minute", shown, expected(within(end - 70, end - 10)));
await picture("live");
asked.length = 0;
moved = -3600;
await eventually("and follows", shown, expected(within(end - 3660, end - 3600)));
check("by asking again and again", asked.filter((q) => q.includes("live?")).length > 0, true);
await page.key("v");
await settled();
check("v ends it", await parameter("live"), null);

// --- files, and a link for others: of what is shown, also later; by keys alone ---
moved = 0;
await browser.send("Browser.setDownloadBehavior", {behavior: "allow", downloadPath: directory});
await open(`span=10800&process=nginx&at=${begin + 600}-${begin + 1800}`);
const saved = within(begin + 600, begin + 1800).filter((r) => r.process === "nginx");
const seconds = (lines) => lines.reduce((s, line) => s + Number(line.replace(/.* /, "")), 0) / 1e7;
for (const [key, suffix, words] of [["s", "svg", (file) => file.toString().includes("libcrypto.so.3")],
	["p", "pb.gz", (file) => gunzipSync(file).includes("libcrypto.so.3")], ["f", "folded", (file) => seconds(file.toString().trim().split("\n")) === sum(saved)]]) {
	const path = directory + "/soprof." + suffix;
	await run(`id("format").focus()`);
	await page.key(key);
	await page.key("Tab");
	await page.key(" ");
	for (let i = 0; i < 200 && !existsSync(path); i++) await pause(50);
	check(`a file, .${suffix}, has what is shown`, existsSync(path) && words(readFileSync(path)), true);
}
await open("span=10800&process=nginx&v=functions");
await run(`addEventListener("copy", (e) => (window.copied = e.target.value))`);
await click(`id("copy")`);
await eventually("a link is copied", `text("copy")`, "Copied");
const link = await run("window.copied");
check("of the times, too", new URLSearchParams(link.split("#")[1]).get("to"), String(end));
check("the button keeps the focus", await run(`document.activeElement === id("copy")`), true);
moved = 3600;
await page.open(link);
await settled();
await eventually("an hour later it shows the same", shown, expected(byProcess("nginx")));
check("in the same view", await run(`id("panel-functions").offsetHeight > 0`), true);
await open(`at=${begin + 600}-${begin + 1800}&to=${end}&span=10800&library=libcrypto.so.3`); // as agent/alert/notification.c has it
await eventually("an alert's link is its time", shown, expected(within(begin + 600, begin + 1800).filter((r) => r.frames.some(([, l]) => l === "libcrypto.so.3"))));
moved = 0;

// --- a new store ---
await page.open(young.url + "#token=secret");
await eventually("of a new agent it says that there is nothing yet", `id("empty").offsetHeight > 0 && text("empty")`, /^Nothing is stored yet/);
await picture("new");
cpSync(directory + "/store", directory + "/new", {recursive: true});
await eventually("and shows what comes by itself", `cells("libraries").length > 3`, true);
young.close();

// --- the whole ---
check("names of roles: every button, field and choice has one", await run(`[...document.querySelectorAll("button, input, select, canvas")].filter((e) => !e.closest("[aria-hidden]") &&
	!(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)`), []);
check("no errors, no violations, no dialogs", page.problems, []);
check("nothing is asked of anybody else", page.requests.filter((u) => ![server, young].some((s) => u.startsWith(s.url)) && !/^(about|blob|data):/.test(u)), []);
await browser.close();
server.close();
console.log(failed ? `${failed} FAILED` : "all passed");
process.exit(failed ? 1 : 0);
