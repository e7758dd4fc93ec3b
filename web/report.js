// SPDX-License-Identifier: GPL-2.0-or-later
// report.js: the report: what is shown follows from `state` alone, and the state from the address's fragment.

const VIEWS = ["flame", "sandwich", "matrix", "functions", "tree"];
const START = {view: "flame", value: -1, zoom: "", search: "", exact: false, library: "", only: false, fold: false,
	except: "", recursion: false, icicle: false, inverted: false, focus: "", cell: "", totals: false, old: false,
	theme: "", sort: "-self", alone: false, range: ""};
// Names in the address.
const SHORT = {view: "v", value: "u", zoom: "z", search: "s", exact: "c", library: "l", only: "o", fold: "f", except: "x",
	recursion: "r", icicle: "d", inverted: "i", focus: "p", cell: "m", totals: "t", old: "w", theme: "h", sort: "k", alone: "a", range: "at"};

// What follows a change of the state; an agent's page asks for what it lacks first (page.js).
let update = () => render();
// All samples of a report, or those of the range of time that is picked (time.js).
let timed = () => data.tree;
let data, state = {...START}, trees = {}, flame, callersFlame, calleesFlame, libraryTable, functionTable, callTree;

// --- the address ---
function readState() {
	const q = new URLSearchParams(location.hash.slice(1)), s = {...START, value: data ? data.choice : 0};
	for (const [name, short] of Object.entries(SHORT)) {
		const text = q.get(short);
		if (text === null) continue;
		s[name] = typeof START[name] === "boolean" ? text === "1" : typeof START[name] === "number" ? Number(text) : text;
	}
	if (!VIEWS.includes(s.view)) s.view = START.view;
	if (data && !data.choices[s.value]) s.value = data.choice;
	return s;
}

function fragment() {
	const q = new URLSearchParams(), start = {...START, value: data ? data.choice : 0};
	for (const [name, short] of Object.entries(SHORT))
		if (state[name] !== start[name]) q.set(short, state[name] === true ? "1" : String(state[name]));
	return "#" + q;
}

// A new step in the history, or the present one changed; where the address may not be changed the page still is.
function go(changes, replace) {
	Object.assign(state, changes);
	try {
		if (fragment() !== (location.hash || "#"))
			history[replace ? "replaceState" : "pushState"](null, "", fragment());
	} catch (e) {
		console.warn("the address cannot follow: " + e.message);
	}
	update();
}

// --- from the state to trees, each kept until what it is made of changes ---
function kept(name, key, compute) {
	const has = trees[name];
	if (has && has.key.length === key.length && has.key.every((k, i) => k === key[i])) return has.value;
	trees[name] = {key, value: compute()};
	return trees[name].value;
}

const choice = () => data.choices[state.value];
const isDiff = () => choice().old >= 0;
const width = () => isDiff() && state.old ? choice().old : choice().v;
const selected = () => state.library ? data.libraries.find((l) => l.i && l.key === state.library) : undefined;

function filteredTree() {
	const l = selected(), only = state.only && l && !data.sums ? l.i : 0, t = timed();
	return only ? kept("filtered", [t, only], () => onlyLibrary(t, data.entities, only)) : t;
}

const exceptions = () => new Set(state.except ? state.except.split("\n") : []);

// What all but the flame graph shows.
function ownFiltered(t = filteredTree(), name = "own") {
	return t === data.tree ? data.own : kept(name, [t], () => ownTree(t, data.entities));
}

function foldedTree() {
	const t = filteredTree(), {fold: all, except, recursion} = state;
	if (!all && !except && !recursion || data.shaped) return t;
	return kept("folded", [t, all, except, recursion], () => {
		const others = exceptions();
		return fold(t, data.entities, (l) => all !== others.has(data.libraries[l].key), recursion);
	});
}

function shownTree() {
	const t = foldedTree();
	return state.inverted && !data.shaped ? kept("inverted", [t], () => Object.assign(invert(t, data.entities), {isUp: true})) : t;
}

const nameFor = (n, c) => c.name === "value" ? "" : n === 1 && c.unit === "count" ? c.name.replace(/s$/, "") : c.name;
const worth = (n, c) => (amount(n, c.unit) + " " + nameFor(n, c)).trim();
const whole = (t, v) => layout(t, v).total[0];

function searched() {
	const inLibraries = state.search.startsWith("lib:");
	try {
		return {inLibraries, expression: new RegExp(inLibraries ? state.search.slice(4) : state.search, state.exact ? "u" : "ui")};
	} catch {
		return {inLibraries, expression: null};
	}
}

