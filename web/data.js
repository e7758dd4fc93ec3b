// SPDX-License-Identifier: GPL-2.0-or-later
// data.js: the data block (src/view/html/html_data.h says what stands in it), or what an agent answers (format 2), becomes
// libraries, entities and one prefix tree in typed arrays. All names are made visible here, once, and are only ever written as text.

const THREAD = 0, NOTE = 1, GUESSED = 3, KERNEL = 4, FOLDED = 5, NARROW = 6, BESIDE = 7, FILE_KERNEL = 2;

// What would be invisible, or would turn the writing around, is shown by its bytes, as the terminal views do.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;
const utf8 = new TextEncoder();
const bytesOf = (c) => [...utf8.encode(c)].map((b) => "\\x" + b.toString(16).padStart(2, "0")).join("");
const visible = (s) => s.replace(HIDDEN, bytesOf);

// A name keeps its colour in all answers of an agent.
const COLOURS = new Map();
function coloursOf(name, colours) {
	if (!COLOURS.has(name)) COLOURS.set(name, colours);
	return COLOURS.get(name);
}

function readLibrary([name, path, id, pkg, kind, note, deleted, ...colours], i) {
	return {i, name: visible(name), path: visible(path), id, pkg: visible(pkg), isKernel: kind === FILE_KERNEL,
		note: visible(note), deleted: Boolean(deleted), colours: coloursOf(name, colours)};
}

// Names that stand for a library in the address: its build id is added where two have the same name.
function nameLibraries(libraries) {
	const n = new Map();
	for (const l of libraries) n.set(l.name, (n.get(l.name) || 0) + 1);
	for (const l of libraries) l.key = n.get(l.name) > 1 ? l.name + "@" + (l.id.slice(0, 12) || l.i) : l.name;
}

// Entities: those of the data, one for each library (the fold of a run of its frames), and last the root.
function readEntities(raw, libraries) {
	const n = raw.entities.length / 4, all = n + libraries.length;
	const e = {n: all + 1, root: all, firstFold: n, name: [], library: new Int32Array(all + 1),
		kind: new Uint8Array(all + 1), module: [], tint: raw.tint || [], tints: raw.tints || []};
	const names = raw.names.map(visible);
	for (let i = 0; i < n; i++) {
		e.name.push(names[raw.entities[4 * i]]);
		e.library[i] = raw.entities[4 * i + 1];
		e.module.push(names[raw.entities[4 * i + 2]]);
		// What stands for the frames that were left out is drawn as what says why a stack was cut.
		e.kind[i] = e.name[i] === "[shortened]" ? NOTE : raw.entities[4 * i + 3];
	}
	for (const l of libraries) {
		e.name.push(l.name);
		e.module.push("");
		e.library[n + l.i] = l.i;
		e.kind[n + l.i] = FOLDED;
	}
	e.name.push("all");
	e.module.push("");
	return e;
}

// Columns in preorder, as the agent tells them (man soprof-api).
function readColumns(raw, root) {
	const {n, depth} = raw, t = {n, parent: new Int32Array(n), entity: Int32Array.from(raw.entity), id: raw.id,
		self: raw.self.map((column) => Float64Array.from(column))}, above = [];
	t.entity[0] = root;
	for (let i = 0; i < n; i++) {
		t.parent[i] = depth[i] ? above[depth[i] - 1] : 0;
		above[depth[i]] = i;
	}
	return finish(t);
}

// By library, exact whatever the tree leaves out: {self: {number: value}, total: ...} of each value.
const readSums = (sums, n) => sums.map((s) => {
	const array = (of) => Float64Array.from({length: n}, (_, i) => of[i] || 0);
	return {self: array(s.self), total: array(s.total), whole: s.whole};
});

// What can be chosen as the value shown: a value that is the old one of another is shown with that one, as a difference.
function readChoices(values, samples) {
	const olds = new Set(values.map((v) => v[2])), choices = [];
	values.forEach(([name, unit, old], v) => {
		const shown = old < 0 ? name : name.replace(/^new ?/, "") || {nanoseconds: "time", count: "value"}[unit] || unit;
		const c = {name: visible(shown), unit: visible(unit), v, old, samples, oldSamples: old < 0 ? -1 : values[samples][2]};
		if (!olds.has(v) && !choices.some((other) => other.name === c.name && other.unit === c.unit)) choices.push(c);
	});
	return choices;
}

// readPaths: of a report, whose tree is told by paths (embedded.js).
function readData(raw, readPaths) {
	if (raw.format !== 1 && raw.format !== 2) throw new Error("the data are of an unknown format");
	const none = ["[no library]", "", "", "", 0, "", 0, 0xd9d5c9, 0x96928a];
	const libraries = raw.libraries.map((l, i) => readLibrary(l || none, i));
	nameLibraries(libraries);
	const entities = readEntities(raw, libraries), more = raw.trees ? raw.trees.map((t) => readColumns(t, entities.root)) : [];
	const {tree, nNegative, parts} = readPaths ? readPaths(raw, entities.root) : {tree: more[0], nNegative: []};
	const choices = readChoices(raw.values, raw.samples);
	const own = ownTree(tree, entities);
	const d = {title: visible(raw.title || "") || "Profile", subtitle: (raw.subtitle || "").trim().split("\n").map(visible).join(" "),
		noise: raw.noise || {value: -1, from: "counts", other: [1, 1.96], libraries: [], entities: []},
		libraries, entities, tree, own, more, nNegative, parts, choices, choice: Math.max(0, choices.findIndex((c) => c.v === raw.value)),
		sums: raw.sums && readSums(raw.sums, libraries.length)};
	for (const t of [tree, own, ...more]) t.data = d;
	return d;
}
