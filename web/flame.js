// SPDX-License-Identifier: GPL-2.0-or-later
// flame.js: a tree drawn on a canvas: zoomed, scrolled, searched, and walked through with the keyboard.
// Only what is at least a pixel wide is drawn: the walk skips the rest with everything above it, and paints runs of it
// as one block, so that the work is bounded by the picture's size. Each draw is measured (performance entries "draw").

const ROW = 18, TEXT_AT = 13, LABEL = '12px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace';
const MIN_WIDTH = 1, ZOOM_MS = 170, STRIP = 36;
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

class Flame {
	// on: {zoom(node), point(node or -1, x, y), walk(node), select(node), part(whether a part of the whole is in sight)}
	constructor(place, label, on) {
		this.on = on;
		this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "flame graph",
			"aria-label": label, "aria-describedby": "keys"});
		this.hover = make("div", {class: "hover", hidden: true});
		this.cursorBox = make("div", {class: "cursor", hidden: true});
		this.window = make("div", {class: "window"}, this.canvas, this.hover, this.cursorBox);
		this.space = make("div", {class: "space"}, this.window);
		this.place = place;
		place.append(this.space);
		this.small = make("canvas");
		this.part = make("div", {class: "part"});
		this.strip = make("div", {class: "strip", "aria-hidden": "true", title: "The whole: click or drag to move", hidden: true},
			this.small, this.part);
		this.context = this.canvas.getContext("2d", {alpha: false});
		this.tree = null;
		this.nDraws = 0;
		this.cursor = this.hovered = -1;
		this.listen();
		this.listenToStrip();
	}

	// --- what is shown ---
	// paint: {variant: entity -> 0 plain, 1 dimmed, 2 match; colour(node) or null: by library; rootAtTop}
	show(tree, v, entities, libraries, options) {
		const isNew = tree !== this.tree || v !== this.v || options.rootAtTop !== this.options.rootAtTop;
		Object.assign(this, {tree, v, entities, libraries, options, layout: layout(tree, v)});
		this.whole = this.layout.total[0];
		if (isNew) {
			this.place[options.rootAtTop ? "after" : "before"](this.strip);
			this.cursor = this.hovered = -1;
			this.zoomed = 0;
			this.range = [0, this.whole];
			this.stop();
		}
		this.colours();
		this.fit(isNew);
	}

	// Where it is to be looked at: a node, which gets the whole width.
	zoom(node, gently) {
		const {start, total} = this.layout;
		this.zoomed = node;
		this.moveTo([start[node], start[node] + total[node]], gently && !calm());
	}

	moveTo(range, gently) {
		this.stop();
		if (!gently) {
			this.range = range;
			this.redraw();
			return;
		}
		const from = this.range, begin = performance.now();
		const step = (now) => {
			const t = Math.min(1, Math.max(0, (now - begin) / ZOOM_MS)), ease = 1 - (1 - t) ** 3;
			this.range = t < 1 ? from.map((x, i) => x + (range[i] - x) * ease) : range;
			this.moving = t < 1 ? requestAnimationFrame(step) : 0;
			this.draw();
		};
		this.moving = requestAnimationFrame(step);
	}

	stop() {
		cancelAnimationFrame(this.moving || 0);
		this.moving = 0;
	}

	isWhole() {
		return this.range[0] <= 0 && this.range[1] >= this.whole;
	}

	// --- size ---
	fit(toRoot) {
		const {tree, place, options} = this, height = (tree.deepest + 1) * ROW + 2, below = this.height - this.top - this.seen;
		const width = place.clientWidth, seen = Math.max(place.clientHeight, 1), ratio = devicePixelRatio || 1;
		if (!width) return;
		this.height = Math.max(height, seen);
		this.space.style.height = this.height + "px";
		this.window.style.height = this.canvas.style.height = seen + "px";
		this.canvas.style.width = width + "px";
		const pixels = [Math.round(width * ratio), Math.round(seen * ratio)];
		if (this.canvas.width !== pixels[0]) this.canvas.width = pixels[0];
		if (this.canvas.height !== pixels[1]) this.canvas.height = pixels[1];
		if (toRoot) place.scrollTop = options.rootAtTop ? 0 : this.height;
		else if (!options.rootAtTop && seen !== this.seen) place.scrollTop = this.height - seen - below; // the root stays
		Object.assign(this, {width, seen, ratio});
		this.draw();
	}

	y(depth) {
		return this.options.rootAtTop ? depth * ROW : this.height - (depth + 1) * ROW;
	}

	// --- colours: for each entity a number, three variants each, as text of CSS ---
	colours() {
		const l = look(), tones = TONES[isDark() ? "dark" : "light"], {entities, libraries} = this;
		const dim = (rgb) => mix(rgb, l.page, isDark() ? 0.34 : 0.36);
		this.style = [];
		const add = (rgb) => this.style.push(css(rgb), css(dim(rgb)), css(l.match));
		for (const colours of [...libraries, ...entities.tints.map((t) => ({colours: t}))])
			for (const tone of tones) add(mix(libraryColour(colours), l.page, tone));
		const plain = this.style.length / 3;
		add(l.plain);
		add(l.note);
		add(l.narrow);
		this.changes = this.style.length / 3;
		for (let i = -STEPS; i <= STEPS; i++) add(changeColour(i / STEPS));
		if (this.coloured === entities) return;
		this.coloured = entities;
		this.entityColour = new Int32Array(entities.n);
		for (let e = 0; e < entities.n; e++) {
			const kind = entities.kind[e], isPlain = kind === THREAD || kind === NOTE || kind === NARROW;
			this.entityColour[e] = isPlain ? plain + (kind === NOTE ? 1 : kind === NARROW ? 2 : 0) :
				3 * (entities.tint[e] >= 0 ? libraries.length + entities.tint[e] : entities.library[e]) + (entities.kind[e] === FOLDED ? 0 : toneOf(entities.name[e]));
		}
	}

	// --- drawing ---
	redraw() {
		if (!this.due) this.due = requestAnimationFrame(() => this.draw());
	}

	draw() {
		cancelAnimationFrame(this.due || 0);
		this.due = 0;
		if (!this.tree || !this.width || !this.place.clientWidth) return;
		if (this.strip.hidden !== this.isWhole()) return void this.toggleStrip();
		const begin = performance.now(), c = this.context, {rootAtTop} = this.options, top = this.top = this.place.scrollTop;
		const lowest = Math.floor((rootAtTop ? top : this.height - top - this.seen) / ROW);
		this.clear(c, this.width, this.seen);
		const found = this.collect(this.range, lowest, lowest + Math.ceil(this.seen / ROW) + 1);
		this.nodes = found.nodes;
		this.scale = found.scale;
		this.mark(this.fill(c, found, ROW, (d) => this.y(d) - top));
		this.write();
		this.placePart();
		this.placeBoxes();
		if (++this.nDraws % 1000 === 0) performance.clearMeasures("draw");
		performance.measure("draw", {start: begin, end: performance.now()});
	}

	clear(c, width, height) {
		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.fillStyle = css(look().page);
		c.fillRect(0, 0, width, height);
	}

	// What stands for the narrow frames above one has that one's colour.
	styleOf(i, isDim) {
		const {tree: {entity, parent}, options: {variant, change}} = this, e = entity[i];
		const isNarrow = this.entities.kind[e] === NARROW;
		const colour = isNarrow ? this.entityColour[change ? e : entity[parent[i]]] : change ? this.changes + STEPS + change(i) :
			this.entityColour[e];
		return 3 * colour + (variant && variant[e] || (isDim || isNarrow ? 1 : 0));
	}

	// The nodes of a range and of some depths, chained by colour; runs of narrow ones by row, in the colour of the widest of them.
	collect([x0, x1], lowest, highest) {
		const {tree, layout: {total, start}, width} = this, {depth, end} = tree, k = width / (x1 - x0 || 1);
		const nodes = [], heads = new Int32Array(this.style.length).fill(-1), next = [], runs = [];
		const from = new Float64Array(tree.deepest + 2).fill(-1), to = from.slice(), widest = from.slice();
		const flush = (d) => {
			if (from[d] >= 0 && to[d] - from[d] >= MIN_WIDTH) runs.push([d, from[d], to[d], this.styleOf(widest[d], true)]);
			from[d] = -1;
		};
		for (let i = 0; i < tree.n;) {
			const d = depth[i], x = (start[i] - x0) * k, w = total[i] * k;
			if (!total[i] || x >= width || x + w <= 0) {
				i = end[i];
				continue;
			}
			if (w < MIN_WIDTH) {
				if (d >= lowest && d <= highest) {
					if (from[d] >= 0 && x > to[d] + 0.5) flush(d);
					if (from[d] < 0 || total[i] > total[widest[d]]) widest[d] = i;
					if (from[d] < 0) from[d] = x;
					to[d] = x + w;
				}
				i = end[i];
				continue;
			}
			if (d >= lowest && d <= highest) {
				const past = start[i] < x0 - 1e-9 * this.whole || start[i] + total[i] > x1 + 1e-9 * this.whole;
				const style = this.styleOf(i, past);
				next.push(heads[style]);
				heads[style] = nodes.length;
				nodes.push(i);
			}
			i = d < highest ? i + 1 : end[i];
		}
		for (let d = 0; d < from.length; d++) flush(d);
		return {nodes, heads, next, runs, from: x0, scale: k};
	}

	boxOf(i) {
		const {total, start} = this.layout, x = (start[i] - this.range[0]) * this.scale;
		const left = Math.max(x, 0), right = Math.min(x + total[i] * this.scale, this.width);
		return {left, right, top: this.y(this.tree.depth[i]) - this.top};
	}

	// Rows of a height, where y() says that they are; tells which frames are to be marked.
	fill(c, {heads, next, nodes, runs, from: x0, scale}, row, y) {
		const {total, start} = this.layout, height = row > 3 ? row - 1 : row, marked = [];
		for (const [d, from, to, style] of runs) {
			c.fillStyle = this.style[style];
			c.fillRect(from, y(d), to - from, height);
		}
		for (let style = 0; style < heads.length; style++) {
			if (heads[style] < 0) continue;
			c.fillStyle = this.style[style];
			for (let at = heads[style]; at >= 0; at = next[at]) {
				const i = nodes[at], x = (start[i] - x0) * scale, w = total[i] * scale;
				const left = Math.max(x, -1), right = Math.min(x + w, this.width + 1);
				c.fillRect(left, y(this.tree.depth[i]), right - left - (w > 3 ? 1 : 0.3), height);
				const kind = this.entities.kind[this.tree.entity[i]];
				if (w >= 3 && (kind === GUESSED || kind === NOTE || this.isKernel(i))) marked.push(i);
			}
		}
		return marked;
	}

	// Not by colour alone: the kernel's frames have a bar below, guessed ones and notes are hatched.
	isKernel(i) {
		const e = this.tree.entity[i];
		return this.entities.kind[e] === KERNEL || this.libraries[this.entities.library[e]].isKernel;
	}

	mark(marked) {
		const c = this.context;
		c.fillStyle = look().mark;
		for (const i of marked) {
			if (!this.isKernel(i)) continue;
			const b = this.boxOf(i);
			c.fillRect(b.left, b.top + ROW - 3, b.right - b.left - 1, 2);
		}
		c.fillStyle = hatch(c);
		for (const i of marked) {
			if (this.isKernel(i)) continue;
			const b = this.boxOf(i);
			c.fillRect(b.left, b.top, b.right - b.left - 1, ROW - 1);
		}
	}

	write() {
		const c = this.context, {entities, tree, options} = this, {total, start} = this.layout, l = look();
		c.font = LABEL;
		c.textBaseline = "alphabetic";
		c.direction = "ltr";
		this.cell = this.cell || c.measureText("0").width;
		for (const dimmed of [false, true]) {
			c.fillStyle = dimmed ? l.dimText : l.text;
			for (const i of this.nodes) {
				const e = tree.entity[i];
				if (total[i] * this.scale < 3 * this.cell + 6 || entities.kind[e] === NARROW) continue;
				const b = this.boxOf(i), variant = options.variant ? options.variant[e] : 0;
				const past = start[i] < this.range[0] - 1e-9 * this.whole || b.right - b.left < total[i] * this.scale - 1;
				if ((variant === 1 || (!variant && past)) !== dimmed) continue;
				const text = this.fitted(entities.name[e], Math.floor((b.right - b.left - 7) / this.cell));
				if (text) c.fillText(text, b.left + 3, b.top + TEXT_AT);
			}
		}
	}

	// Names of ASCII alone are one cell a letter; others are measured. Of a place without a name the offset stays, or its end.
	fitted(name, cells) {
		if (cells < 3) return "";
		const offset = name.length > cells && /^[ -~]{3,}(\+0x[0-9a-f]+)$/.exec(name), left = cells - 1 - (offset ? offset[1].length : 0);
		if (offset && left > 1) return name.slice(0, left) + "…" + offset[1];
		if (offset && cells > 4) return "…" + offset[1].slice(1 - cells);
		if (/^[ -~]*$/.test(name.length > 400 ? name.slice(0, 400) : name))
			return name.length <= cells ? name : name.slice(0, cells - 1) + "…";
		let n = Math.min(name.length, cells);
		while (n > 0 && this.context.measureText(name.slice(0, n)).width > cells * this.cell) n = n * 3 >> 2;
		return n >= name.length ? name : n > 1 ? [...name.slice(0, n - 1)].filter((x) => !/[\ud800-\udfff]$/.test(x) ||
			x.length > 1).join("") + "…" : "";
	}

	placeBox(box, i) {
		box.hidden = i < 0;
		if (i < 0) return;
		const b = this.boxOf(i);
		box.hidden = b.right <= b.left;
		box.style.transform = `translate(${b.left}px,${b.top}px)`;
		box.style.width = Math.max(b.right - b.left - 1, 2) + "px";
	}

	placeBoxes() {
		this.placeBox(this.hover, this.hovered);
		this.placeBox(this.cursorBox, this.cursor);
	}

	// --- the strip: the whole, small, where a part of it is in sight ---
	// It comes and goes at the end that is not the root's, so that the frames stay where they are.
	toggleStrip() {
		const {strip} = this;
		strip.hidden = !strip.hidden;
		this.fit(false);
		this.on.part(!strip.hidden);
	}

	// Drawn anew only where something else than the range has changed.
	placePart() {
		const {small, part, strip, width, ratio, whole, range: [from, to]} = this, {rootAtTop} = this.options;
		if (strip.hidden) return;
		if (this.drawn !== this.style || small.width !== Math.round(width * ratio)) {
			const rows = this.tree.deepest + 1, row = Math.min(STRIP / rows, 6), c = small.getContext("2d", {alpha: false});
			small.width = Math.round(width * ratio);
			small.height = STRIP * ratio;
			small.style.width = width + "px";
			this.clear(c, width, STRIP);
			this.fill(c, this.collect([0, whole], 0, rows), row, (d) => rootAtTop ? d * row : STRIP - (d + 1) * row);
			this.drawn = this.style;
		}
		part.style.width = Math.max((to - from) / whole * width, 3) + "px";
		part.style.left = Math.min(from / whole * width, width - 3) + "px";
	}

	listenToStrip() {
		const {strip} = this;
		let hold = 0; // what lies left of the pointer in the part that it moves
		const at = (e) => (e.clientX - strip.getBoundingClientRect().left) / this.width * this.whole;
		const move = (e) => this.pan(this.range, at(e) - hold - this.range[0]);
		strip.addEventListener("pointerdown", (e) => {
			if (e.button) return;
			const [from, to] = this.range, x = at(e);
			hold = x >= from && x < to ? x - from : (to - from) / 2;
			strip.setPointerCapture(e.pointerId);
			move(e);
		});
		strip.addEventListener("pointermove", (e) => strip.hasPointerCapture(e.pointerId) && move(e));
	}

	// --- the mouse ---
	nodeAt(x, y) {
		const {tree, layout: {total, start}, range} = this;
		const row = y + this.place.scrollTop, value = range[0] + x / this.scale;
		const d = this.options.rootAtTop ? Math.floor(row / ROW) : Math.floor((this.height - row) / ROW);
		if (d < 0 || d > tree.deepest || x < 0 || x > this.width) return -1;
		for (let i = 0; i < tree.n;) {
			if (value < start[i] || value >= start[i] + total[i]) i = tree.end[i];
			else if (tree.depth[i] === d) return total[i] * this.scale >= MIN_WIDTH ? i : -1;
			else i++;
		}
		return -1;
	}

	listen() {
		const {canvas} = this;
		let down = null;
		const at = (e) => {
			const box = canvas.getBoundingClientRect();
			return [e.clientX - box.left, e.clientY - box.top];
		};
		canvas.addEventListener("pointerdown", (e) => {
			if (e.button || !this.tree) return;
			down = {x: e.clientX, range: this.range, moved: false};
			canvas.setPointerCapture(e.pointerId);
		});
		canvas.addEventListener("pointermove", (e) => {
			if (!this.tree) return;
			if (down && Math.abs(e.clientX - down.x) > 4 && !this.isWhole()) down.moved = true;
			if (down && down.moved) this.pan(down.range, (down.x - e.clientX) / this.scale);
			this.point(...at(e), e);
		});
		canvas.addEventListener("pointerup", (e) => {
			const was = down;
			down = null;
			if (!was || was.moved) return;
			const node = this.nodeAt(...at(e));
			if (node >= 0) this.on.zoom(node);
		});
		canvas.addEventListener("pointercancel", () => (down = null));
		canvas.addEventListener("pointerleave", () => this.point(-1, -1));
		canvas.addEventListener("wheel", (e) => this.wheel(e, at(e)[0]), {passive: false});
		canvas.addEventListener("keydown", (e) => this.key(e));
		canvas.addEventListener("focus", () => this.tree && this.cursor < 0 && this.walk(this.zoomed));
		this.place.addEventListener("scroll", () => this.redraw());
		new ResizeObserver(() => this.tree && this.fit(!this.width)).observe(this.place);
	}

	point(x, y, e) {
		const node = this.tree ? this.nodeAt(x, y) : -1;
		this.hovered = node;
		this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
		if (this.tree && this.width) this.placeBox(this.hover, node);
		this.on.point(node, e);
	}

	pan(range, by) {
		const span = range[1] - range[0], from = Math.min(Math.max(range[0] + by, 0), this.whole - span);
		this.moveTo([from, from + span]);
	}

	wheel(e, x) {
		if (!this.tree || !this.whole) return;
		const step = e.deltaMode === 1 ? 16 : 1;
		if (e.ctrlKey || e.metaKey) {
			e.preventDefault();
			const [x0, x1] = this.range, at = x0 + x / this.scale, factor = Math.exp(e.deltaY * step * 0.003);
			const span = Math.min(Math.max((x1 - x0) * factor, this.whole / 2 ** 40), this.whole);
			const from = Math.min(Math.max(at - (at - x0) * span / (x1 - x0), 0), this.whole - span);
			this.moveTo([from, from + span]);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			this.pan(this.range, (e.deltaX || e.deltaY) * step / this.scale);
		}
	}

	// --- the keyboard ---
	// The children of a node that are drawn.
	drawnChildren(i) {
		const {tree, layout: {total}} = this, children = [];
		for (let k = i + 1; k < tree.end[i]; k = tree.end[k])
			if (total[k] * this.scale >= MIN_WIDTH) children.push(k);
		return children;
	}

	// Where an arrow key leads: to the parent, the widest child, or the next sibling; -1 is nowhere.
	neighbour(i, key) {
		const {tree, layout: {total}} = this;
		if (key === (this.options.rootAtTop ? "ArrowDown" : "ArrowUp"))
			return this.drawnChildren(i).reduce((best, k) => best < 0 || total[k] > total[best] ? k : best, -1);
		if (!i || key === "ArrowUp" || key === "ArrowDown") return i ? tree.parent[i] : -1;
		const siblings = this.drawnChildren(tree.parent[i]), to = siblings.indexOf(i) + (key === "ArrowRight" ? 1 : -1);
		return to >= 0 && to < siblings.length ? siblings[to] : -1;
	}

	key(e) {
		if (!this.tree || e.ctrlKey || e.metaKey || e.altKey) return;
		const at = Math.max(this.cursor, 0);
		if (/^Arrow/.test(e.key)) {
			const to = this.neighbour(at, e.key);
			if (to >= 0) this.walk(to);
		} else if (e.key === "Home") this.walk(0);
		else if (e.key === "Enter" || e.key === " ") (e.shiftKey ? this.on.select : this.on.zoom)(at);
		else return;
		e.preventDefault();
	}

	walk(node) {
		this.cursor = node;
		const y = this.y(this.tree.depth[node]), {place} = this;
		if (y < place.scrollTop) place.scrollTop = y;
		if (y + ROW > place.scrollTop + this.seen) place.scrollTop = y + ROW - this.seen;
		const {start, total} = this.layout, [x0, x1] = this.range;
		if (start[node] + total[node] <= x0 || start[node] >= x1) this.moveTo([start[node], start[node] + total[node]]);
		this.placeBox(this.cursorBox, node);
		this.on.walk(node);
	}
}

// Diagonal lines.
let hatching = null;
function hatch(context) {
	if (hatching) return hatching;
	const tile = make("canvas", {width: 6, height: 6}), c = tile.getContext("2d");
	c.strokeStyle = "rgba(0,0,0,.33)";
	c.beginPath();
	for (const x of [-6, 0, 6]) {
		c.moveTo(x - 1, 7);
		c.lineTo(x + 7, -1);
	}
	c.stroke();
	return hatching = context.createPattern(tile, "repeat");
}
