// SPDX-License-Identifier: GPL-2.0-or-later
// tree.js: prefix trees in typed arrays, and what is computed from them.
// A tree is {n, parent, entity, self: [an array for each value], end, depth}, in preorder: the nodes above i are
// i + 1 .. end[i] - 1. So "the outermost of its kind on the path" needs no stack: node i is nested in an earlier one if
// i < that one's end. All passes are one loop over the nodes.

function finish(t) {
	const {n, parent} = t, end = t.end = new Int32Array(n), depth = t.depth = new Int32Array(n);
	t.deepest = 0;
	for (let i = 1; i < n; i++) {
		const d = depth[i] = depth[parent[i]] + 1;
		if (d > t.deepest) t.deepest = d;
	}
	// Backwards: whoever comes first to a parent is its last child.
	end[0] = n;
	for (let i = n - 1; i > 0; i--) {
		if (!end[i]) end[i] = i + 1;
		if (!end[parent[i]]) end[parent[i]] = end[i];
	}
	t.layouts = [];
	return t;
}

// Totals of a value, and where each node begins: the first child with its parent, others behind their older sibling.
function layout(t, v) {
	if (t.layouts[v]) return t.layouts[v];
	const {n, parent, end} = t, total = t.self[v].slice(), start = new Float64Array(n);
	for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
	for (let i = 1; i < n; i++) {
		const p = parent[i], next = end[i];
		if (p === i - 1) start[i] = start[p];
		if (next < end[p]) start[next] = start[i] + total[i];
	}
	return t.layouts[v] = {total, start};
}

// What was spent in a node itself. Of callers paths begin with the function itself and self is that of their ends.
function selfOf(t, v) {
	const {total} = layout(t, v);
	return t.isUp ? total.map((value, i) => i ? t.depth[i] === 1 ? value : 0 : t.self[v][0]) : t.self[v];
}

// --- new trees from old ones ---

// Children are found by a hash of (parent, entity) with open addressing; a slot is a node and its hash.
class Builder {
	constructor(root) {
		this.n = 1;
		this.parent = new Int32Array(1024);
		this.entity = new Int32Array(1024);
		this.table = new Int32Array(4096);
		this.entity[0] = root;
	}

	slot(p, e) {
		const {table} = this, mask = table.length - 2;
		let h = Math.imul(p, 0x9e3779b1) ^ Math.imul(e + 1, 0x85ebca6b);
		h ^= h >>> 15;
		let at = h << 1 & mask;
		for (let k; (k = table[at]); at = at + 2 & mask)
			if (table[at + 1] === h && this.parent[k] === p && this.entity[k] === e) break;
		this.hash = h;
		return at;
	}

	put(at, i) {
		this.table[at] = i;
		this.table[at + 1] = this.hash;
	}

	grow() {
		for (const name of ["parent", "entity"]) {
			const larger = new Int32Array(2 * this.n);
			larger.set(this[name]);
			this[name] = larger;
		}
		const old = this.table, mask = 2 * old.length - 2;
		this.table = new Int32Array(2 * old.length);
		for (let from = 0; from < old.length; from += 2) {
			if (!old[from]) continue;
			this.hash = old[from + 1];
			let at = this.hash << 1 & mask;
			while (this.table[at]) at = at + 2 & mask;
			this.put(at, old[from]);
		}
	}

	child(p, e) {
		const at = this.slot(p, e);
		if (this.table[at]) return this.table[at];
		const i = this.n++;
		this.put(at, i);
		this.parent[i] = p;
		this.entity[i] = e;
		if (this.n === this.parent.length) this.grow();
		return i;
	}

