// SPDX-License-Identifier: GPL-2.0-or-later
// overview.js: CPU time by library over time, stacked, on a canvas; a range of it is picked with the mouse, a finger or
// the keyboard. What was not sampled is hatched, never a zero; what happened has marks at the top. time.js draws a
// recording's time with it.

const LEFT = 40, BOTTOM = 18, TOP = 13, EDGE = 7;
const LENGTHS = [10, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
const pad = (n) => String(n).padStart(2, "0");
const dateOf = (t) => new Date(1000 * t);
const dayText = (t) => dateOf(t).toLocaleDateString("en", {month: "short", day: "numeric"});
const clockText = (t, seconds) => {
	const d = dateOf(t);
	return pad(d.getHours()) + ":" + pad(d.getMinutes()) + (seconds ? ":" + pad(d.getSeconds()) : "");
};
const timeText = (t) => dayText(t) + " " + clockText(t, t % 60);
function rangeText([a, b]) {
	return timeText(a) + " to " + (dayText(a) === dayText(b) ? clockText(b, b % 60) : timeText(b));
}
const lengthText = (s) => {
	const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].map(([n, unit], i, all) =>
		[Math.floor((i ? s % all[i - 1][0] : s) / n), unit]).filter(([n]) => n);
	return parts.slice(0, 2).map(([n, unit]) => n + " " + unit).join(" ") || "0 s";
};
const readRange = (text) => {
	const m = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
	return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : null;
};
const writeRange = ([a, b]) => `${Math.round(a)}-${Math.round(b)}`;
const isMark = (e) => e.kind !== "gap";

class Overview {
	// on: {pick(range, isLast), tell(text), hover(point or null, event), into()}
	constructor(place, on) {
		Object.assign(this, {place, on, chart: null, cursor: -1, hovered: -1, left: LEFT});
		this.canvas = make("canvas", {tabindex: "0", role: "application", "aria-roledescription": "chart",
			"aria-label": "CPU time by library over time", "aria-describedby": "chart-keys"});
		place.append(this.canvas);
		this.context = this.canvas.getContext("2d", {alpha: false});
		this.listen();
	}

	// view: [from, to] of the picture; picked: {range, before}, either null; active: which of the two a drag sets.
	show(chart, view, picked, active, chosen) {
		if (chart !== this.chart) this.cursor = this.hovered = -1;
		Object.assign(this, {chart, view, picked, active, chosen});
		this.draw();
	}

	// --- places ---
	x(t) {
		const k = devicePixelRatio || 1; // whole pixels, so that no seam is between two slices
		return Math.round((this.left + (t - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - this.left - 2)) * k) / k;
	}

	time(x) {
		const part = Math.min(Math.max((x - this.left) / (this.width - this.left - 2), 0), 1);
		return this.view[0] + part * (this.view[1] - this.view[0]);
	}

	slice(t) {
		const {start, step, n} = this.chart;
		return Math.min(Math.max(Math.floor((t - start) / step), 0), n - 1);
	}

	// Whole slices, within the picture; nobody hits the border of one to the pixel.
	rangeOf(a, b) {
		const {start, step} = this.chart, [from, to] = this.view, slack = Math.abs(a - b) > step / 2 ? 0.2 : 0;
		const first = Math.floor((Math.min(a, b) - start) / step + slack), end = Math.ceil((Math.max(a, b) - start) / step - slack);
		return [Math.max(start + first * step, Math.floor(from)), Math.min(start + end * step, Math.ceil(to))];
	}

	// CPUs that were busy with a series in a slice: what was sampled counts, not what was to be.
	rate(series, i) {
		const {covered, unit, step} = this.chart;
		return covered[i] ? series[i] / (unit === "seconds" ? Math.min(covered[i], step) : 1) : 0;
	}

	sum(i) {
		return this.series.reduce((s, {series}) => s + this.rate(series, i), 0);
	}