// Which entities the search finds; null without one.
function matches(d = data) {
	return kept("matches", [d, state.search, state.exact], () => {
		if (!state.search) return {found: null};
		const {inLibraries, expression} = searched(), {entities, libraries} = d;
		if (!expression) return {found: null, bad: true};
		const found = new Uint8Array(entities.n), byLibrary = libraries.map((l) => l.i && expression.test(l.name));
		for (let e = 0; e < entities.n - 1; e++)
			found[e] = (inLibraries ? byLibrary[entities.library[e]] : expression.test(entities.name[e])) ? 1 : 0;
		return {found};
	});
}

// For each entity: found, or not, or of another library than the selected one.
function variants(d = data) {
	const {found} = matches(d), l = d.libraries.find((x) => x.i && x.key === state.library);
	if (!found && !l) return null;
	return kept("variants", [d, found, l], () => d.entities.library.map((library, e) =>
		found && found[e] ? 2 : found || l && library !== l.i ? 1 : 0));
}

// --- words for a node ---
const ofKind = (e, d = data) => ({[GUESSED]: "guessed frame", [KERNEL]: "kernel", [NOTE]: "the stack is not whole",
	[THREAD]: e === d.entities.root ? "" : "thread", [FOLDED]: "all frames of this library",
	[NARROW]: "too narrow: zoom below", [BESIDE]: "not the thread's frame"})[d.entities.kind[e]] || "";

function libraryWords(e, d = data) {
	const l = d.libraries[d.entities.library[e]], module = d.entities.module[e];
	if (!l.i) return "";
	return (module ? `${l.name} ${module}` : l.name) + (l.id ? ` (build id ${l.id.slice(0, 12)})` : "") +
		(l.pkg ? ", " + l.pkg : "");
}

function shareIn(t, v, i) {
	return whole(t, v) ? layout(t, v).total[i] / whole(t, v) : 0;
}

const ownShare = (t, v, i) => whole(t, v) ? t.self[v][i] / whole(t, v) : 0;

function nodeWords(t, i) {
	const c = choice(), v = width(), e = t.entity[i], {total} = layout(t, v), own = t.isUp ? 0 : t.self[v][i], d = t.data || data;
	const words = [`${worth(total[i], c)}, ${t.of ? percent(total[i], total[0]) + " of this, " : ""}` +
		`${percent(total[i], whole(t.of || t, v))} of all`];
	const fromTo = (a, b, k) => `${percent(a, 1)} → ${percent(b, 1)} (${changeWords(changeOf(a, b, t, e, k))})`;
	if (isDiff()) {
		words[0] = `${fromTo(shareIn(t, c.old, i), shareIn(t, c.v, i), 1)}; ` +
			`${amount(layout(t, c.old).total[i], c.unit)} → ${worth(layout(t, c.v).total[i], c)}`;
	}
	if (i) words.push(percent(total[i], total[t.parent[i]]) + (t.isUp ? " of its callee" : " of its caller"));
	if (isDiff() && !t.isUp && (own || t.self[c.old][i])) {
		words.push(`self ${fromTo(ownShare(t, c.old, i), ownShare(t, c.v, i), 0)}`);
	} else if (own && own < total[i]) {
		words.push("self " + percent(own, total[0]));
	}
	return {name: d.entities.name[e], facts: words.join(" · "),
		where: [libraryWords(e, d), ofKind(e, d)].filter(Boolean).join(" · ")};
}

// Of the frame under the pointer, else where the arrow keys stand, else what is zoomed to.
function describe(flameOf, hovered) {
	const i = hovered >= 0 ? hovered : flameOf.cursor >= 0 ? flameOf.cursor : Math.max(flameOf.zoomed, 0);
	const w = flameOf.tree ? nodeWords(flameOf.tree, i) : null;
	byId("details-name").textContent = w ? w.name : "";
	byId("details-facts").textContent = w ? [w.facts, w.where].filter(Boolean).join(" · ") : "";
	return w;
}

function showTip(w, e) {
	const tip = byId("tip");
	tip.hidden = !w || !e || e.pointerType === "touch";
	if (tip.hidden) return;
	tip.replaceChildren(named(w.name), make("p", {}, w.facts), ...(w.where ? [make("p", {}, w.where)] : []));
	const box = tip.getBoundingClientRect();
	placeTip(tip, e, e.clientY + 20 + box.height > innerHeight ? e.clientY - box.height - 12 : e.clientY + 20, byId("panels"));
}

