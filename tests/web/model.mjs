// SPDX-License-Identifier: GPL-2.0-or-later
// What a report has to say of a file of stacks (the format is in tests/unit/view/html.c), worked out row by row, in the
// plainest way: no trees in arrays, nothing shared with the page.
import {readFileSync} from "node:fs";

export function readRows(file) {
	const rows = [];
	for (const line of readFileSync(file, "utf8").trim().split("\n")) {
		if (line[0] === "#") continue;
		const [values, comm, user, kernel] = line.split("\t");
		const frames = [user.replace(/^~/, ""), kernel].flatMap((s) => s ? s.split(";") : []).map((text) => {
			const [library, name] = text.replace(/^\?/, "").split("`"), isKernel = /^\[(?!anon|vdso)/.test(library);
			const isWord = library === "[waker]";
			// "--" is between the thread's own frames and its waker's.
			return {library: isWord ? "" : isKernel ? "[kernel]" : library, name: isWord && name === "--" ? "woken by" : name, guessed: text[0] === "?", isWord};
		});
		// From the first word on they are not the thread's own.
		const word = frames.findIndex((f) => f.isWord), beside = word < 0 ? [] : frames.splice(word);
		rows.push({values: values.split(",").map(Number), comm, cut: user[0] === "~", frames, beside});
	}
	return rows;
}

export const sum = (rows, v = 0) => rows.reduce((s, r) => s + r.values[v], 0);
export const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + "%";

// Labels of a row from the root: the thread, the note, the frames. Frames of one name in two libraries, guessed ones, and
// those that are not the thread's own, are labels of their own.
const begin = (r) => [r.comm, ...(r.cut ? ["[truncated: in execve or exit]"] : [])];
const label = (f) => f.name + "\0" + f.library + "\0" + (f.guessed ? "guessed" : "");
const besideOf = (r) => r.beside.map((f) => f.name + "\0" + f.library + "\0not its own");
const ownPath = (r) => [...begin(r), ...r.frames.map(label)];
export const pathOf = (r) => [...ownPath(r), ...besideOf(r)];

// Runs of one library become its name.
export function foldedPath(r, folds = () => true) {
	const path = begin(r);
	r.frames.forEach((f, i) => {
		if (!f.library || !folds(f.library)) path.push(label(f));
		else if (!i || r.frames[i - 1].library !== f.library) path.push(f.library);
	});
	return [...path, ...besideOf(r)];
}

// Of a label met again, what lies between is left out.
export function withoutRecursion(path) {
	const out = [];
	for (const one of path) {
		const at = out.indexOf(one);
		if (at >= 0) out.length = at + 1;
		else out.push(one);
	}
	return out;
}

// Paths with values -> boxes {name, depth, from, to, value}, as the flame graph lies: siblings by name, those of one
// name in the order in which their libraries (`libraries`) came first.
export function boxes(paths, libraries = [], root = "all") {
	const order = (a, b) => {
		const [x, l, g] = a.name.split("\0"), [y, m, h] = b.name.split("\0");
		return x < y ? -1 : x > y ? 1 : libraries.indexOf(l) - libraries.indexOf(m) || (g < h ? -1 : 1);
	};
	const make = (name) => ({name, value: 0, children: new Map()});
	const top = make(root), all = [];
	for (const [path, value] of paths) {
		let node = top;
		node.value += value;
		for (const name of path) {
			if (!node.children.has(name)) node.children.set(name, make(name));
			node = node.children.get(name);
			node.value += value;
		}
	}
	const place = (node, depth, from) => {
		all.push({name: node.name.split("\0")[0], depth, from, to: from + node.value, value: node.value});
		let at = from;
		for (const child of [...node.children.values()].sort(order)) {
			place(child, depth + 1, at);
			at += child.value;
		}
	};
	place(top, 0, 0);
	return all;
}

// In the order in which they came first; before all of them none.
export const librariesOf = (rows) => [...new Set(["", ...rows.flatMap((r) => [...r.frames, ...r.beside].map((f) => f.library))])];

// By a name: {self, total}, each row once in a total; rows without frames are `none`.
function sumBy(rows, v, nameOf, none) {
	const sums = new Map();
	const at = (name) => sums.get(name) || sums.set(name, {self: 0, total: 0}).get(name);
	for (const r of rows) {
		for (const name of new Set(r.frames.map(nameOf))) at(name).total += r.values[v];
		if (r.frames.length) at(nameOf(r.frames.at(-1))).self += r.values[v];
		else if (none !== undefined) for (const what of ["self", "total"]) at(none)[what] += r.values[v];
	}
	return sums;
}
export const byLibrary = (rows, v = 0) => sumBy(rows, v, (f) => f.library, "");
export const byFunction = (rows, v = 0) => sumBy(rows, v, (f) => f.library + "`" + f.name + (f.guessed ? "`guessed" : ""));

// "library < caller": each library of a row charged for its run nearest to the leaf, to the nearest other one below.
export function matrix(rows, v = 0) {
	const cells = new Map();
	for (const r of rows) {
		const seen = new Set();
		if (!r.frames.length) {
			const none = cells.get(" < ") || cells.set(" < ", {self: 0, total: 0, entries: new Map()}).get(" < ");
			none.self += r.values[v];
			none.total += r.values[v];
		}
		for (let i = r.frames.length - 1; i >= 0; i--) {
			const library = r.frames[i].library;
			if (seen.has(library)) continue;
			seen.add(library);
			let k = i;
			while (k >= 0 && (r.frames[k].library === library || !r.frames[k].library)) k--;
			const key = library + " < " + (k >= 0 ? r.frames[k].library : "");
			if (!cells.has(key)) cells.set(key, {self: 0, total: 0, entries: new Map()});
			const cell = cells.get(key);
			cell.total += r.values[v];
			if (i !== r.frames.length - 1) continue;
			cell.self += r.values[v];
			const entry = r.frames[k + 1].name;
			cell.entries.set(entry, (cell.entries.get(entry) || 0) + r.values[v]);
		}
	}
	return cells;
}

// Paths above and below a function (its outermost call) or a library (its innermost run).
export function sandwich(rows, {library, name}, v = 0) {
	const callers = [], callees = [];
	for (const r of rows) {
		const is = (f) => f.library === library && (!name || (f.name === name && !f.guessed));
		let at = name ? r.frames.findIndex(is) : r.frames.findLastIndex(is);
		if (at < 0) continue;
		for (let k = at - 1; !name && k >= 0 && (is(r.frames[k]) || !r.frames[k].library); k--) if (is(r.frames[k])) at = k;
		const path = ownPath(r), frame = path.length - r.frames.length + at;
		callers.push([path.slice(0, frame).reverse(), r.values[v]]);
		callees.push([path.slice(name ? frame + 1 : frame), r.values[v]]);
	}
	return {callers, callees};
}
