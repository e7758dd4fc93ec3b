// SPDX-License-Identifier: GPL-2.0-or-later
// page.js: the agent's page: report.js's views of a range of the agent's store, which is picked in the overview, or
// of the last seconds. What is asked follows from the state, as what is shown does.

const SPANS = [[900, "Last 15 min"], [3600, "Last hour"], [21600, "Last 6 h"], [86400, "Last 24 h"], [604800, "Last 7 days"],
	[2592000, "Last 30 days"]];
const LIVES = [[0, "Live: off"], [10, "Live: 10 s"], [30, "Live: 30 s"], [60, "Live: 1 min"], [300, "Live: 5 min"]];
const EDGES = 20; // seconds: a window at each end is of the range or not
const HOST = "soprof-host", LIVE_MS = 2000, CHART_MS = 10000, LEAST = 0.0005;
const FILTERS = [...FLEET_FILTERS, ["process", "Process", "processes"], ["cgroup", "Cgroup", "cgroups"], ["user", "User", "users"],
	["byLibrary", "Library", "libraries"], ["byFunction", "Function", "functions"]];
const PARAMETER = {byLibrary: "library", byFunction: "function", against: "label2"};

// span: of the picture, in seconds; end: where it ends, 0 = now; range and before: "FROM-TO", "" = all of the picture.
Object.assign(START, {span: 3600, end: 0, before: "", live: 0, drag: "range", process: "", cgroup: "", user: "",
	byLibrary: "", byFunction: ""});
Object.assign(SHORT, {span: "span", end: "to", before: "before", live: "live", drag: "drag", process: "process",
	cgroup: "cgroup", user: "user", byLibrary: "library", byFunction: "function"});
if (isFleet) delete SHORT.live;
const MORE = isFleet ? FLEET_MORE : {events: "Events", processes: "Processes", containers: "Containers", users: "Users"};
Object.keys(MORE).forEach((view) => (KEYS[VIEWS.push(view)] = () => go({view})));

let overview, chart = null, asked = new Asked(), now = 0, waiting = {}, problem = "", timer = 0, host = "";

// --- times ---
const picked = () => ({range: state.live ? null : readRange(state.range), before: state.live ? null : readRange(state.before)});
const shownTimes = () => {
	const to = state.end || now || Date.now() / 1000;
	return [to - state.span, to];
};

// --- what is asked ---
const names = () => Object.fromEntries(FILTERS.map(([name]) => [PARAMETER[name] || name, state[name]]));
const onlyOne = () => state.only && state.library ? {library: state.library.replace(/@[0-9a-f]+$/, "")} : {};

function times() {
	const {range} = picked();
	if (state.live) return {seconds: state.live + 5}; // of windows of 10 s that begin then: as much, on the average
	if (range) return {from: range[0], to: range[1]};
	return state.end ? {from: state.end - state.span, to: state.end} : {from: `-${state.span}s`};
}

function treeQuestion() {
	const {before, range} = picked(), [a, b] = range || shownTimes();
	const shape = state.except ? {} : {fold: state.fold ? "library" : "", recursion: state.recursion ? 1 : "",
		direction: state.inverted ? "callers" : ""};
	const root = state.zoom.startsWith("id") ? state.zoom.slice(2) : "";
	const parameters = {...names(), ...onlyOne(), ...shape, least: LEAST};
	const other = before || state.against && [a, b]; // others at the same time
	if (other) return ["diff", {...parameters, from: other[0], to: other[1], from2: a, to2: b, root}];
	return [state.live ? "live" : "flame", {...parameters, ...times(), root}];
}

// Deeper levels are wanted for what is narrow enough, and was not sent whole.
function wantsRoot(parameters) {
	const t = data && data.tree, i = t && parameters.root ? t.id.indexOf(Number(parameters.root)) : -1;
	if (i < 0) return true;
	if (data.root === parameters.root || shareIn(t, width(), i) > 0.5) return false;
	for (let k = i + 1; k < t.end[i]; k++) if (data.entities.kind[t.entity[k]] === NARROW) return true;
	return false;
}