// Beside the pointer, and not above the place that it is about, where the controls are.
function placeTip(tip, e, top, place) {
	tip.style.left = Math.max(Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 6), 4) + "px";
	tip.style.top = Math.max(top, place.getBoundingClientRect().top) + "px";
}

// --- zoom: the node's number in the tree that is shown, with its entity, in case it is another tree's;
// or what the agent calls the path to it.
const zoomKey = (t, i) => !i ? "" : t.id && t.id[i] ? "id" + t.id[i] : i.toString(36) + "." + t.entity[i].toString(36);
function zoomedNode(t) {
	if (state.zoom.startsWith("id")) return t.id ? Math.max(t.id.indexOf(Number(state.zoom.slice(2))), 0) : 0;
	const [i, e] = state.zoom.split(".").map((x) => parseInt(x, 36));
	return i > 0 && i < t.n && t.entity[i] === e ? i : 0;
}

const focusKey = (focus, d = data) => focus.library ? "lib:" + d.libraries[focus.library].key :
	"fn:" + d.entities.name[focus.entity] + "`" + d.libraries[d.entities.library[focus.entity]].key +
		(d.entities.kind[focus.entity] === GUESSED ? "`guessed" : "");
function readFocus() {
	return kept("focus", [state.focus], () => {
		if (state.focus.startsWith("lib:")) {
			const l = data.libraries.find((x) => x.i && x.key === state.focus.slice(4));
			return l ? {library: l.i} : null;
		}
		if (!state.focus) return null;
		for (let e = 0; e < data.entities.firstFold; e++)
			if (state.focus.startsWith("fn:" + data.entities.name[e] + "`") && focusKey({entity: e}) === state.focus)
				return {entity: e};
		return null;
	});
}

// What stands for a node in the sandwich: its function, or the library that it is folded into.
function focusOn(e, d = data) {
	const {kind, library, root} = d.entities;
	if (e === root || !isFrame(d.entities, e) && kind[e] !== THREAD) return;
	go({view: "sandwich", focus: focusKey(kind[e] === FOLDED ? {library: library[e]} : {entity: e}, d), zoom: ""});
}

function select(key) {
	go({library: state.library === key ? "" : key, only: state.library === key ? false : state.only, zoom:
		state.only ? "" : state.zoom});
}

// --- the views ---
function diffOf(t) {
	if (!isDiff()) return null;
	const steps = kept(t.of ? t.isUp ? "callers" : "callees" : "changes", [t, state.value], () => stepsOf(t));
	return (i) => steps[i];
}

// As in the SVG: a frame's colour is the change of its own share (of callers: of the whole), by the largest of those drawn.
function stepsOf(t) {
	const c = choice(), share = t.isUp ? shareIn : ownShare, {total} = layout(t, c.v);
	const changes = Float64Array.from({length: t.n}, (_, i) => {
		const x = changeOf(share(t, c.old, i), share(t, c.v, i), t, t.entity[i], t.isUp ? 1 : 0);
		return x.noise ? 0 : x.d;
	});
	const most = changes.reduce((m, x, i) => total[i] ? Math.max(m, Math.abs(x)) : m, 1e-12);
	return Int8Array.from(changes, (x) => Math.sign(x) * Math.ceil(Math.min(Math.abs(x) / most, 1) * STEPS));
}

function showFlame() {
	const t = shownTree(), v = width(), isNew = t !== flame.tree;
	flame.show(t, v, data.entities, data.libraries,
		{rootAtTop: state.icicle, variant: variants(), change: diffOf(t)});
	const node = zoomedNode(t);
	if (node !== flame.zoomed) flame.zoom(node, !isNew || !data.sums);
	describe(flame, -1);
	byId("reset").disabled = flame.isWhole() && !node;
}

function emptySandwich() {
	const t = ownFiltered(), {entities, libraries} = data, v = width();
	const functions = sums(t, v, Int32Array.from({length: entities.n}, (_, e) => e), entities.n).self;
	const ofLibraries = sumsOf(t, v).self;
	const best = (self, n, wanted) => [...self.keys()].filter((i) => self[i] > 0 && i < n && wanted(i)).sort((a, b) => self[b] - self[a]).slice(0, 8);
	const list = (items) => make("ul", {}, ...items.map(([name, focus]) => make("li", {},
		make("button", {type: "button", title: name, click: () => go({focus: focusKey(focus)})}, named(name)))));
	return [make("h2", {}, "Whose callers and callees?"), make("p", {}, "Take one of these, a row of Functions, " +
		"or the flame graph's frame under the pointer: press s. A library: its row, then “Callers and callees”."),
	make("h2", {}, "Heaviest functions"), list(best(functions, entities.firstFold, (e) => isFrame(entities, e)).map((e) => [entities.name[e], {entity: e}])),
	make("h2", {}, "Heaviest libraries"), list(best(ofLibraries, libraries.length, (l) => l).map((l) =>
		[libraries[l].name, {library: l}]))];
}