	// Node numbers in preorder, siblings by rank.
	order(nEntities, rank) {
		const {n, parent} = this, entity = rank ? this.entity.subarray(0, n).map((e) => rank[e]) : this.entity;
		const byEntity = new Int32Array(nEntities + 1), nodes = new Int32Array(n), first = new Int32Array(n + 1);
		for (let i = 0; i < n; i++) byEntity[entity[i] + 1]++;
		for (let i = 0; i < nEntities; i++) byEntity[i + 1] += byEntity[i];
		for (let i = 0; i < n; i++) nodes[byEntity[entity[i]]++] = i;
		for (let i = 1; i < n; i++) first[parent[i] + 1]++;
		for (let i = 0; i < n; i++) first[i + 1] += first[i];
		const children = new Int32Array(n), at = first.slice();
		for (const i of nodes) if (i) children[at[parent[i]]++] = i;
		const number = new Int32Array(n), todo = [0];
		for (let next = 0; todo.length;) {
			const i = todo.pop();
			number[i] = next++;
			for (let k = first[i + 1]; k-- > first[i];) todo.push(children[k]);
		}
		return number;
	}

	// map: node of the old tree -> node of this one that its own value goes to, or -1. rank: the order of the entities,
	// without one that of their numbers (those of frames are in the order of their names).
	tree(old, map, nEntities, rank) {
		const {n} = this, number = this.order(nEntities, rank);
		const t = {n, parent: new Int32Array(n), entity: new Int32Array(n), rank};
		for (let i = 0; i < n; i++) {
			t.parent[number[i]] = number[this.parent[i]];
			t.entity[number[i]] = this.entity[i];
		}
		t.self = old.self.map((from) => {
			const to = new Float64Array(n);
			for (let i = 0; i < old.n; i++) if (from[i] && map[i] >= 0) to[number[map[i]]] += from[i];
			return to;
		});
		return finish(t);
	}
}

// Without what is drawn beside a thread's own frames, at their leaf's end: whatever is summed is summed of these. A label
// is there, or the stack of who woke the thread.
function ownTree(t, entities) {
	const builder = new Builder(entities.root), map = new Int32Array(t.n);
	if (!entities.kind.includes(BESIDE)) return t;
	for (let i = 1, p, e; i < t.n; i++) {
		p = map[t.parent[i]];
		e = t.entity[i];
		map[i] = entities.kind[e] === BESIDE ? p : builder.child(p, e);
	}
	return builder.tree(t, map, entities.n);
}

function hasSelf(t, i) {
	for (let v = 0; v < t.self.length; v++) if (t.self[v][i]) return true;
	return false;
}

// Only the samples with a frame of the library: a part of the nodes, in the same order.
function onlyLibrary(t, entities, library) {
	const inside = new Uint8Array(t.n), keep = new Uint8Array(t.n), number = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const e = t.entity[i];
		inside[i] = inside[t.parent[i]] | (entities.library[e] === library && entities.kind[e] !== BESIDE ? 1 : 0);
		if (inside[i] && hasSelf(t, i)) keep[i] = 1;
	}
	for (let i = t.n - 1; i > 0; i--) keep[t.parent[i]] |= keep[i];
	let n = 1;
	for (let i = 1; i < t.n; i++) if (keep[i]) number[i] = n++;
	const to = {n, parent: new Int32Array(n), entity: new Int32Array(n), self: t.self.map(() => new Float64Array(n))};
	to.entity[0] = t.entity[0];
	for (let i = 1; i < t.n; i++) {
		if (!keep[i]) continue;
		const k = number[i];
		to.parent[k] = number[t.parent[i]];
		to.entity[k] = t.entity[i];
		if (inside[i]) for (let v = 0; v < t.self.length; v++) to.self[v][k] = t.self[v][i];
	}
	return finish(to);
}

// Where libraries stand among the functions, by name.
function ranks(entities) {
	if (entities.rank) return entities.rank;
	const {name, n} = entities, order = Int32Array.from({length: n}, (_, e) => e), rank = new Int32Array(n);
	order.sort((a, b) => name[a] < name[b] ? -1 : name[a] > name[b] ? 1 : a - b).forEach((e, i) => (rank[e] = i));
	return entities.rank = rank;
}

