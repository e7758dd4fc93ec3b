// SPDX-License-Identifier: GPL-2.0-or-later
// embedded.js: the report as one file: its data stand in the page.

// Negative values have no width: they are counted.
function cutNegative(column) {
	let n = 0;
	column.forEach((x, i) => {
		if (x < 0) {
			column[i] = 0;
			n++;
		}
	});
	return n;
}

// The paths, in order, are the tree in preorder; node 0 is the root. Where the recording tells of slices of time a path
// is there once for each of its own: these are the tree's parts, {n slices, ns: how long one is, end: of the last one, node, slice, self}.
function readPaths(raw, root) {
	const bytes = atob(raw.paths), n = raw.n_nodes + 1, nPaths = raw.n_paths, columns = (size) => raw.values.map(() => new Float64Array(size));
	const t = {n, parent: new Int32Array(n), entity: new Int32Array(n), self: columns(n)}, above = [0];
	const parts = raw.n_slices ? {n: raw.n_slices, ns: raw.slice_ns, end: raw.duration_ns / raw.slice_ns, node: new Int32Array(nPaths), slice: new Int32Array(nPaths),
		self: columns(nPaths)} : null;
	let at = 0, next = 1;
	const varint = () => {
		let b = bytes.charCodeAt(at++);
		if (b < 128) return b;
		let x = b & 127;
		for (let scale = 128; b > 127; scale *= 128) {
			b = bytes.charCodeAt(at++);
			x += (b & 127) * scale;
		}
		return x;
	};
	t.entity[0] = root;
	for (let i = 0; i < nPaths; i++) {
		if (parts) parts.slice[i] = varint();
		above.length -= varint();
		for (let k = varint(); k; k--) {
			t.entity[next] = varint();
			t.parent[next] = above[above.length - 1];
			above.push(next++);
		}
		const node = above[above.length - 1];
		if (parts) parts.node[i] = node;
		for (let v = 0; v < raw.values.length; v++) {
			const z = varint(), x = z % 2 ? -(z + 1) / 2 : z / 2;
			t.self[v][node] += x;
			if (parts) parts.self[v][i] = x;
		}
	}
	if (parts && !(parts.end > parts.n - 1 && parts.end < parts.n)) parts.end = parts.n;
	if (next !== n) throw new Error("the stacks are damaged");
	const nNegative = t.self.map(cutNegative);
	return {tree: finish(t), nNegative, parts};
}

function begin() {
	try {
		data = readData(JSON.parse(byId("data").textContent), readPaths);
	} catch (e) {
		byId("broken").textContent = "This report cannot be shown: " + e.message + ".";
		byId("broken").hidden = false;
		return;
	}
	if (data.choices[data.choice].old >= 0) START.sort = "-change";
	state = readState();
	byId("app").hidden = false;
	byId("title").textContent = data.title;
	byId("subtitle").textContent = byId("subtitle").title = data.subtitle;
	byId("value").append(...data.choices.map((c, i) => make("option", {value: i}, c.name + (c.old >= 0 ? ", old and new" : ""))));
	makeViews();
	listen();
	beginTime();
	update();
	performance.mark("ready");
}
begin();