function showSandwich() {
	const focus = readFocus(), head = byId("sandwich-head"), t = ownFiltered();
	byId("callers").hidden = byId("callees").hidden = !focus;
	head.className = focus ? "panel-head" : "empty";
	if (!focus) return void head.replaceChildren(...emptySandwich());
	const {callers, callees} = kept("sandwich", [t, focus], () => {
		const s = sandwich(t, data.entities, focus);
		s.callers.isUp = true;
		s.callers.of = s.callees.of = t;
		return s;
	}), v = width();
	const e = focus.library ? data.entities.firstFold + focus.library : focus.entity;
	drawSandwich(data.entities.name[e], libraryWords(e), callers, callees, whole(t, v), data);
}

function drawSandwich(name, where, callers, callees, all, d) {
	const v = width(), value = whole(callees, v);
	byId("sandwich-head").replaceChildren(named(name), make("p", {}, [where, `${worth(value, choice())}, ` +
		`${percent(value, all)} of all`, "callers above, callees below"].filter(Boolean).join(" · ")),
	make("button", {type: "button", click: () => go({focus: ""})}, "Another"));
	for (const [f, tree, rootAtTop] of [[callersFlame, callers, false], [calleesFlame, callees, true]])
		f.show(tree, v, d.entities, d.libraries, {rootAtTop, variant: variants(d), change: diffOf(tree)});
	describe(calleesFlame, -1);
}

function showMatrix() {
	const t = ownFiltered(), v = width(), cells = kept("matrix", [t, v], () => matrix(t, v, data.entities, data.libraries.length));
	const all = whole(t, v);
	const name = (l, isCaller) => l ? data.libraries[l].name : isCaller ? "[no other library]" : "[no library]";
	drawMatrix(cells, all, name, (chosen) => entryTable(t, v, chosen, all, name));
}

function drawMatrix(cells, all, name, entriesOf) {
	const c = choice(), what = state.totals ? "total" : "self", panel = byId("panel-matrix");
	const chosen = cells.find((x) => state.cell === x.library + "." + x.caller);
	const {table, more} = heatTable(cells, what, all, name, chosen, (x) => {
		const key = x.library + "." + x.caller;
		go({cell: state.cell === key ? "" : key});
		if (state.cell) panel.querySelector("h2").scrollIntoView({block: "center"}); // its functions
	});
	const left = [more[0] > 0 && plural(more[0], "more library", "more libraries"), more[1] > 0 &&
		plural(more[1], "more caller")].filter(Boolean).join(" and ");
	const pressed = (on, text, totals) => make("button", {type: "button", "aria-pressed": String(on),
		click: () => go({totals}, true)}, text);
	const list = make("div"), detail = chosen ? entriesOf(chosen) : [];
	replace(panel, make("div", {class: "panel-head"}, pressed(!state.totals, "Self", false),
		pressed(state.totals, "Total", true), make("p", {}, "What each library (row) costs under the nearest other one below it " +
			"(column), in % of all. Cells tell by which functions.")),
	...(cells.length ? [table] : []), ...(left ? [make("p", {class: "note"}, left + ": in the list below.")] : []), ...detail,
	make("h2", {class: "note"}, "As a list"), list);
	new Table(list, "Costs by library and caller", state.totals ? "-total" : "-self").show([
		{key: "library", title: "Library", of: (r) => name(r.library), cell: (r) => named(name(r.library))},
		{key: "caller", title: "Called by", of: (r) => name(r.caller, true), cell: (r) => named(name(r.caller, true))},
		...shareColumns(c, all)], cells.map((x) => ({...x})), {empty: "There were no samples."});
}

const entriesTable = (place) => new Table(place, "Functions by which the library was entered", "-self");

function entryTable(t, v, cell, all, name) {
	const place = make("div"), c = choice(), rows = entrySums(t, v, data.entities, cell.library, cell.caller);
	const of = (e) => e >= 0 ? data.entities.name[e] : "";
	entriesTable(place).show([
		{key: "entry", title: "Entered through", of: (r) => of(r.entry), cell: (r) => functionButton(r.entry)},
		{key: "from", title: "Called by", of: (r) => of(r.from), cell: (r) => r.from >= 0 ? functionButton(r.from) : ""},
		...shareColumns(c, all).slice(0, 2)], rows, {empty: "None of it is its own cost: see Total."});
	return [make("h2", {class: "note"}, "Self cost of ", named(name(cell.library)), " under ", named(name(cell.caller, true))), place];
}

