// SPDX-License-Identifier: GPL-2.0-or-later
// fleet.js: what the page has where it is a fleet's (soprof serve): hosts and labels as filters and as tables.

const isFleet = document.documentElement.classList.contains("fleet");
const ASKED = isFleet ? "the fleet" : "the agent", LATE = 300; // seconds: as soprof fleet status
// As FILTERS of page.js; the last says what the route's rows mean.
const FLEET_FILTERS = isFleet ? [["host", "Host", "hosts"], ["label", "Label", "hosts", (r) => r.labels],
	["against", "Against label", "hosts", (r) => r.labels]] : [];
const FLEET_MORE = {hosts: "Hosts", labels: "Labels", processes: "Processes", containers: "Containers", users: "Users"};
if (isFleet) {
	Object.assign(START, {host: "", label: "", against: ""});
	Object.assign(SHORT, {host: "host", label: "label", against: "against"});
}

// What is said of an answer, beside what is said of an agent's.
const fleetWords = (raw) => !isFleet ? [] : [state.against ? `${state.against} → ${state.label || state.host || "all hosts"}` : "", raw.note ? visible(raw.note) : "", raw.hosts ? "of " + plural(raw.hosts, "host") : "",
	raw.missing ? `the server lacks ${plural(raw.missing, "sample")} that hosts have sent` : "",
	raw.unknown ? `the server lacks ${plural(raw.unknown, "name")}` : ""];

const filterButton = (name, value) => make("button", {type: "button", title: "Only its samples",
	click: () => go({[name]: value, view: "flame", zoom: ""})}, named(visible(value)));

function behindCell({behind_seconds: s}) {
	return make("span", {class: s === undefined || s > LATE ? "warn" : undefined}, s === undefined ? "a day or more" : lengthText(s));
}

// Rows of which the search finds something.
function foundRows(rows, words) {
	const {expression} = searched();
	return rows.filter((r) => !state.search || !expression || expression.test(words(r)));
}

function drawHosts({rows, whole: all}) {
	const labels = (r) => r.labels.map(visible).join(" ");
	tables.hosts.show([{key: "name", title: "Host", of: (r) => r.name, cell: (r) => filterButton("host", r.raw)},
		...shareColumns(choice(), all).slice(2).map((c) => ({...c, title: c.title.replace("Total", "Cost")})),
		{key: "behind", title: "Behind", hint: "How far its last window is behind the server's clock", number: true,
			of: (r) => r.behind_seconds ?? 1e9, cell: behindCell},
		{key: "covered", title: "Sampled", hint: "How much of the time was sampled", number: true, of: (r) => r.covered_seconds,
			cell: (r) => lengthText(Math.round(r.covered_seconds))},
		{key: "lost", title: "Lost", hint: "Samples", number: true, of: (r) => r.lost, cell: (r) => grouped(r.lost)},
		{key: "labels", title: "Labels", of: labels, cell: (r) => make("span", {}, ...r.labels.flatMap((l) => [filterButton("label", l), " "]))}],
	foundRows(rows, (r) => r.name + " " + labels(r)), {empty: "No host."});
}

// By label: what the hosts that have it cost together.
function drawLabels({rows, whole: all}) {
	const sums = new Map();
	for (const r of rows) {
		for (const label of r.labels.length ? r.labels : [""]) {
			const s = sums.get(label) || {name: label, order: sums.size, total: 0, self: 0, hosts: 0};
			sums.set(label, Object.assign(s, {total: s.total + r.total, self: s.self + r.self, hosts: s.hosts + 1}));
		}
	}
	tables.labels.show([{key: "name", title: "Label", of: (r) => r.name, cell: (r) => r.name ? filterButton("label", r.name) : "no label"},
		...shareColumns(choice(), all).slice(2).map((c) => ({...c, title: c.title.replace("Total", "Cost")})),
		{key: "hosts", title: "Hosts", number: true, of: (r) => r.hosts, cell: (r) => grouped(r.hosts)}],
	foundRows([...sums.values()], (r) => visible(r.name)), {empty: "No host has a label."});
}

const readHosts = (raw) => {
	for (const r of raw.rows) r.raw = r.name;
	return readRows(raw);
};
for (const [view, draw] of [["hosts", drawHosts], ["labels", drawLabels]])
	SHOW[view] = () => whenAsked("hosts", "hosts", question(), byId("panel-" + view), readHosts, draw);