// Asks once for each question; what was asked before and has not come is given up.
async function load(name, route, parameters, take) {
	const key = JSON.stringify([route, parameters]);
	if (waiting[name] && waiting[name].key === key) return;
	if (waiting[name]) waiting[name].control.abort();
	const mine = waiting[name] = {key, control: new AbortController(), busy: true};
	setTimeout(() => mine.busy && show(mine.problem = `Still asking ${ASKED}`), 10000);
	byId("app").classList.add("asking");
	try {
		const raw = await ask(route, parameters, mine.control.signal);
		if (waiting[name] === mine) take(raw);
		problem = mine.problem = "";
	} catch (e) {
		if (e.name === "AbortError") return;
		if (waiting[name] !== mine) return;
		if (e instanceof Refused) return void login(e.message);
		mine.problem = e.message;
		mine.key = "";
	} finally {
		mine.busy = false;
		byId("app").classList.toggle("asking", Object.values(waiting).some((w) => w.busy));
	}
	show();
}

function takeTree(raw, parameters) {
	const d = readData(raw), was = data && data.choices.length === d.choices.length && isDiff() === d.choices[0].old >= 0;
	d.shaped = !state.except;
	d.root = parameters.root || "";
	d.tree.isUp = d.shaped && state.inverted;
	d.raw = raw;
	data = d;
	trees = {};
	if (!was) {
		byId("value").replaceChildren(...d.choices.map((c, i) => make("option", {value: i}, c.name)));
		state.value = Math.min(state.value, d.choices.length - 1);
		const isNew = d.choices[0].old >= 0;
		if (isNew !== (state.sort === "-change")) functionTable.sort = state.sort = isNew ? "-change" : START.sort;
	}
	byId("value-label").hidden = d.choices.length < 2;
	performance.mark("tree");
}

function takeChart(raw) {
	for (const l of raw.libraries) {
		l.colours = coloursOf(l.name, l.colours);
		l.name = visible(l.name);
	}
	chart = raw;
	chart.late = isFleet ? 180 : 30; // seconds: the window under way, and that which waits for names, or is sent
	now = raw.now;
	host = visible(raw.host);
	try {
		localStorage.setItem(HOST, host); // for the next time, before the agent has answered
	} catch { /* then not */ }
	byId("empty").textContent = isFresh() ? "Nothing is stored yet: wait some seconds." : "There were no samples.";
	if (isFresh()) setTimeout(again, 3000);
	performance.mark("chart");
}

function chartQuestion() {
	const width = Math.max(Math.floor(byId("overview").clientWidth / 3), 60);
	const range = state.live ? {from: "-900s"} : state.end ? {from: state.end - state.span, to: state.end} : {from: `-${state.span}s`};
	return {...names(), ...range, width};
}

update = () => {
	showTheme();
	showControls();
	load("chart", "overview", chartQuestion(), takeChart); // the quicker one first
	const [route, parameters] = treeQuestion(), question = {...parameters, root: ""};
	const same = data && data.question === JSON.stringify([route, question]);
	if (!same || wantsRoot(parameters)) {
		load("tree", route, parameters, (raw) => {
			takeTree(raw, parameters);
			data.question = JSON.stringify([route, question]);
		});
	}
	live();
	show();
};

// Everything again, with a newer now.
function again() {
	waiting = {};
	asked.forget();
	if (data) data.question = "";
	update();
}

// --- live: the tree follows the last seconds, the chart the last quarter of an hour ---
let nLive = 0;
function live() {
	if (!state.live || timer) return;
	timer = setTimeout(() => {
		timer = 0;
		if (!state.live) return;
		if (!document.hidden && !Object.values(waiting).some((w) => w.busy)) {
			delete waiting.tree;
			if (data) data.question = "";
			if (++nLive % (CHART_MS / LIVE_MS) === 0) delete waiting.chart;
			asked.forget();
			update();
		} else live();
	}, LIVE_MS);
}