const functionButton = (e) => make("button", {type: "button", title: data.entities.name[e], click: () => focusOn(e)},
	named(data.entities.name[e]));

// Share and amount, of self and of total.
function shareColumns(c, all) {
	const pair = (key, title) => [
		{key, title: title + " %", number: true, share: true, of: (r) => all ? r[key] / all : 0, cell: (r) => percent(r[key], all)},
		{key: key + "-amount", title, hint: `${title}, ${c.name}`, number: true, of: (r) => r[key],
			cell: (r) => amount(r[key], c.unit)}];
	return [...pair("self", "Self"), ...pair("total", "Total")];
}

// The number of samples that all costs have in common says something of the cost shown only where there is no other.
const countsSamples = (c) => c.v !== c.samples && data.choices.length < 3;
const samplesColumn = (c) => !countsSamples(c) ? [] :
	[{key: "samples", title: "Samples", number: true, of: (r) => r.samples, cell: (r) => grouped(r.samples)}];

// Rows {i, self, total, samples} of what has a total; in a difference of what had one, too, and with both shares. Of those
// that are alike in what a table is ordered by, the one with the larger total is the first: what waits is the kernel itself.
function sumRows(t, v, n, sumsOf) {
	const c = choice(), s = sumsOf(v), samples = countsSamples(c) ? sumsOf(c.samples).total : s.total, rows = [];
	const old = isDiff() && sumsOf(c.old), now = isDiff() && sumsOf(c.v), share = (x, of) => whole(t, of) ? x / whole(t, of) : 0;
	for (let i = 0; i < n; i++) {
		if (!s.total[i] && !samples[i] && !(old && old.total[i])) continue;
		rows.push({i, self: s.self[i], total: s.total[i], samples: samples[i], order: -s.total[i], ...(old && {
			oldSelf: share(old.self[i], c.old), newSelf: share(now.self[i], c.v),
			oldTotal: share(old.total[i], c.old), newTotal: share(now.total[i], c.v)})});
	}
	return rows;
}

function functionRows(t, v) {
	const {entities} = data, groups = kept("groups", [], () => Int32Array.from({length: entities.n}, (_, e) => e));
	return sumRows(t, v, entities.firstFold, (value) => sums(t, value, groups, entities.n)).filter((r) => isFrame(entities, r.i));
}

function showFunctions() {
	const t = ownFiltered(), v = width(), {entities, libraries} = data, {found} = matches(), all = whole(t, v), c = choice();
	const rows = kept("functions", [t, v, state.value], () => functionRows(t, v));
	const some = found ? rows.filter((r) => found[r.i]) : rows, library = (r) => libraries[entities.library[r.i]];
	functionTable.show([
		{key: "name", title: "Function", of: (r) => r.i, cell: (r) => functionButton(r.i)},
		...(isDiff() ? changeColumns(t, (r) => r.i) : shareColumns(c, all)), ...samplesColumn(c),
		{key: "library", title: "Library", of: (r) => library(r).name, cell: (r) => make("button", {type: "button",
			click: () => select(library(r).key)}, swatch(library(r)), named(library(r).name))}],
	some, {rowClass: (r) => state.library && library(r).key !== state.library ? "out" : undefined,
		empty: found ? "No function matches the search." : "There were no samples."});
}

function showTree() {
	const t = shownTree(), v = width(), {total} = layout(t, v), own = selfOf(t, v), c = choice();
	const number = (text) => make("td", {class: "number"}, text);
	const share = (part) => {
		const cell = make("td", {class: "number share"}, percent(part, total[0])), bar = make("i", {"aria-hidden": "true"});
		bar.style.width = percent(part, total[0]);
		cell.append(bar);
		return cell;
	};
	const headings = isDiff() ? ["Function", "Old total", "New total", "Change", "Library"] :
		["Function", "Total %", "Total", "Self %", "Library"];
	callTree.show(t, v, data.entities, headings, (i) => {
		const l = data.libraries[data.entities.library[t.entity[i]]];
		const where = make("td", {}, ...(l.i ? [swatch(l), " ", named(l.name)] : [ofKind(t.entity[i])]));
		if (!isDiff()) return [share(total[i]), number(amount(total[i], c.unit)), share(own[i]), where];
		const a = shareIn(t, c.old, i), b = shareIn(t, c.v, i), x = changeOf(a, b, t, t.entity[i], 1);
		return [number(percent(a, 1)), number(percent(b, 1)),
			changeCell(x, "td"), where];
	}, matches().found);
}

