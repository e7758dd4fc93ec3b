// SPDX-License-Identifier: GPL-2.0-or-later
// The HTML report in a browser: node html.mjs CHROMIUM STACKS PAGES, where PAGES has demo.html made of STACKS, diff.html
// made of diff.stacks, hostile.html, empty.html, broken.html and big.html. Prints a line a check; exit code 1 if any
// failed. What is expected of demo and diff is worked out by model.mjs.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import {Browser} from "../cmd/chromium.mjs";
import {boxes, byFunction, byLibrary, foldedPath, librariesOf, matrix, pathOf, percent, readRows, sandwich, sum,
	withoutRecursion} from "./model.mjs";

const [program, stacks, diffStacks, pages] = process.argv.slice(2);
const url = (name) => String(pathToFileURL(pages + "/" + name));
const rows = readRows(stacks), all = sum(rows), libraries = librariesOf(rows), ROW = 18;

let failed = 0;
function check(what, got, wanted) {
	const ok = wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted);
	console.log((ok ? "ok " : "FAILED ") + what + (ok ? "" : ": " + JSON.stringify(got) + ", wanted " +
		(wanted instanceof RegExp ? wanted : JSON.stringify(wanted))));
	failed += !ok;
}

const inPage = `
	const id = (name) => document.getElementById(name);
	const box = (e) => e.getBoundingClientRect();
	const middle = (e) => { e.scrollIntoView({block: "nearest"}); const b = box(e); return [b.x + b.width / 2, b.y + b.height / 2]; };
	const text = (name) => id(name).textContent;
	const button = (text, within = document) => [...within.querySelectorAll("button")].find((b) => b.textContent.startsWith(text));
	const canvas = (place = "flame") => id(place).querySelector("canvas");
	const pixel = (x, y, place) => {
		const c = canvas(place), k = c.width / c.clientWidth, copy = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
		copy.drawImage(c, x * k, y * k, 1, 1, 0, 0, 1, 1);
		return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
	};
	const cells = (name) => [...id(name).querySelectorAll("tbody tr")].map((r) => [...r.children].map((c) => c.textContent));
`;
const browser = new Browser(program);
const page = await browser.page(1200, 800);
const run = (code) => page.run("(() => {" + inPage + "return " + code + "})()");
const click = async (code) => page.click(...await run("middle(" + code + ")"));
const frame = () => page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
const open = async (name) => {
	await page.open(url(name));
	await frame();
};
async function eventually(what, code, wanted) {
	let got;
	for (let i = 0; i < 100; i++) {
		got = await run(code);
		if (JSON.stringify(got) === JSON.stringify(wanted)) break;
		await new Promise((done) => setTimeout(done, 50));
	}
	check(what, got, wanted);
}

// --- the canvas: where a box of the model lies in it ---
async function geometry(place) {
	return run(`(() => { const b = box(canvas("${place}")), p = id("${place}");
		return {x: b.x, y: b.y, width: b.width, seen: b.height, top: p.scrollTop, height: canvas("${place}").parentNode.parentNode.clientHeight}; })()`);
}
function spot(g, b, view, rootAtTop) {
	const k = g.width / (view.to - view.from), left = Math.max((b.from - view.from) * k, 0);
	const right = Math.min((b.to - view.from) * k, g.width);
	const y = (rootAtTop ? b.depth * ROW : g.height - (b.depth + 1) * ROW) - g.top + ROW / 2;
	return {x: g.x + (left + right) / 2, y: g.y + y, width: right - left, isSeen: y > 4 && y < g.seen - 4};
}
// Every box at least `least` wide that is in sight is where the model has it, and says its name and value.
async function checkFlame(what, paths, {place = "flame", rootAtTop = false, root, zoomed, least = 5, of = libraries, unit = "sample"} = {}) {
	const model = boxes(paths, of, root), view = zoomed ? model.find(zoomed.name ? (b) => b.from === zoomed.from && b.depth === zoomed.depth :
		(b) => b.name === zoomed) : model[0];
	const g = await geometry(place), wrong = [];
	let n = 0;
	for (const b of model) {
		const s = spot(g, b, view, rootAtTop);
		if (s.width < least || !s.isSeen) continue;
		n++;
		await page.hover(s.x, s.y);
		const [name, facts] = await run(`[text("details-name"), text("details-facts")]`);
		if (name !== b.name || !facts.startsWith(b.value.toLocaleString("en") + " " + unit)) wrong.push([b.name, b.value, name, facts]);
	}
	check(`${what}: ${n} frames are where they belong`, n > 3 ? wrong : "too few", []);
	await page.hover(1, 1);
}
async function spotOf(name, paths, options = {}) {
	const model = boxes(paths, libraries, options.root), view = options.zoomed ? model.find((b) => b.name === options.zoomed) : model[0];
	const wide = model.filter((b) => b.name === name).sort((a, b) => b.value - a.value)[0];
	return spot(await geometry(options.place || "flame"), wide, view, options.rootAtTop);
}
const clickFrame = async (name, paths, options) => {
	const s = await spotOf(name, paths, options);
	await page.click(s.x, s.y);
	await eventually(`${name} is zoomed to`, `document.getAnimations().length`, 0);
	await new Promise((done) => setTimeout(done, 250));
};
const plain = rows.map((r) => [pathOf(r), r.values[0]]);

