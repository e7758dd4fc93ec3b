// SPDX-License-Identifier: GPL-2.0-or-later
// time.js: when it was: cost over the time of a recording, by library, drawn as the agent's page draws hours. Times are
// numbers of slices, from 0; a range of them that is picked is what all views are of.

const MOST_SERIES = 8;

class Course extends Overview {
	constructor(place, on) {
		super(place, on);
		this.canvas.setAttribute("aria-label", "Cost by library over the time of the recording");
	}

	show(chart, ...rest) {
		this.left = chart.unit ? LEFT : 62;
		super.show(chart, ...rest);
	}

	axes() {
		super.axes();
		this.context.textAlign = "left";
		this.context.fillStyle = this.ink("soft");
		this.context.fillText(this.chart.title, this.left, 6);
	}

	seconds(slices) {
		return slices * this.chart.ns / 1e9;
	}

	timeText(s) {
		return s < 120 ? Number(s.toFixed(3)) + " s" : lengthText(Math.round(s));
	}

	rangeText(range) {
		return range.map((t) => this.timeText(this.seconds(Math.min(t, this.view[1])))).join(" to ");
	}

	rateText(x, digits) {
		return this.chart.unit ? super.rateText(x, digits) : amount(x, this.chart.of);
	}

	scaleText(x) {
		return this.chart.unit ? super.scaleText(x) : this.rateText(x);
	}

	ticks(n) {
		const span = this.seconds(this.view[1]), power = 10 ** Math.floor(Math.log10(span / n)), all = [];
		const step = span < 120 ? [1, 2, 5, 10].map((k) => k * power).find((s) => span / s <= n) : LENGTHS.find((s) => span / s <= n) || span;
		for (let i = 0; i * step <= span; i++) all.push([i * step / this.seconds(1), this.timeText(i * step)]);
		return all;
	}
}

// The samples of these slices alone, on the same nodes.
function within(t, {node, slice, self}, [from, to]) {
	const some = {...t, layouts: [], self: self.map((values) => {
		const sum = new Float64Array(t.n);
		for (let i = 0; i < node.length; i++) if (slice[i] > from && slice[i] <= to) sum[node[i]] += values[i];
		return sum;
	})};
	some.self.forEach(cutNegative);
	return some;
}

timed = () => {
	const range = data.parts && readRange(state.range);
	return range ? kept("time", range, () => within(data.tree, data.parts, range)) : data.tree;
};

// What overview.js draws: of CPU time how many CPUs, else the value in each slice.
function courseOf(c, v) {
	const {tree, entities, libraries, parts: {n, ns, end, node, slice, self}} = data, isCpu = c.name === "cpu" && c.unit === "nanoseconds";
	const all = libraries.map((l) => ({name: l.name, colours: l.colours, series: new Float64Array(n), sum: 0}));
	for (let i = 0; i < node.length; i++) {
		let at = node[i];
		while (entities.kind[tree.entity[at]] === BESIDE) at = tree.parent[at]; // the thread's own frame is charged
		const l = all[entities.library[tree.entity[at]]];
		if (slice[i]) l.series[slice[i] - 1] += self[v][i] / (isCpu ? ns : 1);
		l.sum += self[v][i];
	}
	for (const l of all) cutNegative(l.series);
	const covered = new Float64Array(n).fill(1);
	covered[n - 1] = Math.max(end - n + 1, 0.25); // few samples of a short end are not many CPUs
	all.sort((a, b) => b.sum - a.sum);
	const other = {n: 0, series: new Float64Array(n)};
	for (const l of all.splice(MOST_SERIES)) {
		other.n += l.sum ? 1 : 0;
		l.series.forEach((x, i) => (other.series[i] += x));
	}
	return {start: 0, step: 1, n, ns, now: n, late: 0, covered, events: [], other, libraries: all,
		unit: isCpu ? "seconds" : "", value: "", of: c.unit, title: isCpu ? "CPUs" : c.name};
}

let course;
function showTime() {
	const {parts, tree} = data, v = width(), range = parts && readRange(state.range);
	byId("when").hidden = !parts || parts.n < 4 || !whole(tree, v);
	if (byId("when").hidden) return;
	course.show(kept("course", [v], () => courseOf(choice(), v)), [0, parts.end], {range}, "range", selected() && selected().name);
	replace(byId("chips"), ...(range ? [make("button", {type: "button", title: "All of the recording again", click: () => go({range: "", zoom: ""})},
		`${course.rangeText(range)}: ${worth(whole(timed(), v), choice())}, ${percent(whole(timed(), v), whole(tree, v))} of all ✕`)] : []));
}

function beginTime() {
	course = new Course(byId("overview"), {into: () => go({range: "", zoom: ""}), hover: showHover, tell: (text) => (byId("live").textContent = text),
		pick: (range, isLast) => isLast && range[0] < range[1] && go({range: writeRange(range), zoom: ""})});
	update = () => {
		render();
		showTime();
	};
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTime);
}