// --- the libraries beside all views ---
// What an agent summed up knows of the stacks that are too narrow for the tree.
const sumsWhole = (t, v) => data.sums && data.sums[v].whole || whole(t, v);
const sumsOf = (t, v) => data.sums ? data.sums[v] : librarySums(t, v, data.entities, data.libraries.length);

function libraryRows(t, v) {
	const {entities, libraries} = data, n = libraries.length;
	const rows = sumRows(t, v, n, (value) => sumsOf(t, value));
	for (const r of rows) r.l = libraries[r.i];
	return rows;
}

function libraryCell({l, samples}) {
	const words = [l.path || l.name, l.id && "build id " + l.id, l.pkg,
		countsSamples(choice()) && plural(samples, "sample"), l.deleted && "deleted or replaced since", l.note].filter(Boolean).join("\n");
	if (!l.i) return make("span", {}, named(l.name));
	return make("button", {type: "button", title: words, "aria-pressed": String(state.library === l.key),
		click: () => select(l.key)}, swatch(l), named(l.name),
	...(l.key !== l.name && l.id ? [make("span", {class: "name"}, l.id.slice(0, 8))] : []), // another has the same name
	...(l.deleted || l.note ? [make("span", {class: "warn", "aria-label": l.deleted ? "deleted" : l.note}, "!")] : []));
}

function showLibraries() {
	const t = ownFiltered(), v = width(), c = choice(), all = sumsWhole(t, v), {found} = matches();
	const some = found && kept("found", [found], () => new Set(data.entities.library.filter((_, e) => found[e])));
	const rows = kept("libraries", [t, v, state.value], () => libraryRows(t, v)).filter((r) => !some || some.has(r.i));
	libraryTable.sort = state.sort;
	libraryTable.show([{key: "name", title: "Library", of: (r) => r.l.name, cell: libraryCell},
		...(isDiff() ? changeColumns(t, (r) => data.entities.firstFold + r.i) : shareColumns(c, all)),
		...(!isDiff() && data.libraries.some((l) => l.pkg) ? [{key: "package", title: "Package", of: (r) => r.l.pkg, tip: (r) => r.l.pkg, cell: (r) => r.l.pkg}] : [])],
	rows, {rowClass: (r) => r.l.i && state.library === r.l.key ? "chosen" : undefined, empty: found ? "No library matches the search." : "There were no samples."});
}

function showSelection() {
	const l = selected(), place = byId("selection");
	place.hidden = !l;
	if (!l) return;
	const t = ownFiltered(timed(), "own of all"), v = width(), s = kept("all libraries", [t, v], () => sumsOf(t, v));
	const all = sumsWhole(t, v), folded = state.fold !== exceptions().has(l.key);
	const toggle = (text, on, changes, title) => make("button", {type: "button", title, "aria-pressed": String(on),
		click: () => go({...changes, zoom: ""})}, text);
	const except = exceptions();
	if (!except.delete(l.key)) except.add(l.key);
	replace(place, swatch(l), named(l.name, {class: "what"}), `self ${percent(s.self[l.i], all)}, total ${percent(s.total[l.i], all)}`,
		toggle("Only its samples", state.only, {only: !state.only}, "Leave out the samples without a frame of it"),
		toggle("Fold its frames", folded, {except: [...except].join("\n")}, "Its runs of frames become one frame"),
		make("button", {type: "button", click: () => go({view: "sandwich", focus: "lib:" + l.key})}, "Callers and callees"),
		make("button", {type: "button", "aria-label": "End the selection", click: () => select(l.key)}, "✕"),
		...(state.only && !data.sums ? [make("span", {class: "warn"}, `${percent(all - whole(filteredTree(), v), all)} of all is left out below.`)] : []));
}

// --- the frame around the views ---
// Of what an agent sent as one, since it is narrow, nobody knows.
function matchedWords(t, v, found) {
	const all = whole(t, v), some = matched(t, v, found), {kind} = data.entities;
	const rest = data.sums ? matched(t, v, found.map((x, e) => x || kind[e] === NARROW)) - some : 0;
	return percent(some, all) + (rest > all / 2e4 ? ` (not searched: ${percent(rest, all)})` : "");
}