// Runs of frames inside one library become one frame. With recursion, where a path comes to a frame a second time, what
// lies between is left out: A B C B D is A B D.
function fold(t, entities, isFolded, recursion) {
	const builder = new Builder(entities.root), map = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const p = map[t.parent[i]], library = entities.library[t.entity[i]];
		const isOwn = entities.kind[t.entity[i]] !== BESIDE;
		const e = library && isOwn && isFolded(library) ? entities.firstFold + library : t.entity[i];
		let same = p && builder.entity[p] === e && (recursion || entities.kind[e] === FOLDED) ? p : 0;
		for (let k = p; recursion && k && !same; k = builder.parent[k]) if (builder.entity[k] === e) same = k;
		map[i] = same || builder.child(p, e);
	}
	return builder.tree(t, map, entities.n, ranks(entities));
}

// From the leaves: who calls, merged.
function invert(t, entities) {
	const builder = new Builder(entities.root), map = new Int32Array(t.n).fill(-1);
	for (let i = 0; i < t.n; i++) {
		if (!hasSelf(t, i)) continue;
		let node = 0;
		for (let p = i; p; p = t.parent[p]) node = builder.child(node, t.entity[p]);
		map[i] = node;
	}
	return builder.tree(t, map, entities.n, t.rank);
}

// For each node the frame by which its sample counts for the focus, or 0: of a function the outermost call, so that
// recursion counts once and callees are whole; of a library the first frame of the innermost run, as its callers are
// the ones that are asked for.
function entriesOf(t, entities, focus) {
	const entry = new Int32Array(t.n), begins = focus.library ? boundaries(t, entities).entry : null;
	for (let i = 1; i < t.n; i++) {
		const above = entry[t.parent[i]], e = t.entity[i];
		if (focus.library) entry[i] = begins[i] === i && entities.library[e] === focus.library ? i : above;
		else entry[i] = above || (e === focus.entity ? i : 0);
	}
	return entry;
}

// Callers and callees of a function or a library, as two trees whose root is it.
function sandwich(t, entities, focus) {
	const entry = entriesOf(t, entities, focus), root = focus.library ? entities.firstFold + focus.library : focus.entity;
	const up = new Builder(root), down = new Builder(root);
	const upMap = new Int32Array(t.n).fill(-1), downMap = new Int32Array(t.n).fill(-1), callers = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const e = entry[i], p = t.parent[i];
		if (!e) continue;
		if (e === i) {
			let node = 0;
			for (let k = p; k; k = t.parent[k]) node = up.child(node, t.entity[k]);
			callers[i] = node;
		}
		upMap[i] = callers[e];
		if (focus.library) downMap[i] = down.child(e === i ? 0 : downMap[p], t.entity[i]);
		else downMap[i] = e === i ? 0 : down.child(downMap[p], t.entity[i]);
	}
	return {callers: up.tree(t, upMap, entities.n), callees: down.tree(t, downMap, entities.n)};
}

// --- sums ---

// Self and total by group (a number for each entity, < n): a sample counts once in a total.
function sums(t, v, groupOf, n) {
	const {total} = layout(t, v), own = t.self[v], self = new Float64Array(n), all = new Float64Array(n);
	const until = new Int32Array(n);
	for (let i = 0; i < t.n; i++) {
		const g = groupOf[t.entity[i]];
		if (own[i]) self[g] += own[i];
		if (i >= until[g]) {
			all[g] += total[i];
			until[g] = t.end[i];
		}
	}
	return {self, total: all};
}

// By library, by the rules of totals: threads, notes and frames of no known library are no library; what has no frame
// of one anywhere counts for none.
function librarySums(t, v, entities, n) {
	const s = sums(t, v, entities.library, n), {total} = layout(t, v);
	s.total[0] = 0;
	for (let i = 0, until = 0; i < t.n; i++) {
		const some = isFrame(entities, t.entity[i]);
		if (i < until) continue;
		if (!some) s.total[0] += t.self[v][i];
		else if (!entities.library[t.entity[i]]) {
			s.total[0] += total[i];
			until = t.end[i];
		}
	}
	return s;
}