// --- the checks ---
async function testLoad() {
	await open("demo.html");
	check("title", await run(`[document.title, text("title"), text("subtitle")]`), ["Demo", "Demo", "the same stacks in every test"]);
	await checkFlame("flame graph", plain);
	await page.key("o");
	await frame();
	await checkFlame("icicle", plain, {rootAtTop: true});
	check("icicle is in the address", await page.run("location.hash"), "#d=1");
	for (const [width, height] of [[420, 700], [1200, 300], [2200, 1000]]) {
		await page.resize(width, height);
		await frame();
		if (width > 900) check(`the libraries take a third of ${width} px at most`, await run(`id("side").offsetWidth <= 0.351 * innerWidth`), true);
		check(`nothing is wider than ${width} px`, await page.run("document.documentElement.scrollWidth <= innerWidth"), true);
	}
	await page.resize(1200, 800);
	await frame();
	await checkFlame("after resizing", plain, {rootAtTop: true});
}

async function testZoom() {
	await open("demo.html");
	await clickFrame("deflate", plain);
	await checkFlame("zoomed", plain, {zoomed: "deflate"});
	const hash = await page.run("location.hash");
	check("zoom is in the address", hash, /^#z=[0-9a-z]+\.[0-9a-z]+$/);
	await clickFrame("python3", plain, {zoomed: "deflate"});
	await page.run("history.back()");
	await eventually("back", "location.hash", hash);
	await new Promise((done) => setTimeout(done, 250));
	await checkFlame("back", plain, {zoomed: "deflate"});
	await page.open(url("demo.html") + hash);
	await new Promise((done) => setTimeout(done, 300));
	await checkFlame("an address with a zoom", plain, {zoomed: "deflate"});
	await page.key("Escape");
	await new Promise((done) => setTimeout(done, 250));
	check("Escape ends the zoom", await page.run("location.hash"), "");
	await checkFlame("the whole", plain);
	const s = await spotOf("deflate", plain);
	for (let i = 0; i < 12; i++)
		await page.send("Input.dispatchMouseEvent", {type: "mouseWheel", x: s.x, y: s.y, deltaX: 0, deltaY: -60, modifiers: 2});
	await frame();
	await page.hover(s.x, s.y);
	check("Ctrl and the wheel zoom at the pointer", await run(`[text("details-name"), id("reset").disabled]`), ["deflate", false]);
	check("the page itself was not zoomed", await page.run("visualViewport.scale"), 1);
	await drag(s, -200);
	await page.hover(s.x - 200, s.y);
	check("dragging moves sideways", await run(`text("details-name")`), "deflate");
	await click(`id("reset")`);
	await new Promise((done) => setTimeout(done, 250));
	await checkFlame("reset", plain);
	await page.open(url("demo.html") + "#z=zz.zz&v=nonsense&u=77&l=none&p=fn:none&m=9");
	await frame();
	await checkFlame("an address of another report is the whole", plain);
}

// Beside a part of the graph a strip has the whole, small, and where that part is.
async function testStrip() {
	const model = boxes(plain, libraries), zoomed = model.find((b) => b.name === "deflate"), high = 36, row = Math.min(high / (Math.max(...model.map((b) => b.depth)) + 1), 6);
	const strip = () => run(`(() => { const s = document.querySelector("#panel-flame .strip"), c = s.querySelector("canvas"), b = box(c), p = box(s.querySelector(".part"));
		return s.hidden ? null : {x: b.x, y: b.y, width: b.width, from: Math.round(p.x - b.x), to: Math.round(p.right - b.x)}; })()`);
	await open("demo.html");
	check("no strip beside the whole", await strip(), null);
	const bottom = await run("box(canvas()).bottom");
	await clickFrame("deflate", plain);
	const s = await strip(), k = s.width / all, wanted = [zoomed.from * k, zoomed.to * k].map(Math.round), away = (got) => [got.from - wanted[0], got.to - wanted[1]];
	check("the strip marks the part in sight", [s.from, s.to], wanted);
	check("and no frame moves up or down", await run("box(canvas()).bottom"), bottom);
	const columns = [0.07, 0.21, 0.35, 0.5, 0.63, 0.77, 0.93], towers = await run(`${JSON.stringify(columns)}.map((at) => { for (let y = 0; y < ${high}; y++)
		if (pixel(Math.floor(at * ${s.width}), y, "panel-flame").join() !== "255,255,255") return ${high} - y; })`);
	const tops = columns.map((at) => row * (1 + Math.max(...model.filter((b) => b.value * k >= 1 && b.from <= at * all && b.to > at * all).map((b) => b.depth))));
	check(`its towers are as high as those of the model: ${towers}`, towers.map((t, i) => Math.abs(t - tops[i]) <= 1.01), columns.map(() => true));
	check("towers differ", new Set(towers).size > 2, true);
	const from = zoomed.from * k > s.width / 2 ? 0.25 * s.width : 0.75 * s.width, span = zoomed.to * k - zoomed.from * k;
	await page.click(s.x + from, s.y + 9);
	await frame();
	check("a click in it moves the part there", away(await strip()).map((x) => Math.abs(x - (from - span / 2 - zoomed.from * k)) <= 1), [true, true]);
	await drag({x: s.x + from, y: s.y + 9}, 50);
	check("a drag moves it along", away(await strip()).map((x) => Math.abs(x - (from + 50 - span / 2 - zoomed.from * k)) <= 1), [true, true]);
	await page.key("Escape");
	await eventually("it goes with the zoom", `document.querySelector("#panel-flame .strip").hidden`, true);
	await page.key("o");
	await clickFrame("deflate", plain, {rootAtTop: true});
	check("below an icicle", await run(`box(document.querySelector("#panel-flame .strip")).y >= box(canvas()).bottom`), true);
}
async function drag(s, by) {
	const event = (type, x) => page.send("Input.dispatchMouseEvent", {type, x, y: s.y, button: "left", buttons: 1, clickCount: 1});
	await event("mousePressed", s.x);
	for (let i = 1; i <= 5; i++) await event("mouseMoved", s.x + by * i / 5);
	await event("mouseReleased", s.x + by);
	await frame();
}

async function testSearch() {
	const share = (test, of = rows) => "Matched " + percent(sum(of.filter((r) => r.frames.some(test))), sum(of));
	await open("demo.html");
	await page.key("/");
	await page.type("ENCODER");
	check("nested matches count once", await run(`text("found")`), share((f) => /encoder/i.test(f.name)));
	check("search is in the address", await page.run("location.hash"), "#s=ENCODER");
	const s = await spotOf("encoder_listencode_list", plain);
	check("matches are marked", await run(`pixel(${s.x} - box(canvas()).x + 3 - 3, ${s.y} - box(canvas()).y - 7)`), [240, 114, 240]);
	await click(`id("case")`);
	check("upper and lower case may differ", await run(`text("found")`), "Matched 0.00%");
	const address = await page.run("location.href");
	await page.key("Escape");
	check("Escape ends the search", await run(`[text("found"), location.hash, id("search").value]`), ["", "#c=1", ""]);
	await page.open(address);
	check("an address with a search", await run(`[text("found"), id("search").value, id("case").getAttribute("aria-pressed")]`),
		["Matched 0.00%", "ENCODER", "true"]);
	await page.open(url("demo.html") + "#s=lib:crypto%7Clibz");
	check("libraries by expression", await run(`text("found")`), share((f) => /crypto|libz/.test(f.library)));
	await page.open(url("demo.html") + "#s=" + encodeURIComponent("(["));
	check("no regular expression", await run(`[text("found"), id("search").classList.contains("bad")]`), ["not a regular expression", true]);
}

// The rows of the library table as the model has them, by falling self.
const libraryRows = (of) => [...byLibrary(of)].map(([name, s]) => [name || "[no library]", percent(s.self, sum(of)), s.self.toLocaleString("en"),
	percent(s.total, sum(of)), s.total.toLocaleString("en")]);
const byName = (list) => list.map((r) => r.slice(0, 5)).sort((a, b) => (a[0] < b[0] ? -1 : 1));

async function testLibraries() {
	await open("demo.html");
	const got = await run(`cells("libraries")`);
	check("the libraries' self and total", byName(got), byName(libraryRows(rows)));
	check("the heaviest first", got.map((r) => Number(r[2])), got.map((r) => Number(r[2])).sort((a, b) => b - a));
	await click(`button("Total %", id("libraries"))`);
	const sorted = await run(`cells("libraries")`);
	check("sorted by total", sorted.map((r) => parseFloat(r[3])), sorted.map((r) => parseFloat(r[3])).sort((a, b) => b - a));
	check("the order is said", await run(`[...id("libraries").querySelectorAll("th[aria-sort]")].map((t) => t.ariaSort + t.textContent)`),
		["descendingTotal % ▾"]);
	const s = await spotOf("EVP_DigestUpdate", plain), at = `pixel(${s.x} - box(canvas()).x, ${s.y} - box(canvas()).y - 7)`;
	const other = await spotOf("deflate", plain), there = `pixel(${other.x} - box(canvas()).x, ${other.y} - box(canvas()).y - 7)`;
	const before = await run(`[${at}, ${there}]`);
	await click(`button("libcrypto.so.3", id("libraries"))`);
	const after = await run(`[${at}, ${there}]`);
	check("its frames keep their colour, others are dimmed", [String(before[0]) === String(after[0]), String(before[1]) === String(after[1])],
		[true, false]);
	check("the row keeps the focus", await run("document.activeElement.textContent"), "libcrypto.so.3");
	const crypto = rows.filter((r) => r.frames.some((f) => f.library === "libcrypto.so.3"));
	const own = byLibrary(rows).get("libcrypto.so.3");
	check("its share", await run(`text("selection")`), new RegExp(`libcrypto.so.3self ${percent(own.self, all)}, total ${percent(own.total, all)}`));
	await click(`button("Only its samples")`);
	await frame();
	await checkFlame("filtered", crypto.map((r) => [pathOf(r), r.values[0]]));
	check("what is left out is said", await run(`text("selection")`), new RegExp(percent(all - sum(crypto), all) + " of all is left out"));
	check("the table is of its samples", byName(await run(`cells("libraries")`)), byName(libraryRows(crypto)));
	const address = await page.run("location.href");
	await page.open(address);
	check("an address with a filter", byName(await run(`cells("libraries")`)), byName(libraryRows(crypto)));
	await click(`button("✕")`);
	check("the selection ends", await run(`[id("selection").hidden, location.hash]`), [true, "#k=-total"]);
}

async function testShapes() {
	await open("demo.html");
	await page.key("f");
	await frame();
	await checkFlame("libraries folded", rows.map((r) => [foldedPath(r), r.values[0]]));
	await page.key("f");
	await click(`button("python3.11", id("libraries"))`);
	await click(`button("Fold its frames")`);
	await frame();
	await checkFlame("one library folded", rows.map((r) => [foldedPath(r, (l) => l === "python3.11"), r.values[0]]));
	const address = await page.run("location.href");
	await page.open(address);
	await frame();
	await checkFlame("an address with a fold", rows.map((r) => [foldedPath(r, (l) => l === "python3.11"), r.values[0]]));
	await open("demo.html");
	await page.key("r");
	await frame();
	await checkFlame("recursion folded", rows.map((r) => [withoutRecursion(pathOf(r)), r.values[0]]));
	await page.key("r");
	await page.key("i");
	await frame();
	await checkFlame("inverted", rows.map((r) => [pathOf(r).reverse(), r.values[0]]));
}

async function testSandwich() {
	for (const focus of [{library: "libcrypto.so.3"}, {library: "libc.so.6"}, {library: "python3.11", name: "_PyEval_EvalFrameDefault"}]) {
		const name = focus.name || focus.library, {callers, callees} = sandwich(rows, focus), value = sum(callers.map((c) => ({values: [c[1]]})));
		await page.open(url("demo.html") + "#v=sandwich&p=" + (focus.name ? `fn:${name}\`${focus.library}` : "lib:" + name));
		await frame();
		check(`${name}: share`, await run(`text("sandwich-head")`), new RegExp(`${value} samples, ${percent(value, all)} of all`));
		await checkFlame(`${name}: callers`, callers, {place: "callers", root: name, least: 8});
		await checkFlame(`${name}: callees`, callees, {place: "callees", root: name, rootAtTop: true, least: 8});
	}
	await open("demo.html");
	const s = await spotOf("deflate", plain);
	await page.hover(s.x, s.y);
	await page.key("s");
	check("s at a frame", await run(`[text("sandwich-head").slice(0, 7), location.hash]`), ["deflate", "#v=sandwich&p=fn%3Adeflate%60libz.so.1.2.13"]);
	await click(`button("Another")`);
	check("without a focus there is a choice", await run(`id("sandwich-head").querySelectorAll("li button").length > 8`), true);
	await click(`id("sandwich-head").querySelector("li button")`);
	check("which leads to it", await run(`id("callers").hidden`), false);
}

const shownCells = () => run(`[...document.querySelectorAll(".heat td button")].map((b) => b.ariaLabel).sort()`);
const cellsOf = (model, what, whole) => [...model].filter(([, c]) => c[what]).map(([key, c]) => {
	const [library, caller] = key.split(" < ");
	return `${library || "[no library]"} called by ${caller || "[no other library]"}: ${percent(c[what], whole)}`;
}).sort();

async function testMatrix() {
	const model = matrix(rows);
	await page.open(url("demo.html") + "#v=matrix");
	check("self by caller", await shownCells(), cellsOf(model, "self", all));
	const list = await run(`[...id("panel-matrix").querySelectorAll(".data tbody tr")].length`);
	await click(`button("Total", id("panel-matrix"))`);
	check("total by caller", await shownCells(), cellsOf(model, "total", all));
	check("the list has every pair", list, model.size);
	await click(`button("Self", id("panel-matrix"))`);
	const [key, cell] = [...model].sort((a, b) => b[1].entries.size - a[1].entries.size)[0], [library, caller] = key.split(" < ");
	await click(`[...document.querySelectorAll(".heat td button")].find((b) => b.ariaLabel.startsWith("${library} called by ${caller}"))`);
	const wanted = [...cell.entries].map(([name, n]) => [name, percent(n, all)]).sort();
	const entries = new Map();
	for (const r of await run(`cells("panel-matrix")`)) if (r.length === 4) entries.set(r[0], (entries.get(r[0]) || 0) + Number(r[3]));
	check(`${key}: by entry function`, [...entries].map(([name, n]) => [name, percent(n, all)]).sort(), wanted);
}

async function testFunctions() {
	await page.open(url("demo.html") + "#v=functions");
	const wanted = [...byFunction(rows)].map(([key, s]) => [key.split("`")[1], percent(s.self, all), String(s.self), percent(s.total, all),
		String(s.total), key.split("`")[0]].join());
	check("functions' self and total", (await run(`cells("panel-functions")`)).map((r) => r.join()).sort(), wanted.sort());
	await page.key("/");
	await page.type("^py");
	check("search leaves the others out", (await run(`cells("panel-functions")`)).map((r) => r[0]).every((n) => /^py/i.test(n)), true);
	await click(`id("panel-functions").querySelector("tbody button")`);
	check("a click shows callers and callees", await page.run("new URLSearchParams(location.hash.slice(1)).get('v')"), "sandwich");
}

// The call tree, opened as far as it goes, says of every path what the model does.
async function checkTree(what, paths, of) {
	const model = boxes(paths, of), sumOf = model[0].value;
	const wanted = model.filter((b) => b.value).map((b) => `${b.depth + 1} ${b.name} ${percent(b.value, sumOf)} ${b.value.toLocaleString("en")}`);
	const got = await run(`(() => {
		const select = document.querySelector("#panel-tree select");
		select.value = "0";
		select.dispatchEvent(new Event("change"));
		for (let r; (r = document.querySelector(".tree tr[aria-expanded=false]"));) r.click();
		return [...document.querySelectorAll(".tree tbody tr")].map((r) => [r.ariaLevel, r.querySelector("bdi").textContent,
			r.children[1].textContent, r.children[2].textContent].join(" "));
	})()`);
	check(`${what} (${wanted.length})`, got.sort(), wanted.sort());
}

// Sixty calls of places without a name, which are alike in their beginning: on a phone, too, what tells them apart is in sight.
async function testPlaces() {
	await page.resize(390, 800);
	const room = `[...document.querySelectorAll("#places tbody tr > :first-child")].filter((e) => e.querySelector("bdi")).map((e) => {
		const range = new Range(), style = getComputedStyle(e), {right} = box(e);
		range.selectNodeContents(e.querySelector("bdi"));
		return [right - parseFloat(style.paddingRight) - box(range).right >= -1, e.clientWidth - parseFloat(style.paddingLeft) > 100];
	})`;
	for (const [view, place, isWhole] of [["functions", "panel-functions", true], ["tree", "panel-tree", false]]) {
		await page.open(url("places.html") + "#v=" + view);
		await frame();
		const got = await run(room.replace("places", place));
		check(`${view}: all rows`, got.length >= 60, true);
		check(`${view}: the end of a name is in sight, or a good part of it`, got.filter(([end, some]) => !(isWhole ? end : some)).length, 0);
	}
	await page.resize(1200, 800);
}

async function testCallTree() {
	await page.open(url("demo.html") + "#v=tree");
	await checkTree("every path has its value", plain, libraries);
	await page.open(url("demo.html") + "#v=tree");
	await page.run("document.querySelector('.tree tr[tabindex=\"0\"]').focus()");
	await page.key("ArrowLeft");
	check("arrow left closes", await run(`document.querySelectorAll(".tree tbody tr").length`), 1);
	await page.key("ArrowRight");
	await page.key("ArrowDown");
	check("arrow right opens, arrow down goes on", await run(`document.activeElement.ariaLevel`), "2");
}

// Stacks drawn at random: recursion, frames of no library, guessed ones, no frames at all, values that are 0.
async function testRandom() {
	const drawn = readRows(pages + "/random.stacks"), of = librariesOf(drawn);
	for (const v of [0, 1]) {
		const some = drawn.filter((r) => r.values[v]), paths = (path, from = some) => from.map((r) => [path(r), r.values[v]]), whole = sum(drawn, v);
		const show = async (hash) => page.open(url("random.html") + `#u=${v}&` + hash);
		await show("v=matrix");
		const model = matrix(drawn, v);
		check(`random ${v}: self by caller`, await shownCells(), cellsOf(model, "self", whole));
		await show("v=matrix&t=1");
		check(`random ${v}: total by caller`, await shownCells(), cellsOf(model, "total", whole));
		check(`random ${v}: libraries`, (await run(`cells("libraries")`)).map((r) => [r[0], r[2], r[4]].join()).sort(),
			[...byLibrary(drawn, v)].map(([name, s]) => [name || "[no library]", s.self.toLocaleString("en"), s.total.toLocaleString("en")].join()).sort());
		for (const [hash, path] of [["", pathOf], ["f=1", foldedPath], ["r=1", (r) => withoutRecursion(pathOf(r))],
			["f=1&r=1", (r) => withoutRecursion(foldedPath(r))], ["i=1", (r) => pathOf(r).reverse()], ["x=lib1.so", (r) => foldedPath(r, (l) => l === "lib1.so")]]) {
			await show("v=tree&" + hash);
			await checkTree(`random ${v}: tree ${hash}`, paths(path), of);
		}
		await show("v=tree&l=lib2.so&o=1");
		await checkTree(`random ${v}: filtered`, paths(pathOf, some.filter((r) => r.frames.some((f) => f.library === "lib2.so"))), of);
		for (const focus of [{library: "lib1.so"}, {library: "lib1.so", name: "f3"}]) {
			await show("v=sandwich&p=" + (focus.name ? "fn:f3%60lib1.so" : "lib:lib1.so"));
			await frame();
			const {callers, callees} = sandwich(some, focus, v);
			for (const [place, list] of [["callers", callers], ["callees", callees]])
				await checkFlame(`random ${v}: ${place} of ${focus.name || focus.library}`, list,
					{place, root: focus.name || focus.library, rootAtTop: place === "callees", least: 12, of, unit: v ? "call" : "sample"});
		}
	}
}

async function testKeys() {
	await open("demo.html");
	await page.key("?");
	check("? explains", await run(`[id("help-box").open, document.querySelectorAll("#help-box tr").length > 9]`), [true, true]);
	for (const type of ["rawKeyDown", "keyUp"])
		await page.send("Input.dispatchKeyEvent", {type, key: "Escape", code: "Escape", windowsVirtualKeyCode: 27});
	check("Escape closes it", await run(`id("help-box").open`), false);
	await page.run("document.querySelector('#flame canvas').focus()");
	for (const key of ["ArrowUp", "ArrowRight", "ArrowUp"]) await page.key(key);
	const g = await geometry("flame"), model = boxes(plain, libraries), at = model.filter((b) => b.depth === 1).sort((a, b) => b.value - a.value)[0];
	const seen = (b) => b.value * (g.width / all) >= 1;
	const right = model.filter((b) => b.depth === 1 && b.from >= at.to && seen(b))[0] || at;
	const up = model.filter((b) => b.depth === 2 && b.from >= right.from && b.to <= right.to).sort((a, b) => b.value - a.value)[0];
	check("arrow keys", await run(`[text("details-name"), text("live").split(". ")[0]]`), [up.name, up.name]);
	await page.key("Enter");
	await new Promise((done) => setTimeout(done, 250));
	await checkFlame("Enter zooms", plain, {zoomed: up, least: 20});
	await page.key("ArrowDown");
	check("arrow down", await run(`text("details-name")`), right.name);
	for (const [i, view] of ["flame", "sandwich", "matrix", "functions", "tree"].entries()) {
		await page.key(String(i + 1));
		check(`${i + 1} is ${view}`, await run(`[id("panel-${view}").hidden, id("tab-${view}").ariaSelected]`), [false, "true"]);
	}
	await page.key("ArrowRight");
	await page.run("document.getElementById('tab-tree').focus()");
	await page.key("ArrowRight");
	check("arrows walk over the tabs", await run("document.activeElement.id"), "tab-flame");
}

// What stands without a name in Chromium's tree of accessible objects.
async function testNames() {
	for (const view of ["flame", "sandwich", "matrix", "functions", "tree"]) {
		await page.open(url("demo.html") + "#v=" + view + "&l=libcrypto.so.3&m=1.2&p=lib:libcrypto.so.3");
		await frame();
		const {nodes} = await page.send("Accessibility.getFullAXTree");
		const roles = /^(button|tab|tabpanel|textbox|searchbox|combobox|link|application|table|treegrid|dialog|toolbar|tablist|region|complementary|columnheader)$/;
		const bare = nodes.filter((n) => !n.ignored && roles.test(n.role?.value) && !(n.name?.value || "").trim()).map((n) => n.role.value);
		check(`${view}: everything has a name`, bare, []);
	}
	check("the page has a language", await page.run("document.documentElement.lang"), "en");
}

async function testDark() {
	const light = (rgb) => rgb.match(/\d+/g).slice(0, 3).reduce((s, c) => s + Number(c), 0) > 382;
	const look = async () => [await run("getComputedStyle(document.body).backgroundColor"), await run("getComputedStyle(document.body).color"),
		"rgb " + await run("pixel(5, 5).join()")].map(light);
	await open("demo.html");
	check("light page, dark text", await look(), [true, false, true]);
	await page.dark(true);
	await frame();
	check("dark page, light text", await look(), [false, true, false]);
	await click(`id("theme")`);
	await click(`id("theme")`);
	check("the switch is stronger than the system", [await look(), await page.run("location.hash")], [[true, false, true], "#h=light"]);
	await page.dark(false);
	await page.open(url("demo.html") + "#h=dark");
	check("an address with a theme", await look(), [false, true, false]);
}

// Several events: only what has some of the one shown, without the number of samples that they have in common.
async function testSeveral() {
	const shown = async (value, place = "libraries") => {
		await page.open(url("several.html") + `#v=functions&u=${value}`);
		await frame();
		return (await run(`cells("${place}")`)).map((r) => r[0]);
	};
	check("libraries of cpu", await shown(1), ["libbusy.so"]);
	check("values in words", await run(`[...id("value").options].map((o) => o.textContent)`), ["samples", "cpu", "offcpu", "live bytes"]);
	check("no common samples", await run(`[...document.querySelectorAll("th")].filter((h) => h.textContent.startsWith("Samples")).length`), 0);
	check("libraries of offcpu, of two alike the larger total first", await shown(2), ["[kernel]", "app", "libslow.so", "libaway.so"]);
	check("functions of it", await shown(2, "panel-functions"), ["schedule", "main", "wait", "wait"]);
	check("libraries of memory", await shown(3), ["libbusy.so"]);
}

async function testDiff() {
	const old = readRows(diffStacks), paths = (v) => old.filter((r) => r.values[v]).map((r) => [pathOf(r), r.values[v]]);
	const share = (name, v) => sum(old.filter((r) => r.frames.some((f) => f.name === name)), v) / sum(old, v);
	await open("diff.html");
	check("one value, old and new", await run(`[...id("value").options].map((o) => o.textContent)`), ["value, old and new", "samples, old and new"]);
	const where = async (name, v) => spotOf(name, paths(v)), at = (s) => `pixel(${s.x} - box(canvas()).x, ${s.y} - box(canvas()).y - 7)`;
	const colour = async (name, v) => {
		const [r, g, b] = await run(at(await where(name, v)));
		return r > b + 40 ? "red" : b > r + 40 ? "blue" : "grey";
	};
	const wanted = {grew: "red", shrank: "blue", same: "grey", noisy: "grey", fresh: "red"};
	for (const [name, is] of Object.entries(wanted)) check(`${name} is ${is}`, await colour(name, 1), is);
	const s = await where("grew", 1);
	await page.hover(s.x, s.y);
	check("old and new are said", await run(`text("details-facts")`), new RegExp(`^${percent(share("grew", 0), 1)} → ${percent(share("grew", 1), 1)} \\(\\+`));
	await click(`id("old-width")`);
	await frame();
	check("old widths show what is gone", await colour("gone", 0), "blue");
	const change = (await run(`cells("libraries")`)).find((r) => r[0] === "libgrew.so.1");
	const self = (v) => byLibrary(old, v).get("libgrew.so.1").self / sum(old, v);
	check("the table has both", change.slice(1, 4), [percent(self(0), 1), percent(self(1), 1), "+" + (100 * (self(1) - self(0))).toFixed(2)]);
	const noisy = (await run(`cells("libraries")`)).find((r) => r[0] === "libnoisy.so.1");
	check("and says what is within noise", noisy[3], / ≈$/);
	check("what is gone has its row", (await run(`cells("libraries")`)).find((r) => r[0] === "libold.so.1").slice(1, 4),
		[percent(900, sum(old, 0)), "0.00%", "−10.00"]);
	check("the largest change is the first", (await run(`cells("libraries")`))[0][0], "libgrew.so.1");
	await page.resize(1440, 900);
	await open("diff.html");
	check("the table has room for old and new", await run(`id("libraries").scrollWidth <= id("libraries").clientWidth`), true);
	await page.resize(1200, 800);
}

// What is noise is what soprof diff says; "samples" are judged by the page itself, "value" by the diff.
async function testNoise() {
	for (const [kind, value] of [["counts", 0], ["counts", 1], ["slices", 0]]) {
		for (const [by, place] of [["library", "libraries"], ["function", "panel-functions"]]) {
			const {intervals, rows: judged} = JSON.parse(readFileSync(`${pages}/${kind}-${by}.json`));
			await page.open(url(kind + ".html") + `#v=functions&u=${value}`);
			await frame();
			await run(`(() => { for (let b; (b = button("Show more", id("${place}"))); b.click()); })()`);
			const shown = new Map((await run(`cells("${place}")`)).map((r) => [r[0] + (by === "function" ? " " + r.find((c) => /^lib|^app$/.test(c)) : ""), r]));
			const flag = (c) => c.delta && c.within_noise ? "≈" : "";
			const wanted = judged.map((r) => [r.name + (by === "function" ? " " + r.library : ""), flag(r.self), flag(r.total)]);
			const got = wanted.map(([name]) => [name, ...[3, 6].map((i) => (shown.get(name)?.[i] || "missing").replace(/^.[\d.]+ ?/, ""))]);
			check(`${kind}: the intervals' source`, intervals, kind);
			check(`${kind}, value ${value}: noise by ${by} is the diff's`, got, wanted);
			check(`${kind}: some is noise, some is not, by ${by}`, new Set(wanted.map((r) => r[1])).size, 2);
		}
	}
}

async function testWithoutScripts() {
	await page.scripts(false);
	await page.open(url("demo.html"));
	const {root} = await page.send("DOM.getDocument", {depth: -1});
	const query = async (selector) => (await page.send("DOM.querySelectorAll", {nodeId: root.nodeId, selector})).nodeIds;
	const textOf = async (nodeId) => (await page.send("DOM.getOuterHTML", {nodeId})).outerHTML.replace(/<\/t[dh]>/g, "\t").replace(/<[^>]*>/g, "").trim();
	const got = [];
	for (const nodeId of (await query("noscript tr")).slice(1)) got.push((await textOf(nodeId)).split("\t"));
	check("the table of libraries is there", byName(got.map((r) => [r[0], r[2], r[1].replace(/ .*/, ""), r[4], r[3].replace(/ .*/, "")])), byName(libraryRows(rows)));
	check("and seen", (await page.send("DOM.getBoxModel", {nodeId: (await query("noscript table"))[0]})).model.height > 200, true);
	check("the rest is not", await page.send("DOM.getBoxModel", {nodeId: (await query("#app"))[0]}).catch(() => "hidden"), "hidden");
	await page.scripts(true);
}

async function testHostile() {
	for (const hash of ["", "#v=matrix&t=1", "#v=functions&s=x", "#v=tree", "#v=sandwich", "#f=1&l=%3C/script%3E%3Cscript%3Ewindow.owned=1%3C/script%3E&o=1",
		"#v=sandwich&p=lib:%3C!--%3Cscript%3E", "#s=%3Cimg src=x onerror=owned=1%3E&k=%3Cx%3E&h=%22%3E%3Cx%3E"]) {
		await page.open(url("hostile.html") + hash);
		await frame();
		const g = await geometry("flame");
		for (let x = 10; x < g.width; x += 60) await page.hover(g.x + x, g.y + g.seen - 45);
		check(`no name became an element (${hash.slice(0, 20)})`, await page.run(`[...document.querySelectorAll("*")].filter((e) =>
			/^(img|x|iframe|object|embed|link|svg|math|base)$/i.test(e.localName) || [...e.attributes].some((a) => /^on|^href|^src/.test(a.name))).length`), 0);
		check("there are two scripts", await page.run(`document.querySelectorAll("script").length`), 2);
		check("no name became a script", await page.run("typeof window.owned"), "undefined");
	}
	await page.open(url("hostile.html") + "#v=functions");
	const names = (await run(`cells("panel-functions")`)).map((r) => r[0]);
	for (const name of ["</script><script>window.owned=1</script>", "a\\x0ab\\x0dc\\x09d", "\\xe2\\x80\\xaertl\\xe2\\x81\\xa6",
		"\\xff\\xfe\\xc0\\xaf bad", "__proto__", "constructor", "שלום", "漢字かな交じり関数名", "@DATA@ @TITLE@", "&lt;&#x3c;&amp;"])
		check(`${name} is whole`, names.includes(name), true);
	check("the title is text", await run(`text("title")`), "</title><script>owned=1</script>@STATIC@");
	const before = page.problems.length;
	check("the policy stops what would be one", await page.run(`(() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return "no"; }
		catch (e) { return e.name; } })()`), "TypeError");
	await page.run(`(() => { const i = document.createElement("img"); i.src = "https://example.com/x.png"; document.body.append(i); })()`);
	await frame();
	check("and every address", page.problems.splice(before).some((p) => /example.com.*Content Security Policy/.test(p)), true);
	await page.open(url("empty.html"));
	check("no samples", await run(`!id("empty").hidden && text("empty")`), "There were no samples.");
	for (const view of ["sandwich", "matrix", "functions", "tree"]) await page.key(String(["", "flame", "sandwich", "matrix", "functions", "tree"].indexOf(view)));
	await page.open(url("broken.html"));
	check("damaged data are told", await run(`[id("broken").hidden, text("broken").startsWith("This report cannot be shown: ")]`), [false, true]);
}

// The recording's time: its chart, and all views of a range that is picked, as counted from perf's own text.
async function testTime() {
	const lines = readFileSync(`${pages}/old.slices`, "utf8").split("\n"), samples = [];
	lines.forEach((line, i) => {
		const m = /^app 1 ([\d.]+): cycles:/.exec(line);
		if (m) samples.push({at: Number(m[1]) - 1, values: [1], comm: "app", beside: [], frames: [3, 2, 1].map((k) => {
			const [, name, library] = /^\t\S+ (\w+)\+0x0 \(.*\/(\S+)\)/.exec(lines[i + k]);
			return {name, library};
		})});
	});
	await open("demo.html");
	check("without times there is no chart", await run(`id("when").hidden`), true);
	await open("timed.html");
	const {n_slices: n, slice_ns: ns, duration_ns: all} = await run(`JSON.parse(text("data"))`), of = librariesOf(samples);
	check("slices of 2^30 ns", [n, ns, all], [28, 2 ** 30, 29995e6]);
	const within = (a, b) => samples.filter((s) => Math.floor(s.at * 1e9 / ns) >= a && Math.floor(s.at * 1e9 / ns) < b);
	const seconds = (slices) => Number((slices * ns / 1e9).toFixed(3)) + " s", chart = `id("overview").querySelector("canvas")`;
	const g = await run(`(() => { const b = box(${chart}); return {x: b.x, y: b.y, width: b.width}; })()`);
	const x = (slice) => g.x + 62 + slice / (all / ns) * (g.width - 64);
	await page.hover(x(3.5), g.y + 40);
	const three = byLibrary(within(3, 4)), tip = await run(`[text("tip"), ...[...id("tip").querySelectorAll("p")].map((p) => p.textContent)]`);
	check("the chart says what a slice cost", tip[0].startsWith(`${seconds(3)} to ${seconds(4)} ${within(3, 4).length} `), true);
	const single = tip.slice(1).filter((s) => s.startsWith("lib"));
	check("by library", [single.length > 2, single], [true, single.map((s) => s.split(" ")[0]).map((name) => `${name} ${three.get(name).self}`)]);
	const shown = async (what, some) => {
		check(`${what}: libraries`, byName(await run(`cells("libraries")`)), byName(libraryRows(some)));
		await checkFlame(what, some.map((s) => [pathOf(s), 1]), {of, root: "all"});
	};
	await shown("all of the time", samples);
	await drag({x: x(5.5), y: g.y + 40}, x(9.5) - x(5.5));
	check("the picked range is in the address", await page.run("location.hash"), "#at=5-10");
	const picked = within(5, 10);
	check("and told", await run(`text("chips")`),
		`${seconds(5)} to ${seconds(10)}: ${picked.length.toLocaleString("en")} samples, ${percent(picked.length, samples.length)} of all ✕`);
	await shown("a range of it", picked);
	await page.key("4");
	const functions = await run(`cells("panel-functions")`);
	check("its functions", functions.map((r) => Number(r[2])).reduce((a, b) => a + b, 0), picked.length);
	await page.key("1");
	await page.open(url("timed.html") + "#at=5-10");
	await frame();
	await shown("an address with a range", picked);
	await page.key("Escape");
	await frame();
	check("Escape ends it", [await page.run("location.hash"), await run(`text("chips")`)], ["", ""]);
	await shown("all again", samples);
	await page.run(`document.querySelector("#overview canvas").focus()`);
	await page.key("Home");
	await page.key("ArrowRight", 8);
	await page.key("Enter");
	check("keys pick", await page.run("location.hash"), "#at=0-2");
	await shown("picked by keys", within(0, 2));
	await click(`button("${seconds(0)}", id("chips"))`);
	check("its button ends it", await page.run("location.hash"), "");
	const isRootSeen = `id("flame").scrollHeight > id("flame").clientHeight && id("flame").scrollTop + id("flame").clientHeight > id("flame").scrollHeight - 2`;
	await page.resize(1200, 300);
	await open("timed.html");
	await eventually("the root is in sight below the chart", isRootSeen, true);
	await page.run(`document.querySelector("#overview canvas").focus()`);
	await page.key("Enter");
	await eventually("and below the line that tells the range", isRootSeen, true);
	await page.resize(390, 844);
	await page.open(url("timed.html") + "#at=5-10");
	await frame();
	const seen = () => run(`[box(id("overview")).height > 0, box(id("chips")).height > 0, document.documentElement.scrollWidth <= innerWidth]`);
	check("on a phone the range alone", await seen(), [false, true, true]);
	await click(`id("menu")`);
	await frame();
	check("and the chart with the menu", await seen(), [true, true, true]);
	await page.resize(1200, 800);
}

// Figures, no pass or fail on time: the machine may have other work.
async function testSpeed() {
	await open("big.html");
	await new Promise((done) => setTimeout(done, 500));
	const ready = await page.run("performance.getEntriesByName('ready')[0].startTime");
	await page.run("performance.clearMeasures('draw')");
	const g = await geometry("flame");
	for (let i = 0; i < 60; i++)
		await page.send("Input.dispatchMouseEvent", {type: "mouseWheel", x: g.x + 300, y: g.y + 300, deltaX: 0, deltaY: i < 40 ? -60 : 60, modifiers: 2});
	for (let i = 0; i < 8; i++) {
		await page.click(g.x + 200 + 50 * i, g.y + g.seen - 27 - ROW * i);
		await new Promise((done) => setTimeout(done, 250));
	}
	const draws = (await page.run("performance.getEntriesByName('draw').map((e) => e.duration)")).sort((a, b) => a - b);
	check("it is drawn while it zooms", draws.length > 40, true);
	console.log(`   ${await page.run("document.getElementById('data').textContent.length")} bytes of data: ready after ${ready.toFixed(0)} ms; ` +
		`${draws.length} draws, median ${draws[draws.length >> 1].toFixed(1)} ms, 95 % within ${draws[Math.floor(draws.length * 0.95)].toFixed(1)} ms`);
}

try {
	for (const test of [testLoad, testZoom, testStrip, testSearch, testLibraries, testShapes, testSandwich, testMatrix, testFunctions,
		testPlaces, testCallTree, testRandom, testKeys, testNames, testDark, testSeveral, testDiff, testNoise, testTime, testWithoutScripts, testHostile, testSpeed]) await test();
	check("no errors, no violations, no dialogs", page.problems, []);
	check("nothing is loaded but the file", page.requests.filter((u) => !/^(file:|about:|https:\/\/example.com\/x.png)/.test(u)), []);
} catch (e) {
	console.log("FAILED " + e.stack);
	failed++;
} finally {
	await browser.close();
}
process.exit(failed ? 1 : 0);