function showSearch() {
	const {found, bad} = matches(), status = byId("found"), t = foldedTree(), v = width();
	byId("search").classList.toggle("bad", Boolean(bad));
	status.className = bad ? "bad" : "";
	if (document.activeElement !== byId("search")) byId("search").value = state.search;
	byId("case").setAttribute("aria-pressed", String(state.exact));
	status.textContent = bad ? "not a regular expression" : found ? "Matched " + matchedWords(t, v, found) : "";
}

function showTheme() {
	document.documentElement.dataset.theme = state.theme ||
		(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
	byId("theme").textContent = "Theme: " + (state.theme || "system");
}

function showOptions() {
	for (const name of ["icicle", "inverted", "fold", "recursion"]) byId(name).setAttribute("aria-pressed", String(state[name]));
	byId("options").hidden = state.view !== "flame" && state.view !== "tree";
	byId("icicle").hidden = byId("reset").hidden = state.view !== "flame";
	byId("old-width").hidden = !isDiff();
	byId("old-width").setAttribute("aria-pressed", String(state.old));
	byId("details").hidden = state.view !== "flame" && (state.view !== "sandwich" || !readFocus());
	byId("value").value = String(state.value);
	byId("side").hidden = byId("grip").hidden = state.alone;
	byId("side").classList.toggle("wide", isDiff());
	byId("with-side").setAttribute("aria-pressed", String(!state.alone));
}

function showTabs() {
	for (const view of VIEWS) {
		const isShown = view === state.view, tab = byId("tab-" + view);
		byId("panel-" + view).hidden = !isShown;
		if (isShown && tab.getAttribute("aria-selected") !== "true") tab.parentNode.scrollLeft = tab.offsetLeft - 40; // of a narrow screen
		tab.setAttribute("aria-selected", String(isShown));
		tab.tabIndex = isShown ? 0 : -1;
	}
}

function showLegend() {
	const kinds = kept("kinds", [], () => new Set(data.entities.kind));
	const entry = (name, text) => make("span", {}, make("i", {class: name}), text), parts = [];
	if (isDiff()) {
		const scale = entry("scale", "");
		const steps = [-1, -0.6, -0.3, 0, 0.3, 0.6, 1].map((s) => css(changeColour(s)));
		scale.firstChild.style.background = `linear-gradient(to right,${steps.join(",")})`;
		parts.push(make("span", {}, "less"), scale, make("span", {title: noiseWords()}, "more than before, by self; grey: within noise"));
	}
	if (kinds.has(KERNEL)) parts.push(entry("kernel", "kernel"));
	if (kinds.has(GUESSED)) parts.push(entry("hatched", "guessed frame"));
	if (kinds.has(NOTE)) parts.push(entry("notes", "stack not whole"));
	parts.push(entry("narrow", "pale: too narrow to draw"));
	const n = data.nNegative[width()];
	if (n) parts.push(make("span", {class: "warn"}, plural(n, "stack") + " with a value below 0 left out"));
	byId("legend").replaceChildren(...parts);
}

const SHOW = {flame: showFlame, sandwich: showSandwich, matrix: showMatrix, functions: showFunctions, tree: showTree};

function render() {
	showTheme();
	showTabs();
	showOptions();
	showSelection();
	showSearch();
	showLegend();
	const isEmpty = (data.tree.n < 2 || timed() !== data.tree) && !whole(timed(), width()) && state.view !== "events";
	byId("empty").hidden = !isEmpty;
	if (isEmpty) byId("panel-" + state.view).hidden = true;
	else SHOW[state.view]();
	showLibraries();
}

// --- input ---
function toggle(name) {
	go({[name]: !state[name], zoom: name === "icicle" ? state.zoom : ""});
}

function resetZoom() {
	if (state.view !== "flame" || flame.isWhole() && !state.zoom) return false;
	flame.zoomed = -1; // so that it moves even if only the wheel had zoomed
	go({zoom: ""});
	return true;
}

function escape() {
	if (byId("search").value) {
		byId("search").value = "";
		go({search: ""}, true);
	} else if (resetZoom()) return;
	else if (state.range) go({range: "", before: ""});
	else if (state.library) select(state.library);
}

// The frame that a key is about: under the pointer, or where the arrow keys stand.
function pointed() {
	for (const f of state.view === "flame" ? [flame] : [callersFlame, calleesFlame]) {
		const i = f.tree && (f.hovered >= 0 ? f.hovered : f.cursor);
		if (f.tree && i >= 0) return {e: f.tree.entity[i], d: f.tree.data || data};
	}
	return null;
}

const THEMES = ["", "dark", "light"];
const KEYS = {
	"/": () => byId("search").focus(),
	"?": () => {
		byId("help-box").showModal();
		byId("help-title").focus(); // not the button at the end, to which it would scroll
	},
	"0": resetZoom,
	o: () => state.view === "flame" && toggle("icicle"), i: () => toggle("inverted"), f: () => toggle("fold"), r: () => toggle("recursion"),
	d: () => go({theme: THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length]}, true),
	t: () => go({alone: !state.alone}, true),
	s: () => pointed() && focusOn(pointed().e, pointed().d),
	l: () => {
		const {e, d} = pointed() || {}, l = d && d.entities.library[e];
		if (l) select(d.libraries[l].key);
	},
};
VIEWS.forEach((view, i) => (KEYS[i + 1] = () => go({view})));

