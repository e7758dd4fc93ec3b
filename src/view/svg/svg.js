// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph's script. It lays out the picture that is in the file already, which readers without scripts see; web/flame.js,
// of the html view and the agent's page, draws only what is visible of a larger tree on a canvas. So they share nothing but looks.
// Before it stand D (depth, value of each frame, parents first), O (what each value was before,
// if it is a difference), B (build ids), L (frames too narrow to be drawn: the drawn frame below, how much deeper, value, name) and
// X (the value of those that are not in L either), numbers and hex digits only. Names are read from the picture's text and written as text, never as markup.
// What is shown follows from the address's fragment alone: z = zoomed frame, s = search, c = match case, l = library.
"use strict";
(() => {
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const PAD = 10, ROW = 17, MIN_WIDTH = 0.1, SLIM = 4; // px; a slim frame has no outline, which would be all of it
const svg = document.documentElement, byId = (id) => document.getElementById(id);
const n = D.length / 2, groups = [...byId("frames").children];
const isDiff = O.length > 0, isIcicle = svg.classList.contains("icicle");
const depth = new Int32Array(n), parent = new Int32Array(n), last = new Int32Array(n);
const value = new Float64Array(n), start = new Float64Array(n);
const names = [], libraries = [], amounts = [], ids = [];
const index = new Map(groups.map((g, i) => [g, i]));
const rects = groups.map((g) => g.querySelector("rect")), texts = groups.map((g) => g.querySelector("text"));
const placed = groups.map(() => ""), labels = groups.map(() => null);

// --- the tree ---
// Two multiplicative hashes of 32 bits over the names from the root: the same frame has the same id in a newer file.
function extend(id, text) {
	let [a, b] = id;
	for (let i = 0; i <= text.length; i++) {
		const c = i < text.length ? text.charCodeAt(i) : 0x1ffff;
		a = Math.imul(a ^ c, 0x01000193);
		b = Math.imul(b + c, 0x2c1b3c6d) ^ (b >>> 15);
	}
	return [a, b];
}

function readTree() {
	const path = [], hashes = [], used = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		const lines = groups[i].firstChild.textContent.split("\n");
		depth[i] = D[2 * i];
		value[i] = D[2 * i + 1];
		names[i] = lines[0];
		libraries[i] = lines.length > 2 ? lines[1] : "";
		amounts[i] = lines[lines.length - 1];
		path.length = depth[i];
		const up = i ? path[depth[i] - 1] : 0;
		parent[i] = up;
		start[i] = i ? start[up] + used[up] : 0;
		if (i) used[up] += value[i];
		hashes[i] = extend(extend(i ? hashes[up] : [7, 11], names[i]), libraries[i]);
		ids[i] = (hashes[i][0] >>> 0).toString(36) + "." + (hashes[i][1] >>> 0).toString(36);
		path.push(i);
		last[i] = i;
	}
	for (let i = n - 1; i > 0; i--) last[parent[i]] = Math.max(last[parent[i]], last[i]);
}

const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + "%";

function points(now, old) {
	const size = Math.abs(now - old).toFixed(2);
	return (Number(size) ? now < old ? "−" : "+" : "±") + size + " pp";
}

// --- what is shown ---
let state = {zoom: 0, search: "", exact: false, library: ""};

function readState() {
	const q = new URLSearchParams(location.hash.slice(1));
	const zoom = ids.indexOf(q.get("z") || ids[0]);
	return {zoom: value[zoom] ? zoom : 0, search: q.get("s") || "",
		exact: q.has("c"), library: q.get("l") || ""};
}

function fragment() {
	const q = new URLSearchParams();
	if (state.zoom) q.set("z", ids[state.zoom]);
	if (state.search) q.set("s", state.search);
	if (state.exact) q.set("c", "1");
	if (state.library) q.set("l", state.library);
	return "#" + q;
}

// A new entry in the history, or the present one replaced; where the address may not be changed the picture still is.
function go(change, replace) {
	Object.assign(state, change);
	try {
		if (fragment() !== (location.hash || "#"))
			history[replace ? "replaceState" : "pushState"](null, "", fragment());
	} catch (e) {
		console.warn("the address cannot follow: " + e.message);
	}
	show();
}

// --- parts in HTML, which wraps lines by itself ---
function make(tag, className, text) {
	const e = document.createElementNS(HTML, tag);
	if (className) e.className = className;
	if (text !== undefined) e.textContent = text;
	return e;
}

function panel(child) {
	const box = document.createElementNS(SVG, "foreignObject");
	box.setAttribute("x", 0);
	box.append(child);
	svg.append(box);
	return {box, child, place(y, width) {
		box.setAttribute("width", width);
		box.setAttribute("height", 4000); // room to find its height
		const height = Math.ceil(child.offsetHeight);
		box.setAttribute("height", height);
		box.setAttribute("y", y);
		return y + height;
	}};
}

const firstLine = (text) => text.split("\n")[0];
const fullText = (e) => e ? (e.querySelector("title") || e).textContent : "";

function makeHead() {
	const ui = make("div", "ui"), subtitle = byId("subtitle");
	ui.append(make("h1", "", fullText(byId("title"))));
	if (subtitle) ui.append(make("p", "", fullText(subtitle)));
	return panel(ui);
}

function makeButton(text, title, click) {
	const b = make("button", "", text);
	b.type = "button";
	b.title = title;
	b.addEventListener("click", click);
	return b;
}

const name = make("div"), facts = make("div"), found = make("b"), input = make("input");
const exact = makeButton("Aa", "Match case (Ctrl-I)", () => go({exact: !state.exact}));
const reset = makeButton("Reset", "The whole graph, no search (Escape)", () =>
	go({zoom: 0, search: "", library: ""}));

function makeBar() {
	const ui = make("div", "ui bar"), about = make("div", "about"), tools = make("div", "tools");
	input.type = "search";
	input.placeholder = "Search (regular expression)";
	input.title = "/ or Ctrl-F; lib: before it searches libraries";
	input.spellcheck = false;
	input.setAttribute("aria-label", "search");
	input.addEventListener("input", () => go({search: input.value}, Boolean(state.search)));
	found.setAttribute("role", "status");
	about.append(name, facts);
	tools.append(found, input, exact, reset);
	ui.append(about, tools);
	return panel(ui);
}

function makeLegend() {
	const ui = make("div", "ui legend");
	for (const g of byId("legend").children) {
		const text = g.querySelector("text").textContent, title = g.querySelector("title");
		const entry = title ? makeButton("", title.textContent, () => {
			const library = firstLine(title.textContent);
			go({library: state.library === library ? "" : library});
		}) : make("span");
		const swatch = document.createElementNS(SVG, "svg");
		swatch.append(...[...g.querySelectorAll("rect")].map((r) => r.cloneNode()));
		entry.append(swatch, make("span", "", text));
		ui.append(entry);
		if (g.classList.contains("z")) ui.append(make("i"));
	}
	return panel(ui);
}

function makeFoot() {
	const ui = make("div", "ui");
	for (const note of byId("foot").children) ui.append(make("p", "", note.textContent));
	ui.append(make("p", "", "Click or Enter: zoom. Arrow keys: walk. Ctrl-F or /: search. Escape: back to the whole."));
	return panel(ui);
}

// --- details ---
function kindOf(i) {
	const c = rects[i].classList;
	return c.contains("k") ? "kernel" : c.contains("g") ? "guessed frame" : "";
}

function libraryText(i) {
	const m = /^l(\d+)/.exec(rects[i].getAttribute("class"));
	const id = m ? B[m[1]] : "";
	return libraries[i] + (id ? " (build id " + id + ")" : "");
}

function describe(i) {
	const facts = [isDiff ? amounts[i] : amounts[i] + " of all"];
	if (i) facts.push(percent(value[i], value[parent[i]]) + " of its parent");
	for (const s of [libraryText(i), kindOf(i)]) if (s) facts.push(s);
	return facts;
}

function detail(i) {
	const [, whole, how] = /^(.*?); (.*):$/.exec(byId("sum").textContent), at = i < 0 ? state.zoom : i;
	name.textContent = at || i === 0 ? names[at] : whole;
	facts.textContent = at || i === 0 ? describe(at).join(" · ") : isDiff ? how : "Width is the share of all. A click zooms.";
	if (i >= 0) groups[i].firstChild.textContent = [names[i], ...describe(i)].join("\n");
}

// --- search ---
function matcher() {
	const [, library, pattern] = /^(lib:)?(.*)$/su.exec(state.search);
	input.classList.remove("bad");
	if (!pattern) return null;
	try {
		const re = new RegExp(pattern, state.exact ? "u" : "ui");
		return (name, of) => re.test(library ? of : name);
	} catch (e) {
		input.classList.add("bad");
		return null;
	}
}

// Frames too narrow to be drawn, whose names stand in the file once.
const narrow = [...(byId("narrow") ? byId("narrow").children : [])].map((e) => e.textContent.split("\n"));

// By drawn frame: what matches above it without being drawn.
function narrowMatches(test) {
	const hits = narrow.map(([name, library]) => test(name, library || "")), sums = new Float64Array(n);
	for (let k = 0, within = Infinity, frame = -1; k < L.length; k += 4) {
		if (L[k] !== frame || L[k + 1] <= within) within = Infinity;
		frame = L[k];
		if (within < Infinity || !hits[L[k + 3]]) continue;
		sums[frame] += L[k + 2];
		within = L[k + 1];
	}
	return sums;
}

// The share of the frames that match inside `root`; one above another that matches is not counted again.
function share(matches, root, others) {
	let now = 0, old = 0;
	for (let i = root; i <= last[root]; i++) {
		if (!matches[i]) {
			now += others ? others[i] : 0;
			continue;
		}
		now += value[i];
		old += isDiff ? O[i] : 0;
		i = last[i];
	}
	const text = percent(now, value[root]);
	return isDiff ? text + ", was " + percent(old, O[root]) + ": " +
		points(100 * now / value[root], O[root] ? 100 * old / O[root] : 0) : text;
}

// What is neither drawn nor in L.
const unseen = () => X ? " (not searched: " + percent(X, value[0]) + ", too narrow)" : "";

function ofThis(matches, others) {
	return state.zoom ? (isDiff ? "; " : ", ") + share(matches, state.zoom, others) + " of this" : "";
}

const entriesOf = (library) => [...legend.child.querySelectorAll("button")].filter((b) => firstLine(b.title) === library);

// The legend knows the library's shares exactly, those of frames too narrow to be drawn as well.
function libraryShare(same) {
	const entries = entriesOf(state.library);
	return state.library + ": " + (entries.length === 1 ? entries[0].title.split("\n")[1]
		: "total " + share(same, 0));
}

function showMatches() {
	const test = matcher(), hits = new Uint8Array(n), same = new Uint8Array(n), said = [];
	for (let i = 0; i < n; i++) {
		hits[i] = test && i && test(names[i], libraries[i]) ? 1 : 0; // "all" is no name
		same[i] = !state.library || libraries[i] === state.library ? 1 : 0;
		const past = i < state.zoom && last[i] >= state.zoom;
		groups[i].setAttribute("class",
			(hits[i] ? "match " : "") + (past ? "past " : "") + (same[i] ? "" : "other"));
	}
	const others = test ? narrowMatches(test) : null;
	if (test) said.push("Matched: " + share(hits, 0, others) + ofThis(hits, others) + unseen());
	else if (state.search && input.classList.contains("bad")) said.push("not a regular expression");
	if (state.library) said.push(libraryShare(same) + ofThis(same));
	found.textContent = said.join("; ");
	for (const b of legend.child.querySelectorAll("button"))
		b.setAttribute("aria-pressed", firstLine(b.title) === state.library);
}

// --- layout ---
let cell = 7.23;

const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

// As much of the text as fits into so many cells. Of a place without a name the offset stays, or its end.
function fit(text, cells) {
	if (text.length * 2 <= cells) return text;
	const offset = /^[ -~]{3,}(\+0x[0-9a-f]+)$/.exec(text);
	if (offset && text.length > cells && offset[1].length + 3 <= cells)
		return text.slice(0, cells - 1 - offset[1].length) + "…" + offset[1];
	if (offset && text.length > cells && cells > 4) return "…" + offset[1].slice(1 - cells);
	const kept = [];
	let used = 0, cut = 0;
	for (const c of text) {
		used += wide.test(c) ? 2 : 1;
		if (used <= cells - 1) cut = kept.length + 1;
		if (used > cells) return cut < 2 ? "" : kept.slice(0, cut).join("") + "…";
		kept.push(c);
	}
	return text;
}

function measure() {
	const probe = document.createElementNS(SVG, "text");
	probe.textContent = "0".repeat(100);
	byId("frames").append(probe);
	cell = probe.getComputedTextLength() / 100 || cell;
	probe.remove();
}

const round = (px) => Math.round(px * 10) / 10;

function label(i, x, y, width) {
	const shown = width >= 3 * cell + 6 ? fit(names[i], Math.floor((width - 6) / cell)) : "";
	if (!texts[i] && !shown) return;
	if (!texts[i]) texts[i] = groups[i].appendChild(document.createElementNS(SVG, "text"));
	if (labels[i] !== shown) texts[i].textContent = labels[i] = shown;
	texts[i].setAttribute("x", round(x + 3));
	texts[i].setAttribute("y", y + 12);
}

// Only what has changed is written, which matters from some thousands of frames on.
function place(i, x, y, width) {
	const now = round(x) + " " + y + " " + round(width);
	if (placed[i] === now) return;
	placed[i] = now;
	rects[i].setAttribute("x", round(x));
	rects[i].setAttribute("y", y);
	rects[i].setAttribute("width", round(width > 2 ? width - 0.5 : width));
	rects[i].classList.toggle("s", width < SLIM);
	label(i, x, y, width);
}

function layFrames(top, width) {
	const z = state.zoom, scale = width / value[z], shown = [];
	let deepest = 0;
	for (let i = 0; i < n; i++) {
		const past = i < z && last[i] >= z, inside = i >= z && i <= last[z] && value[i] * scale >= MIN_WIDTH;
		groups[i].classList.toggle("off", !past && !inside);
		if (!past && !inside) continue;
		shown.push(i);
		deepest = Math.max(deepest, depth[i]);
	}
	for (const i of shown)
		place(i, PAD + (i < z ? 0 : (start[i] - start[z]) * scale), top + (isIcicle ? depth[i] : deepest - depth[i]) * ROW,
			i < z ? width : value[i] * scale);
	return top + (deepest + 1) * ROW;
}

let head, legend, foot, bar, barY = 0, height = 0;

// The bar stays in sight when the page is scrolled, and so does the legend where it does not take too much of the window.
function stick() {
	const barHeight = bar.child.offsetHeight, both = barHeight + legend.child.offsetHeight;
	const y = Math.max(barY, Math.min(window.scrollY, height - both));
	bar.box.setAttribute("y", y);
	legend.box.setAttribute("y", (4 * both < window.innerHeight ? y : barY) + barHeight);
}

function layout() {
	const width = Math.max(240, svg.getBoundingClientRect().width);
	barY = head.place(0, width) + 4;
	const top = legend.place(bar.place(barY, width), width) + 8;
	height = foot.place(layFrames(top, width - 2 * PAD) + 8, width) + 10;
	svg.setAttribute("height", height);
	stick();
}

// The frames stay where they are in the window, as far as the page is high enough, whatever is added or left out above.
function show() {
	const before = rects[0].getBoundingClientRect().top;
	if (input.value !== state.search) input.value = state.search;
	exact.setAttribute("aria-pressed", state.exact);
	reset.disabled = !(state.zoom || state.search || state.library);
	showMatches();
	layout();
	detail(-1);
	window.scrollBy(0, rects[0].getBoundingClientRect().top - before);
	stick();
}

// --- mouse and keys ---
const frameOf = (target) => {
	const g = target.closest ? target.closest("#frames > g") : null;
	return g ? index.get(g) : -1;
};

let focused = -1;

function focusOn(i) {
	if (focused >= 0) groups[focused].removeAttribute("tabindex");
	focused = i;
	groups[i].setAttribute("tabindex", 0);
	groups[i].focus();
}

const isShown = (i) => !groups[i].classList.contains("off");

// The next frame in sight at the same height to that side, the parent, or the first child.
function neighbour(i, key) {
	const outward = isIcicle ? "ArrowDown" : "ArrowUp";
	if (key !== outward && (key === "ArrowUp" || key === "ArrowDown")) return i ? parent[i] : i;
	const step = key === "ArrowLeft" ? -1 : 1;
	const end = key === outward ? last[i] : step < 0 ? 0 : n - 1;
	const wanted = depth[i] + (key === outward ? 1 : 0);
	for (let j = i + step; step < 0 ? j >= end : j <= end; j += step)
		if (depth[j] === wanted && isShown(j)) return j;
	return i;
}

function escape() {
	if (document.activeElement === input) input.blur();
	if (state.search) go({search: ""});
	else if (state.library) go({library: ""});
	else if (state.zoom) go({zoom: 0});
}

function onKey(e) {
	const typing = document.activeElement === input, ctrl = e.ctrlKey || e.metaKey, at = frameOf(e.target);
	if (e.key === "Escape") escape();
	else if (!typing && (e.key === "/" || (ctrl && e.key === "f"))) {
		input.focus();
		input.select();
	}
	else if (ctrl && e.key === "i") go({exact: !state.exact});
	else if (e.key === "Enter" && at >= 0) go({zoom: at});
	else if (e.key.startsWith("Arrow") && at >= 0) focusOn(neighbour(at, e.key));
	else return;
	e.preventDefault();
}

function listen() {
	const frames = byId("frames");
	frames.addEventListener("click", (e) => {
		if (frameOf(e.target) >= 0) go({zoom: frameOf(e.target)});
	});
	frames.addEventListener("pointerover", (e) => detail(frameOf(e.target)));
	frames.addEventListener("pointerleave", () => detail(-1));
	frames.addEventListener("focusin", (e) => detail(frameOf(e.target)));
	window.addEventListener("keydown", onKey);
	window.addEventListener("resize", layout);
	window.addEventListener("scroll", stick);
	for (const event of ["hashchange", "popstate"])
		window.addEventListener(event, () => {
			state = readState();
			show();
		});
}

readTree();
svg.removeAttribute("viewBox");
svg.removeAttribute("width");
svg.classList.add("live");
const viewport = document.createElementNS(HTML, "meta"); // of a phone: its own width, not that of a desk's page
viewport.setAttribute("name", "viewport");
viewport.setAttribute("content", "width=device-width, initial-scale=1");
svg.prepend(viewport);
head = makeHead();
foot = makeFoot();
legend = makeLegend();
bar = makeBar();
for (const id of ["head", "foot"]) byId(id).classList.add("off");
groups[0].setAttribute("tabindex", 0);
focused = 0;
measure();
listen();
state = readState();
show();
window.scrollTo(0, isIcicle ? 0 : height);
})();