	// --- drawing ---
	draw() {
		const {canvas, chart} = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
		if (!chart || !width) return;
		Object.assign(this, {width, height, bottom: height - BOTTOM});
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		this.series = [...chart.libraries, {name: "other libraries", series: chart.other.series, other: true}];
		const c = this.context, page = css(look().page);
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = page;
		c.fillRect(0, 0, width, height);
		this.most = this.nice(Array.from({length: chart.n}, (_, i) => this.sum(i)).reduce((a, b) => Math.max(a, b), 0) || 1);
		this.gaps();
		this.stacks();
		this.axes();
		this.marks();
		this.ranges();
		this.lines();
	}

	nice(x) {
		const power = 10 ** Math.floor(Math.log10(x));
		return [1, 1.5, 2, 3, 4, 6, 8, 10].map((k) => k * power).find((k) => k >= x * 0.999);
	}

	ink(name) {
		return getComputedStyle(document.documentElement).getPropertyValue("--" + name);
	}

	gaps() {
		const c = this.context, {chart, bottom, width} = this;
		const fill = (a, b, style) => {
			const left = Math.max(this.x(a), this.left), right = Math.min(this.x(b), width - 2);
			c.fillStyle = style;
			if (right > left) c.fillRect(left, TOP, Math.max(right - left, 1.5), bottom - TOP);
		};
		const page = css(look().page), grey = css(look().narrow);
		this.hole = (a, b) => {
			fill(a, b, grey);
			fill(a, b, hatch(c));
		};
		this.hole(...this.view);
		fill(chart.now - chart.late, this.view[1], page); // what is under way
		for (let i = 0, k; i < chart.n; i = k) {
			for (k = i + 1; k < chart.n && !chart.covered[k] === !chart.covered[i];) k++;
			if (chart.covered[i]) fill(chart.start + i * chart.step, chart.start + k * chart.step, page);
		}
	}

	stacks() {
		const c = this.context, {chart, bottom, most, width} = this, k = (bottom - TOP) / most;
		const base = new Float64Array(chart.n), l = look();
		for (const s of this.series) {
			const dim = this.chosen && this.chosen !== s.name, rgb = s.other ? l.plain : libraryColour(s);
			c.fillStyle = css(dim ? mix(rgb, l.page, 0.3) : rgb);
			for (let i = 0; i < chart.n; i++) {
				const rate = this.rate(s.series, i);
				if (!rate) continue;
				const left = Math.max(this.x(chart.start + i * chart.step), this.left), y = bottom - (base[i] + rate) * k;
				const right = Math.min(this.x(chart.start + (i + 1) * chart.step), width - 2);
				if (right > left) c.fillRect(left, y, right - left, rate * k + 0.3);
				base[i] += rate;
			}
		}
		for (const e of chart.events) if (e.kind === "gap" && e.to - e.from > chart.step / 4) this.hole(e.from, e.to);
	}

	axes() {
		const c = this.context, {bottom, width, most, chart, left} = this;
		c.font = '11px system-ui,"DejaVu Sans",sans-serif';
		c.textBaseline = "middle";
		c.textAlign = "right";
		for (const part of [0, 0.5, 1]) {
			const y = bottom - part * (bottom - TOP);
			c.fillStyle = this.ink("line");
			c.fillRect(left, Math.round(y), width - left - 2, 1);
			c.fillStyle = this.ink("soft");
			c.fillText(this.scaleText(part * most), left - 5, Math.max(y, 7));
		}
		c.textAlign = "left";
		if (this.height > 80) c.fillText(chart.unit === "seconds" ? "CPUs" : chart.value, left + 3, TOP + 8);
		c.textAlign = "center";
		for (const [t, text, isDay] of this.ticks(Math.max(1, Math.floor((width - left) / 76)))) {
			const x = this.x(t);
			c.fillStyle = this.ink("edge");
			c.fillRect(Math.round(x), bottom, 1, 4);
			c.fillStyle = this.ink(isDay ? "ink" : "soft");
			c.fillText(text, Math.min(Math.max(x, left + 14), width - 26), bottom + 11);
		}
	}

	// --- in words ---
	scaleText(x) {
		return this.chart.unit === "seconds" || this.most < 10 ? Number(x.toPrecision(2)) : grouped(x);
	}

	rateText(x, digits) {
		return x.toPrecision(digits);
	}

	rangeText(range) {
		return rangeText(range);
	}

