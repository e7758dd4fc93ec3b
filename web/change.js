// SPDX-License-Identifier: GPL-2.0-or-later
// change.js: differences: what of them is noise, and how they look. soprof diff has judged libraries and functions: of
// each the data have half of the 95 % interval, by how much it varies more than counts do, and how many deviations
// half of the interval is (src/view/html/html_noise.h); of self, then of total. A frame, or what else only the page sums up,
// is a part of one of these, and judged with its numbers.

// Shares of the whole, old and new, of so many samples (sp_significance_of_part() does the same).
function halfWidth(old, now, nOld, nNew, factor, quantile) {
	const a = Math.max(nOld, 1), b = Math.max(nNew, 1);
	return quantile * Math.sqrt(factor * (old * (1 - old) / a + now * (1 - now) / b) + 1 / a / a + 1 / b / b);
}

// half: of the interval, where it is known; 0: there is none. Within noise is no change.
function change(old, now, half) {
	const d = now - old;
	return {d, half, noise: half > 0 && Math.abs(d) <= half};
}
const STEPS = 12; // of colour, each way
function changeColour(strength) {
	const l = look(), part = Math.min(1, 0.25 + Math.abs(strength));
	return strength ? mix(strength > 0 ? l.grown : l.shrunk, l.same, part) : l.same;
}

// [half, factor, quantile] of an entity's row, where it has one; k: 0: self, 1: total.
function judged(e, k) {
	const {entities, libraries, other} = data.noise, fold = data.entities.firstFold;
	const [rows, at] = e >= fold ? [libraries, e - fold] : [entities, e], from = 6 * at + 3 * k;
	return rows[from] >= 0 ? rows.slice(from, from + 3) : [-1, ...other];
}

// Of old and new share of an entity, or of a part of it.
function changeOf(old, now, t, e, k, isWhole) {
	const {samples, oldSamples} = choice(), [half, ...how] = judged(e, k);
	return change(old, now, half >= 0 && isWhole ? half : oldSamples < 0 ? 0 :
		halfWidth(old, now, whole(t, oldSamples), whole(t, samples), ...how));
}
const intervalWords = (c) => c.half > 0 ? `95 %: ${points(c.d - c.half)} to ${points(c.d + c.half)}` : "";
const changeWords = (c) => c.d ? points(c.d) + " points" + (c.noise ? ", within noise" : "") : "no change";
const changeCell = (c, name) => make(name, {class: "number " + (c.noise || !c.d ? "noise" : c.d > 0 ? "grown" : "shrunk"),
	title: [c.noise && c.d && "within noise", intervalWords(c)].filter(Boolean).join("; ") || undefined},
points(c.d) + (c.noise && c.d ? " ≈" : ""));

// The columns of a table of differences; entityOf: which entity a row is. What is summed up over all samples, of the
// value that the diff is of, is what the diff has judged.
function changeColumns(t, entityOf) {
	const isWhole = t === data.tree && choice().v === data.noise.value;
	const columns = (key, title, old, now, k) => [
		{key: key + "old", title: "Old " + title, number: true, of: (r) => r[old], cell: (r) => percent(r[old], 1)},
		{key: key + "new", title: "New " + title, number: true, of: (r) => r[now], cell: (r) => percent(r[now], 1)},
		{key: key + "change", title: "Change", hint: "in points of a hundred; ≈: within noise", number: true,
			of: (r) => Math.abs(r[now] - r[old]), cell: (r) => changeCell(r.halves ? change(r[old], r[now], r.halves[k]) :
				changeOf(r[old], r[now], t, entityOf(r), k, isWhole), "span")}];
	return [...columns("", "self", "oldSelf", "newSelf", 0), ...columns("total-", "total", "oldTotal", "newTotal", 1)];
}

const noiseWords = () => "Within noise: the 95 % interval, from " + data.noise.from + ", holds 0.";
