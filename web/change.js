// SPDX-License-Identifier: GPL-2.0-or-later
// change.js: differences: what of them is noise, and how they look. What soprof diff has judged itself, libraries and
// functions of all samples, has the half width of its 95 % interval in the data (src/view/html_noise.h); what only the
// page sums up is judged by the counts of samples, times what the diff found that they vary by.

// Shares of the whole, old and new, of so many samples (profile/diff_noise.c does the same).
function halfWidth(old, now, nOld, nNew) {
	const {dispersion, spread} = data.noise, a = Math.max(nOld, 1), b = Math.max(nNew, 1), n = old * a + now * b;
	const factor = dispersion + spread * n * (1 - n / (a + b));
	return 1.959964 * Math.sqrt(factor * (old * (1 - old) / a + now * (1 - now) / b) + 1 / a / a + 1 / b / b);
}

// half: of the interval, where it is known; 0: there is none. Within noise is no change; else the strength of a colour is
// the change relative to the larger share.
function change(old, now, half) {
	const d = now - old, noise = half > 0 && Math.abs(d) <= half;
	return {d, half, noise, strength: noise || !d ? 0 : d / Math.max(old, now)};
}
const STEPS = 12; // of colour, each way
function changeColour(strength) {
	const l = look(), part = Math.min(1, 0.25 + Math.abs(strength));
	return strength ? mix(strength > 0 ? l.grown : l.shrunk, l.same, part) : l.same;
}

// Old and new share of a node or a row of the tree.
function changeOf(old, now, t, half) {
	const c = choice(), n = (v) => v >= 0 ? whole(t, v) : -1;
	if (half >= 0) return change(old, now, half);
	return change(old, now, n(c.oldSamples) >= 0 ? halfWidth(old, now, n(c.oldSamples), n(c.samples)) : 0);
}
const judgedRows = (name, t) => t === data.tree && choice().v === data.noise.value ? data.noise[name] : [];

const intervalWords = (c) => c.half > 0 ? `95 %: ${points(c.d - c.half)} to ${points(c.d + c.half)}` : "";
const changeWords = (c) => c.d ? points(c.d) + " points" + (c.noise ? ", within noise" : "") : "no change";
const changeCell = (c, name) => make(name, {class: "number " + (c.noise || !c.d ? "noise" : c.d > 0 ? "grown" : "shrunk"),
	title: [c.noise && c.d && "within noise", intervalWords(c)].filter(Boolean).join("; ") || undefined},
points(c.d) + (c.noise && c.d ? " ≈" : ""));

// The columns of a table of differences; name: whose rows have been judged.
function changeColumns(t, name) {
	const judged = judgedRows(name, t);
	const columns = (key, title, old, now, k) => [
		{key: key + "old", title: "Old " + title, number: true, of: (r) => r[old], cell: (r) => percent(r[old], 1)},
		{key: key + "new", title: "New " + title, number: true, of: (r) => r[now], cell: (r) => percent(r[now], 1)},
		{key: key + "change", title: "Change", hint: "in points of a hundred; ≈: within noise", number: true,
			of: (r) => Math.abs(r[now] - r[old]), cell: (r) => changeCell(changeOf(r[old], r[now], t, judged[2 * r.i + k]), "span")}];
	return [...columns("", "self", "oldSelf", "newSelf", 0), ...columns("total-", "total", "oldTotal", "newTotal", 1)];
}

function noiseWords() {
	const {from, dispersion, spread} = data.noise, vary = dispersion > 1 || spread > 0 ?
		`, with their variance times ${dispersion.toFixed(2)} + ${spread.toPrecision(2)} for each sample` : "";
	return "Within noise: the 95 % interval holds 0. It comes from " + (from === "slices" ?
		"time slices for libraries and functions, else from " : "") + "the counts of samples" + vary + ".";
}