// --- what is shown ---
function show() {
	if (!byId("login").hidden) return;
	byId("app").hidden = false;
	if (chart) {
		overview.show(chart, [begun(chart.from, chart.to - 300), chart.to], picked(), state.before ? state.drag : "range", state.library);
		showSeries();
	}
	showStatus();
	if (data) render();
}

// Before the store's first window there is nothing to see.
const isFresh = () => chart && !isFleet && !chart.store_from;
const begun = (from, most) => chart && (isFresh() ? now : chart.store_from) > from ? Math.min(chart.store_from || now, most) : from;

function showStatus() {
	document.title = byId("title").textContent = "soprof " + (isFleet ? "fleet" + host.replace(/^.*\//, " at ") : host);
	const parts = [], {range, before} = picked(), wrong = problem || Object.values(waiting).map((w) => w.problem).find(Boolean);
	if (wrong) parts.push(wrong + ".");
	else if (!data) parts.push(`Asking ${ASKED}…`);
	else if (data) {
		const {raw} = data, c = choice(), [a, b] = state.live && raw.windows ? [raw.found_from, raw.found_to] : [raw.from, raw.to];
		parts.push(before ? `${rangeText(before)} → ${rangeText(range || [raw.from2, raw.to2])}` : rangeText([a, b]));
		if (!before) parts.push(worth(whole(data.tree, width()), c), raw.covered_seconds < 0.99 * (b - begun(a, b - 1)) - EDGES ?
			`${(100 * raw.covered_seconds / (b - begun(a, b - 1))).toFixed(0)} % of the time sampled` : "");
		for (const [n, of, how = ""] of [[raw.lost, "sample", " lost"], [raw.damaged, "damaged window"],
			[raw.incomplete, "incomplete window"], [raw.salvaged, "damaged file", " salvaged"]])
			if (n) parts.push(plural(n, of) + how);
		parts.push(...fleetWords(raw));
	}
	byId("subtitle").textContent = byId("subtitle").title = parts.filter(Boolean).join(" · ");
	byId("subtitle").classList.toggle("warn", Boolean(wrong));
}

function showSeries() {
	const chips = chart.libraries.map((l) => make("button", {type: "button", "aria-pressed": String(state.library === l.name),
		title: "Select it", click: () => select(l.name)}, swatch(l), named(l.name)));
	if (chart.other.n) chips.push(make("span", {class: "noise"}, "and " + plural(chart.other.n, "other")));
	replace(byId("series"), ...chips);
}

function showControls() {
	const {before} = picked(), span = byId("span");
	byId("app").classList.toggle("live", Boolean(state.live));
	if (![...span.options].some((o) => Number(o.value) === state.span))
		span.replaceChildren(...spanOptions(), make("option", {value: state.span}, lengthText(state.span)));
	span.value = String(state.span);
	byId("follow").value = String(state.live);
	for (const id of ["span", "earlier", "later", "into", "out", "compare"]) byId(id).disabled = Boolean(state.live);
	byId("later").disabled = state.live || !state.end;
	byId("into").disabled = state.live || !state.range;
	byId("compare").setAttribute("aria-pressed", String(Boolean(before)));
	byId("which").hidden = !before;
	byId("set-before").setAttribute("aria-pressed", String(state.drag === "before"));
	byId("set-range").setAttribute("aria-pressed", String(state.drag !== "before"));
	const set = FILTERS.filter(([name]) => state[name]);
	byId("filter").setAttribute("aria-pressed", String(set.length > 0));
	const chip = (text, name, changes, title) => make("button", {type: "button", title, "aria-label": "Remove: " + text + " " + name,
		click: () => go(changes)}, text + " ", named(name), " ✕");
	const chips = set.map(([name, title]) => chip(title.toLowerCase(), visible(state[name]), {[name]: ""}, "Remove this filter"));
	if (picked().range) chips.unshift(chip("", rangeText(picked().range), {range: "", before: ""}, "All of the chart again"));
	replace(byId("chips"), ...chips);
	if (!byId("filters").contains(document.activeElement))
		for (const [name] of FILTERS) byId("filter-" + name).value = state[name];
}

const spanOptions = () => SPANS.map(([value, text]) => make("option", {value}, text));

// --- views of which the agent knows more than the tree ---
// Loads for a view: what `draw` draws, or what is to be said meanwhile in `place`.
function whenAsked(name, route, parameters, place, read, draw) {
	const asking = `Asking ${ASKED}…`;
	let value, words = asking;
	try {
		value = asked.get(name, route, parameters, read, () => data && render());
	} catch (e) {
		if (e instanceof Refused) return void login(e.message);
		words = e.message + ".";
	}
	if (value) draw(value);
	else if (words !== asking || !place.childElementCount) place.replaceChildren(make("p", {class: "empty"}, words));
}
const question = () => ({...names(), ...onlyOne(), ...times(), value: state.value && !isDiff() ? choice().name : ""});
const swatchOf = (name) => {
	const l = data.libraries.find((x) => x.i && x.name === name);
	return l ? [swatch(l)] : [];
};
const libraryButton = (name) => make("button", {type: "button", click: () => {
	const l = data.libraries.find((x) => x.name === name);
	select(l ? l.key : name);
}}, ...swatchOf(name), named(name));
const nameButton = (r) => make("button", {type: "button", title: r.name,
	click: () => go({view: "sandwich", focus: `fn:${r.name}\`${r.library}`, zoom: ""})}, named(r.name));
const readRows = (raw) => {
	raw.rows = raw.rows.map((r, i) => ({...r, i, order: i, name: visible(r.name || ""), library: visible(r.library || "")}));
	return raw;
};

function drawFunctions({rows, n_rows: n, whole: all}, changes) {
	const {inLibraries, expression} = searched(), c = choice();
	const some = state.search && expression ? rows.filter((r) => expression.test(inLibraries ? r.library : r.name)) : rows;
	functionTable.show([{key: "name", title: "Function", of: (r) => r.name, cell: nameButton},
		...(changes ? changeColumns(data.tree) : shareColumns(c, all)), ...(changes ? [] : samplesColumn(c)),
		{key: "library", title: "Library", of: (r) => r.library, cell: (r) => libraryButton(r.library)}], some.slice(),
	{rowClass: (r) => state.library && r.library !== selectedName() ? "out" : undefined,
		empty: state.search ? "No function matches the search." : "There were no samples.",
		note: n > rows.length && `${grouped(n - rows.length)} more, with less.`});
}
const selectedName = () => (selected() || {name: state.library}).name;

SHOW.functions = () => {
	if (!isDiff()) return whenAsked("functions", "functions", question(), byId("panel-functions"), readRows, drawFunctions);
	const rows = data.raw.functions.map((f, i) => ({i, order: i, name: visible(f.name), library: visible(f.library), oldSelf: f.self[0],
		newSelf: f.self[1], oldTotal: f.total[0], newTotal: f.total[1], halves: f.half}));
	drawFunctions({rows, n_rows: data.raw.n_functions}, true);
};

// Cells of the matrix as heatTable() takes them: libraries by number.
function readMatrix(raw) {
	const all = [""], number = new Map([["[no library]", 0], ["[no other library]", 0]]);
	const numberOf = (name) => {
		if (!number.has(name)) number.set(name, all.push(visible(name)) - 1);
		return number.get(name);
	};
	const cells = raw.rows.map((r) => ({library: numberOf(r.library), caller: numberOf(r.caller), self: r.self, total: r.total,
		names: [r.library, r.caller]}));
	return {cells, all, whole: raw.whole};
}

SHOW.matrix = () => whenAsked("matrix", "matrix", question(), byId("panel-matrix"), readMatrix, ({cells, all, whole: of}) => {
	const name = (l, isCaller) => l ? all[l] : isCaller ? "[no other library]" : "[no library]";
	drawMatrix(cells, of, name, (cell) => {
		const place = make("div"), [called, caller] = cell.names;
		whenAsked("entries", "matrix", {...question(), called, caller}, place, readRows, ({rows}) => {
			entriesTable(place).show([
				{key: "entry", title: "Entered through", of: (r) => r.entry, cell: (r) => nameButton({...r, name: visible(r.entry)})},
				...shareColumns(choice(), of)], rows.slice(), {empty: "Nothing."});
		});
		return [make("h2", {class: "note"}, "Cost of ", named(name(cell.library)), " under ", named(name(cell.caller, true))), place];
	});
});

// Callers and callees are the agent's own sums: in the tree many of them are too narrow.
function focusQuestion() {
	const [kind, rest] = [state.focus.slice(0, 3), state.focus.slice(state.focus.indexOf(":") + 1)], at = rest.lastIndexOf("`");
	if (kind === "lib") return {focus_library: rest.replace(/@[0-9a-f]+$/, "")};
	const [name, library] = kind === "fn:" ? rest.replace(/`guessed$/, "").split("`") : [];
	return at > 0 ? {focus: name, focus_library: library.replace(/@[0-9a-f]+$/, "")} : null;
}

// The function is the trees' root, not the only one above it.
function readSandwich(raw) {
	for (const t of focusQuestion().focus ? raw.trees : []) {
		if (t.depth.filter((d) => d === 1).length !== 1) continue;
		t.self.forEach((column) => column.splice(0, 2, column[0] + column[1]));
		for (const column of [t.entity, t.id, t.depth]) column.splice(1, 1);
		t.depth = t.depth.map((d) => Math.max(d - 1, 0));
		t.n--;
	}
	return readData(raw);
}

SHOW.sandwich = () => {
	const focus = focusQuestion(), head = byId("sandwich-head"), [route, parameters] = treeQuestion();
	byId("callers").hidden = byId("callees").hidden = !focus;
	head.className = focus ? "panel-head" : "empty";
	if (!focus) return void head.replaceChildren(...emptySandwich());
	const {root, fold, direction, ...rest} = parameters;
	whenAsked("sandwich", route, {...rest, ...focus, direction: "both"}, head, readSandwich, (d) => {
		const [callers, callees] = d.more;
		callers.isUp = true;
		callers.of = callees.of = data.tree;
		const l = d.libraries.find((x) => x.name === focus.focus_library), {name, library, kind, root: at} = d.entities;
		name[at] = visible(focus.focus || focus.focus_library);
		library[at] = l ? l.i : 0;
		kind[at] = focus.focus ? 2 : FOLDED;
		drawSandwich(name[at], focus.focus && l ? l.name : "", callers, callees,
			whole(data.tree, width()), d);
	});
};

// By what whole threads belong to; a row leads to its samples alone.
const showGroup = (view, name, title, filterOf, more) => (SHOW[view] = () => whenAsked(view, view, question(), byId("panel-" + view), readRows, ({rows, whole: all}) => {
	const {expression} = searched(), words = (r) => visible(r.user || r.name || String(r.uid ?? "[none]"));
	tables[view].show([{key: "name", title, of: words, cell: (r) => make("button", {type: "button", title: "Only its samples",
		click: () => go({[name]: filterOf(r), view: "flame"})}, named(words(r)))},
	...shareColumns(choice(), all).slice(2), ...more.map(([key, text]) => ({key, title: text, number: key !== "cgroup", of: (r) => r[key], cell: (r) => key === "pid" && !r.pid ? "" : named(visible(String(r[key])))}))],
	rows.filter((r) => !state.search || !expression || expression.test(words(r))), {empty: "There were no samples."});
}));
showGroup("processes", "process", "Process", (r) => r.name, [["pid", "PID"], ["uid", "User id"], ["cgroup", "Cgroup"]]);
showGroup("containers", "cgroup", "Container", (r) => `*${r.name.replace(/^.*:/, "")}*`, []);
showGroup("users", "user", "User", (r) => String(r.uid), [["uid", "User id"]]);

const KINDS = {gap: "not sampled", late: "a window was long", rate: "sampling rate", clock: "the clock was set", throttled: "samples held back",
	drop: "history dropped"};
SHOW.events = () => {
	const rows = (chart ? chart.events : []).map((e, i) => ({...e, i}));
	const around = (e) => {
		const length = Math.max(600, Math.min(3600, state.span / 12));
		go({before: writeRange([e.from - length, e.from]), range: writeRange([e.to, Math.min(e.to + length, now)]), view: "flame", zoom: ""});
	};
	tables.events.show([{key: "from", title: "When", of: (r) => r.from, cell: (r) => r.to - r.from > 1 ? rangeText([r.from, r.to]) : timeText(r.from)},
		{key: "kind", title: "What", of: (r) => r.kind, cell: (r) => KINDS[r.kind] || visible(r.kind)},
		{key: "subject", title: "Of", of: (r) => r.subject, cell: (r) => /^(late|rate|clock|throttled)$/.test(r.kind) ? "" : named(visible(r.subject))},
		{key: "text", title: "In words", of: (r) => r.text, cell: (r) => visible(r.text)},
		{key: "around", title: "Compare", of: () => 0, cell: (r) => r.kind === "gap" ? "" : make("button", {type: "button",
			"aria-label": "Compare before and after: " + visible(r.text), click: () => around(r)}, "Before and after")}], rows,
	{empty: "No upgrade, no gap in this time."});
	byId("side").hidden = byId("grip").hidden = true;
};
const tables = {};

// --- input ---
function shift(way) {
	const to = chart ? chart.to : shownTimes()[1], end = Math.round(to + way * state.span / 2);
	go({end: end >= now - 1 ? 0 : end, live: 0});
}

function into() {
	const {range} = picked();
	if (!range || state.live) return;
	go({span: Math.max(Math.round(range[1] - range[0]), 60), end: Math.round(range[1]), range: "", before: "", drag: "range"});
}

function out() {
	const [from, to] = chart ? [chart.from, chart.to] : shownTimes(), end = Math.round((from + to) / 2 + state.span);
	go({span: Math.min(2 * state.span, 400 * 86400), end: end >= now - 1 || !state.end ? 0 : end,
		range: state.range || writeRange([from, to])});
}

// Before: as much time, just before what is picked.
function compare() {
	if (state.before) return go({before: "", drag: "range"});
	const [a, b] = picked().range || (chart ? [(chart.from + chart.to) / 2, chart.to] : shownTimes());
	go({range: writeRange([a, b]), before: writeRange([a - (b - a), a]), live: 0, drag: "before", zoom: ""});
}

const follow = (seconds) => isFleet || go({live: seconds, range: seconds ? "" : state.range, before: ""});

Object.assign(KEYS, {z: into, "-": out, "[": () => shift(-1), "]": () => state.end && shift(1), n: again, c: compare,
	v: () => follow(state.live ? 0 : 60), e: () => byId("filter").click()});

// What can be meant, from the last hours of the range.
async function suggest(list, route, valuesOf = (r) => [r.user || r.name || String(r.uid)]) {
	const [a, b] = picked().range || shownTimes();
	try {
		const {rows} = await ask(route, {from: Math.max(a, b - 7200), to: b, limit: 100});
		const all = new Set(rows.flatMap(valuesOf));
		list.replaceChildren(...[...all].map((value) => make("option", {value: visible(value)})));
	} catch { /* the field is good without it */ }
}

function makeFilters() {
	const form = byId("filters");
	for (const [name, title, route, valuesOf] of FILTERS) {
		const list = make("datalist", {id: "list-" + name});
		form.append(make("label", {}, title, make("input", {id: "filter-" + name, list: list.id, autocomplete: "off", spellcheck: "false",
			placeholder: "all", focus: () => suggest(list, route, valuesOf),
			change: (e) => go({[name]: e.target.value.trim(), zoom: ""})})), list);
	}
	for (const [name, title] of [["from", "From"], ["to", "to"]])
		form.append(make("label", {}, title, make("input", {id: "at-" + name, type: "datetime-local", step: "1"})));
	form.append(make("button", {}, "Show this time"));
	form.addEventListener("submit", (e) => {
		e.preventDefault();
		const [from, to] = ["from", "to"].map((name) => Date.parse(byId("at-" + name).value) / 1000);
		if (from < to) go({span: Math.round(to - from), end: Math.round(to), range: "", before: "", live: 0});
	});
	byId("filter").addEventListener("click", () => {
		form.hidden = !form.hidden;
		byId("filter").setAttribute("aria-expanded", String(!form.hidden));
		if (!form.hidden) byId("filter-" + FILTERS[0][0]).focus();
	});
}

function login(why) {
	clearTimeout(timer);
	timer = 0;
	byId("app").hidden = true;
	byId("login").hidden = false;
	byId("login-why").textContent = why;
}

// What is shown, as a file.
async function save(format) {
	const {value, ...what} = question();
	try {
		const file = await ask("profile", {...what, format}, undefined, true);
		make("a", {href: URL.createObjectURL(file), download: "soprof." + ({pprof: "pb.gz"}[format] || format)}).click();
	} catch (e) {
		problem = e.message;
		show();
	}
}

// With the times, for who follows it later. By a field's selection, since a page that came by http has no clipboard.
function copyLink() {
	const {end} = state, button = byId("copy"), field = make("textarea");
	state.end = state.live ? end : end || Math.round(now);
	field.value = location.href.split("#")[0] + fragment();
	state.end = end;
	button.after(field);
	field.select();
	button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
	field.remove();
	button.focus();
	setTimeout(() => (button.textContent = "Copy link"), 2000);
}

function listenHere() {
	const press = {earlier: () => shift(-1), later: () => shift(1), into, out, again, compare, "set-before": () => go({drag: "before"}, true),
		"set-range": () => go({drag: "range"}, true), copy: copyLink, save: () => save(byId("format").value)};
	for (const [id, does] of Object.entries(press)) byId(id).addEventListener("click", does);
	byId("span").addEventListener("change", (e) => go({span: Number(e.target.value), end: 0, range: "", before: "", drag: "range"}));
	byId("follow").addEventListener("change", (e) => follow(Number(e.target.value)));
	byId("login-form").addEventListener("submit", (e) => {
		e.preventDefault();
		setToken(byId("token").value);
		byId("login").hidden = true;
		again();
	});
	addEventListener("hashchange", () => {
		if (!location.hash.includes("token=")) return;
		takeToken();
		byId("login").hidden = true;
		state = readState();
		again();
	});
}

function begin() {
	takeToken();
	START.icicle = matchMedia("(max-width: 600px)").matches; // where the root is in sight at once
	byId("span").append(...spanOptions());
	byId("follow").append(...LIVES.map(([value, text]) => make("option", {value}, text)));
	for (const [view, title] of Object.entries(MORE)) {
		const panel = make("section", {role: "tabpanel", id: "panel-" + view, "aria-labelledby": "tab-" + view, class: "scroll", tabindex: "0", hidden: true});
		byId("tabs").append(make("button", {role: "tab", type: "button", id: "tab-" + view, "aria-controls": panel.id}, title));
		byId("panels").insertBefore(panel, byId("details"));
		tables[view] = new Table(panel, title, view === "events" ? "from" : "-total");
	}
	try {
		host = localStorage.getItem(HOST) || (isFleet ? "" : location.hostname);
	} catch { /* the agent tells it */ }
	makeFilters();
	state = readState();
	byId("app").hidden = false;
	overview = new Overview(byId("overview"), {into, hover: showHover, tell: (text) => (byId("live").textContent = text),
		pick: (range, isLast) => isLast && go({[state.before ? state.drag : "range"]: writeRange(range), zoom: ""})});
	showStatus();
	makeViews();
	listen();
	listenHere();
	update();
}
begin();