	// At most n: [time, text, whether a day begins].
	ticks(n) {
		const [from, to] = this.view, step = LENGTHS.find((s) => (to - from) / s <= n) || Math.ceil((to - from) / n / 86400) * 86400;
		const zone = (t) => dateOf(t).getTimezoneOffset() * 60, first = zone(from), all = []; // the zone may change on the way
		for (let at = Math.ceil((from - first) / step) * step, t; (t = at + zone(at + first)) <= to; at += step) {
			const isDay = at % 86400 === 0;
			all.push([t, isDay ? dayText(t) : clockText(t, step < 60), isDay]);
		}
		return all;
	}

	// Upgrades and changes of cost are filled triangles, what else happened small open ones.
	marks() {
		const c = this.context;
		this.spots = [];
		for (const e of this.chart.events) {
			const x = this.x((e.from + e.to) / 2), isBig = e.kind === "upgrade" || e.kind === "change";
			if (x < this.left || x > this.width || !isMark(e)) continue;
			this.spots.push({x, e});
			c.fillStyle = c.strokeStyle = this.ink(e.kind === "change" ? "grown" : isBig ? "warn" : "edge");
			c.globalAlpha = 0.6;
			if (isBig) c.fillRect(Math.round(x), TOP, 1, this.bottom - TOP);
			c.globalAlpha = 1;
			c.beginPath();
			c.moveTo(x - 5, 2);
			c.lineTo(x + 5, 2);
			c.lineTo(x, 11);
			c.closePath();
			if (isBig) c.fill();
			else c.stroke();
		}
	}

	ranges() {
		const c = this.context, {picked, bottom} = this, l = look();
		for (const [name, range] of Object.entries(picked)) {
			if (!range) continue;
			const left = Math.max(this.x(range[0]), this.left), right = Math.min(this.x(range[1]), this.width - 2);
			if (right < this.left || left > this.width) continue;
			const colour = css(name === "before" ? l.shrunk : l.grown);
			c.globalAlpha = 0.16;
			c.fillStyle = colour;
			c.fillRect(left, TOP, Math.max(right - left, 2), bottom - TOP);
			c.globalAlpha = 1;
			c.fillRect(left - 1, TOP, 2, bottom - TOP);
			c.fillRect(right - 1, TOP, 2, bottom - TOP);
			c.fillRect(left, bottom - 3, Math.max(right - left, 2), 3);
			if (!picked.before || right - left < 40) continue;
			c.font = '600 11px system-ui,"DejaVu Sans",sans-serif';
			c.textAlign = "left";
			c.strokeStyle = css(l.page);
			c.lineWidth = 3;
			c.strokeText(name === "before" ? "before" : "after", left + 5, bottom - 12);
			c.fillText(name === "before" ? "before" : "after", left + 5, bottom - 12);
			c.lineWidth = 1;
		}
	}

	lines() {
		const c = this.context, t = this.hovered >= 0 ? this.hovered : this.cursor;
		if (t < 0) return;
		c.fillStyle = this.ink("ink");
		c.fillRect(Math.round(this.x(t)), TOP, 1, this.bottom - TOP);
	}

	// --- what is at a time ---
	point(t) {
		const {chart} = this, i = this.slice(t), from = chart.start + i * chart.step, [a, b] = [from, from + chart.step];
		const near = 6 * (this.view[1] - this.view[0]) / this.width;
		const events = chart.events.filter((e) => e.from - near <= t && e.to + near >= t);
		const isIn = t >= chart.start && t < chart.start + chart.n * chart.step && chart.covered[i] > 0;
		const parts = !isIn ? [] : this.series.map((s) => ({name: s.name, rate: this.rate(s.series, i)})).filter((p) => p.rate)
			.sort((x, y) => y.rate - x.rate).slice(0, 5).map((p) => ({name: p.name, text: this.rateText(p.rate, 2)}));
		const unit = chart.unit === "seconds" ? "CPUs" : chart.value;
		return {when: this.rangeText([a, b]), sum: isIn ? `${this.rateText(this.sum(i), 3)} ${unit}` : "not sampled", parts, events};
	}