function onKey(e) {
	if (e.ctrlKey || e.metaKey || e.altKey || byId("help-box").open) return;
	if (e.key === "Escape") return void escape();
	if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || !KEYS[e.key]) return;
	e.preventDefault();
	KEYS[e.key]();
}

// The table of libraries is as wide as it is dragged; a double click: as its content.
function listenToGrip() {
	const grip = byId("grip"), side = byId("side");
	const widen = (px) => {
		side.style.width = px ? Math.min(Math.max(px, 120), innerWidth - 200) + "px" : "";
		side.style.maxWidth = px ? "none" : "";
		grip.setAttribute("aria-valuenow", side.offsetWidth);
	};
	widen(0);
	grip.addEventListener("pointerdown", (e) => grip.setPointerCapture(e.pointerId));
	grip.addEventListener("pointermove", (e) => grip.hasPointerCapture(e.pointerId) && widen(innerWidth - e.clientX));
	grip.addEventListener("dblclick", () => widen(0));
	grip.addEventListener("keydown", (e) => {
		const way = {ArrowLeft: 1, ArrowRight: -1}[e.key];
		if (way) widen(side.offsetWidth + 24 * way);
	});
}

function listen() {
	listenToGrip();
	byId("menu").addEventListener("click", () => byId("menu").setAttribute("aria-expanded", String(byId("app").classList.toggle("menu"))));
	for (const view of VIEWS) byId("tab-" + view).addEventListener("click", () => go({view}));
	byId("tabs").addEventListener("keydown", (e) => {
		const way = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? VIEWS.length - 1 : 0;
		if (!way) return;
		e.preventDefault();
		go({view: VIEWS[(VIEWS.indexOf(state.view) + way) % VIEWS.length]});
		byId("tab-" + state.view).focus();
	});
	for (const name of ["icicle", "inverted", "fold", "recursion"]) byId(name).addEventListener("click", () => toggle(name));
	byId("old-width").addEventListener("click", () => go({old: !state.old}));
	byId("reset").addEventListener("click", resetZoom);
	byId("search").addEventListener("input", (e) => go({search: e.target.value}, true));
	byId("case").addEventListener("click", () => go({exact: !state.exact}, true));
	byId("theme").addEventListener("click", KEYS.d);
	byId("with-side").addEventListener("click", KEYS.t);
	byId("help").addEventListener("click", KEYS["?"]);
	byId("value").addEventListener("change", (e) => go({value: Number(e.target.value), zoom: ""}));
	document.addEventListener("keydown", onKey);
	addEventListener("popstate", () => {
		state = readState();
		update();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
}

function makeViews() {
	const tell = (f, i) => {
		const w = describe(f, i);
		byId("live").textContent = w ? [w.name, w.facts, w.where].join(". ") : "";
	};
	const on = (f, zoom) => ({zoom: (i) => zoom(f(), i), select: (i) => focusOn(f().tree.entity[i], f().tree.data), walk: (i) => tell(f(), i),
		point: (i, e) => showTip(describe(f(), i), i >= 0 ? e : null),
		part: (isPart) => f() === flame && (byId("reset").disabled = !isPart && !state.zoom)});
	flame = new Flame(byId("flame"), "Flame graph", on(() => flame, (f, i) => {
		f.zoomed = -1;
		go({zoom: zoomKey(f.tree, i)});
	}));
	const zoomHere = (f, i) => f.zoom(i, true);
	callersFlame = new Flame(byId("callers"), "Callers", on(() => callersFlame, zoomHere));
	calleesFlame = new Flame(byId("callees"), "Callees", on(() => calleesFlame, zoomHere));
	libraryTable = new Table(byId("libraries"), "Libraries", state.sort, (sort) => go({sort}, true));
	functionTable = new Table(byId("panel-functions"), "Functions", "-self");
	callTree = new CallTree(byId("panel-tree"));
}