// What the matched entities are worth together: nested ones once.
function matched(t, v, isMatch) {
	const {total} = layout(t, v);
	let sum = 0;
	for (let i = 0; i < t.n;) {
		if (isMatch[t.entity[i]]) {
			sum += total[i];
			i = t.end[i];
		} else i++;
	}
	return sum;
}

// --- who pays for which library ---

// For each node: the library that runs (frames of no known library belong to the one below them), the nearest other
// library below, and the frame through which it was entered from there.
function boundaries(t, entities) {
	const here = new Int32Array(t.n), caller = new Int32Array(t.n), entry = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i], library = entities.library[t.entity[i]];
		here[i] = library || here[p];
		const isNew = library && library !== here[p];
		caller[i] = isNew ? here[p] : caller[p];
		entry[i] = isNew ? i : entry[p];
	}
	return {here, caller, entry};
}

// The cell that a node's own value is charged to: [library, caller]; 0 = none.
function cellOf(t, entities, b, i) {
	const known = entities.library[t.entity[i]];
	return known ? [known, b.caller[i]] : [0, b.here[i]];
}

// Library by caller: cells {library, caller, self, total}. Of each library on a sample's stack
// the run nearest to the leaf is charged, and it alone (as src/profile/matrix.h does it): so a run takes the samples
// above it away from the next run of the same library below it.
function matrix(t, v, entities, n) {
	const b = boundaries(t, entities), {total} = layout(t, v), own = t.self[v], cells = new Map();
	const below = runsBelow(t, b, entities, n);
	const cell = (library, caller) => {
		const key = library * n + caller;
		if (!cells.has(key)) cells.set(key, {library, caller, self: 0, total: 0});
		return cells.get(key);
	};
	for (let i = 0; i < t.n; i++) {
		if (total[i] && b.entry[i] === i && i) {
			const library = entities.library[t.entity[i]];
			cell(library, b.caller[i]).total += total[i];
			if (below[i]) cell(library, b.caller[below[i]]).total -= total[i];
		}
		if (own[i]) cell(...cellOf(t, entities, b, i)).self += own[i];
	}
	addUnknown(t, v, entities, b, cell);
	return [...cells.values()].filter((c) => c.self || c.total);
}

// For each node that begins a run: the node that begins the next run of the same library below it, or 0.
function runsBelow(t, b, entities, n) {
	const below = new Int32Array(t.n), last = new Int32Array(n);
	for (let i = 1; i < t.n; i++) {
		if (b.entry[i] !== i) continue;
		const library = entities.library[t.entity[i]];
		let at = last[library];
		while (at && t.end[at] <= i) at = below[at];
		below[i] = at;
		last[library] = i;
	}
	return below;
}

const isFrame = (entities, e) => ![THREAD, NOTE, NARROW, BESIDE].includes(entities.kind[e]);

// Samples with frames of no known library are charged for the one nearest to the leaf; those without any frame, too.
function addUnknown(t, v, entities, b, cell) {
	const own = t.self[v], nearest = new Int32Array(t.n);
	for (let i = 0; i < t.n; i++) {
		const e = t.entity[i], some = isFrame(entities, e), none = some && !entities.library[e];
		nearest[i] = none ? i + 1 : i ? nearest[t.parent[i]] : 0;
		if (!own[i]) continue;
		if (nearest[i]) cell(0, b.here[nearest[i] - 1]).total += own[i];
		else if (!some) cell(0, 0).total += own[i];
	}
}

// One cell's cost by the function through which the library was entered, and the function that called it.
function entrySums(t, v, entities, library, caller) {
	const b = boundaries(t, entities), own = t.self[v], found = new Map();
	for (let i = 0; i < t.n; i++) {
		if (!own[i]) continue;
		const [l, c] = cellOf(t, entities, b, i);
		if (l !== library || c !== caller) continue;
		const at = l ? b.entry[i] : i, entry = t.entity[at], from = c ? t.entity[t.parent[at]] : -1;
		const key = entry + " " + from;
		if (!found.has(key)) found.set(key, {entry, from, self: 0});
		found.get(key).self += own[i];
	}
	return [...found.values()].sort((x, y) => y.self - x.self);
}