	words(t) {
		const p = this.point(t);
		return [p.when, p.sum, ...p.parts.slice(0, 3).map((x) => x.name + " " + x.text), ...p.events.map((e) => visible(e.text))].join(", ");
	}

	// --- the mouse, a finger ---
	listen() {
		const {canvas} = this;
		let down = null;
		const at = (e) => e.clientX - canvas.getBoundingClientRect().left;
		canvas.addEventListener("pointerdown", (e) => {
			if (e.button || !this.chart) return;
			const x = at(e), range = this.picked[this.active], edge = range ? [1, 0].find((k) => Math.abs(this.x(range[k]) - x) < EDGE) : undefined;
			down = {x, from: edge === undefined ? this.time(x) : range[1 - edge], moved: false, isEdge: edge !== undefined};
			canvas.setPointerCapture(e.pointerId);
		});
		canvas.addEventListener("pointermove", (e) => {
			if (!this.chart) return;
			const x = at(e), range = this.picked[this.active];
			if (down && Math.abs(x - down.x) > 3) down.moved = true;
			if (down && down.moved) this.pick(down.from, this.time(x), false);
			canvas.style.cursor = range && range.some((t) => Math.abs(this.x(t) - x) < EDGE) ? "ew-resize" : "crosshair";
			this.hovered = x >= this.left ? this.time(x) : -1;
			this.draw();
			this.on.hover(this.hovered >= 0 ? this.point(this.hovered) : null, e);
		});
		canvas.addEventListener("pointerup", (e) => {
			const was = down, t = this.chart && this.time(at(e));
			down = null;
			if (was && (was.moved || !was.isEdge)) this.pick(was.moved ? was.from : t, t + (was.moved ? 0 : 1e-6), true);
		});
		canvas.addEventListener("pointercancel", () => (down = null));
		canvas.addEventListener("pointerleave", () => {
			this.hovered = -1;
			this.draw();
			this.on.hover(null);
		});
		canvas.addEventListener("dblclick", () => this.on.into());
		canvas.addEventListener("keydown", (e) => this.key(e));
		canvas.addEventListener("keyup", (e) => e.key === "Shift" && this.settle());
		canvas.addEventListener("blur", () => this.settle());
		new ResizeObserver(() => this.draw()).observe(this.place);
	}

	pick(a, b, isLast) {
		const range = this.rangeOf(a, b);
		this.picked = {...this.picked, [this.active]: range};
		this.on.pick(range, isLast);
		this.draw();
	}

	// --- the keyboard: arrows move, with Shift they pick ---
	key(e) {
		if (!this.chart || e.ctrlKey || e.metaKey || e.altKey) return;
		const {step} = this.chart, way = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[e.key];
		const [from, to] = this.view, at = this.cursor < 0 ? to - step / 2 : this.cursor;
		if (way || e.key === "Home" || e.key === "End") {
			this.cursor = e.key === "Home" ? from + step / 2 : e.key === "End" ? to - step / 2 : Math.min(Math.max(at + way * step, from), to - 1e-3);
			if (e.shiftKey) {
				this.anchor = this.anchor === undefined ? at : this.anchor;
				this.pick(this.anchor, this.cursor + 1e-6, false);
			} else this.settle();
			this.draw();
			this.on.tell(e.shiftKey ? "Picked " + this.rangeText(this.picked[this.active]) : this.words(this.cursor));
		} else if (e.key === "Enter" && this.anchor !== undefined) this.settle();
		else if (e.key === "Enter") this.pick(at, at + 1e-6, true);
		else return;
		e.preventDefault();
	}

	// A range that was picked by keys is taken when they are done with it.
	settle() {
		if (this.anchor === undefined) return;
		this.anchor = undefined;
		this.on.pick(this.picked[this.active], true);
	}
}

function showHover(point, e) {
	const tip = byId("tip");
	tip.hidden = !point || !e || e.pointerType === "touch";
	if (tip.hidden) return;
	tip.replaceChildren(make("b", {}, point.when), ` ${point.sum}`,
		...point.parts.map((p) => make("p", {}, named(p.name), ` ${p.text}`)),
		...point.events.map((x) => make("p", {class: "warn"}, visible(x.text))));
	placeTip(tip, e, 0, byId("overview"));
}
