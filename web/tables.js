// SPDX-License-Identifier: GPL-2.0-or-later
// tables.js: tables that sort, the call tree as a table, and the caller matrix.

const FIRST_ROWS = 200;

// Tab comes to one button of the rows; arrow keys lead to the others.
function rove(table) {
	const body = table.tBodies[0], first = body.querySelector("button");
	for (const b of body.querySelectorAll("button")) b.tabIndex = b === first ? 0 : -1;
	body.onkeydown = (e) => {
		const at = e.target.closest("tr"), all = [...at.querySelectorAll("button")], {cellIndex} = e.target.closest("td, th");
		const down = {ArrowDown: "next", ArrowUp: "previous"}[e.key], side = {ArrowRight: 1, ArrowLeft: -1}[e.key];
		let row = down && at[down + "ElementSibling"];
		while (row && !row.querySelector("button")) row = row[down + "ElementSibling"];
		const to = side ? all[all.indexOf(e.target) + side] :
			row && (row.cells[cellIndex].querySelector("button") || row.querySelector("button"));
		if (!down && !side) return;
		e.preventDefault();
		if (to) to.focus();
	};
	body.addEventListener("focusin", (e) => {
		for (const b of body.querySelectorAll("[tabindex='0']")) b.tabIndex = -1;
		e.target.tabIndex = 0;
	});
}

// columns: {key, title, hint, number, of(row) for the order, cell(row) for what is shown; share: of(row) is a share}
class Table {
	// onSort(sort): who has another order in mind shows the table again; without it the table does it alone.
	constructor(place, label, sort, onSort) {
		Object.assign(this, {place, label, sort, onSort, limit: FIRST_ROWS});
	}

	// options: {rowClass(row), empty: what to say without rows, note: below them}
	show(columns, rows, options = {}) {
		Object.assign(this, {columns, rows, options});
		const by = columns.find((c) => c.key === this.sort.replace("-", "")) || columns.find((c) => c.number);
		const way = this.sort[0] === "-" ? -1 : 1, compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;
		rows.sort((a, b) => way * compare(by.of(a), by.of(b)) || a.order - b.order);
		const head = make("tr", {}, ...columns.map((c) => this.heading(c, by, way)));
		this.body = make("tbody"); // the old one keeps what has the focus until it is replaced
		const table = make("table", {class: "data", "aria-label": this.label, "aria-rowcount": rows.length + 1},
			make("thead", {}, head), this.body);
		const note = (text) => make("p", {class: "note"}, text);
		this.more = note("");
		this.fill();
		replace(this.place, table, rows.length ? this.more : note(options.empty || "Nothing."), options.note ? note(options.note) : "");
	}

	heading(c, by, way) {
		const arrow = c === by ? (way < 0 ? " ▾" : " ▴") : "";
		const sort = c === by ? (way < 0 ? c.key : "-" + c.key) : (c.number ? "-" : "") + c.key;
		return make("th", {scope: "col", class: c.number && "number", title: c.hint,
			"aria-sort": c === by ? (way < 0 ? "descending" : "ascending") : undefined},
		make("button", {type: "button", click: () => {
			this.sort = sort;
			if (this.onSort) this.onSort(sort);
			else this.show(this.columns, this.rows, this.options);
			this.place.querySelectorAll("thead button")[this.columns.findIndex((x) => x.key === c.key)].focus();
		}}, c.title + arrow));
	}

	fill() {
		const {rows, columns} = this, n = Math.min(rows.length, this.limit);
		this.body.replaceChildren(...rows.slice(0, n).map((row) => make("tr",
			{class: this.options.rowClass && this.options.rowClass(row)}, ...columns.map((c, i) => this.cell(c, row, i)))));
		rove(this.body.parentNode);
		this.more.replaceChildren();
		if (n < rows.length) {
			this.more.append(`${grouped(n)} of ${grouped(rows.length)} rows. `, make("button", {type: "button", click: () => {
				this.limit *= 5;
				this.fill();
			}}, "Show more"));
		}
	}

	cell(c, row, i) {
		const content = c.cell(row), name = i ? "td" : "th";
		const e = make(name, {scope: i ? undefined : "row", class: [c.number && "number", c.share && "share"]
			.filter(Boolean).join(" ") || undefined, title: c.title && c.tip ? c.tip(row) : undefined}, content);
		if (c.share) {
			const bar = make("i", {"aria-hidden": "true"});
			bar.style.width = (100 * Math.min(Math.max(c.of(row), 0), 1)).toFixed(2) + "%";
			e.append(bar);
		}
		return e;
	}
}

// The call tree as a table: what the canvas shows, for those who do not see it, and with exact numbers.
class CallTree {
	constructor(place) {
		this.place = place;
		this.open = new Set();
	}

	// draw(node) gives the cells behind the name.
	show(tree, v, entities, headings, draw, isMatch) {
		if (tree !== this.tree || v !== this.v) this.open = new Set();
		Object.assign(this, {tree, v, entities, draw, isMatch, total: layout(tree, v).total});
		this.least = this.least === undefined ? 0.001 : this.least;
		if (!this.open.size) this.openHeaviest();
		this.body = make("tbody");
		const least = make("select", {change: (e) => {
			this.least = Number(e.target.value);
			this.fill();
		}}, ...[[0, "nothing"], [0.0001, "0.01 %"], [0.001, "0.1 %"], [0.01, "1 %"], [0.05, "5 %"]].map(([value, text]) =>
			make("option", {value, selected: value === this.least}, text)));
		this.fill();
		this.place.replaceChildren(make("p", {class: "note"}, make("label", {}, "Leave out what is below ", least)),
			make("table", {class: "data tree", role: "treegrid", "aria-label": "Call tree", keydown: (e) => this.key(e)},
				make("thead", {}, make("tr", {}, ...headings.map((h, i) => make("th", {scope: "col", class: i && h !== "Library" && "number"},
					make("span", {}, h))))), this.body));
	}

	children(i) {
		const all = [];
		for (let k = i + 1; k < this.tree.end[i]; k = this.tree.end[k]) if (this.total[k]) all.push(k);
		return all.sort((a, b) => this.total[b] - this.total[a]);
	}

	// From the heaviest thread down to where no child has half of its parent.
	openHeaviest() {
		for (let i = 0; i >= 0;) {
			this.open.add(i);
			const [first] = this.children(i);
			i = first && (!i || this.total[first] >= this.total[i] / 2) ? first : -1;
		}
	}

	fill(focus) {
		const rows = [], least = this.least * this.total[0];
		const walk = (i, level) => {
			rows.push(this.row(i, level));
			if (!this.open.has(i)) return;
			const all = this.children(i), some = all.filter((k) => this.total[k] >= least);
			for (const k of some) {
				if (rows.length > 4000) return;
				walk(k, level + 1);
			}
			if (some.length < all.length) rows.push(this.rest(all.filter((k) => this.total[k] < least), level + 1));
		};
		walk(0, 1);
		this.body.replaceChildren(...rows);
		const at = rows.find((r) => r.node === focus) || rows[0];
		at.tabIndex = 0;
		if (focus !== undefined) at.focus();
	}

	name(level, ...parts) {
		const cell = make("td", {}, ...parts);
		cell.style.paddingLeft = `min(${14 * Math.min(level, 9) - 6 + 4 * Math.max(level - 9, 0)}px,30vw)`; // room for the name stays
		return cell;
	}

	row(i, level) {
		const e = this.tree.entity[i], some = this.children(i).length > 0, open = this.open.has(i);
		const twist = make("span", {class: "twist", "aria-hidden": "true"}, some ? (open ? "▾" : "▸") : "");
		const row = make("tr", {tabindex: "-1", "aria-level": level, "aria-expanded": some ? String(open) : undefined,
			class: this.isMatch && this.isMatch[e] ? "chosen" : undefined, click: () => this.toggle(i)},
		this.name(level, twist, named(this.entities.name[e], {title: this.entities.name[e]})), ...this.draw(i));
		row.node = i;
		return row;
	}

	rest(nodes, level) {
		const sum = nodes.reduce((s, k) => s + this.total[k], 0);
		return make("tr", {"aria-level": level, class: "noise"}, this.name(level, make("span", {class: "twist"}, "…"),
			`${grouped(nodes.length)} more, together ${percent(sum, this.total[0])}`));
	}

	toggle(i) {
		if (!this.open.delete(i)) this.open.add(i);
		this.fill(i);
	}

	key(e) {
		const row = e.target.closest("tr"), i = row && row.node;
		if (i === undefined) return;
		const step = (to) => to && to.node !== undefined && to.focus();
		if (e.key === "ArrowDown") step(row.nextElementSibling);
		else if (e.key === "ArrowUp") step(row.previousElementSibling);
		else if (e.key === "ArrowRight" && !this.open.has(i) || e.key === "ArrowLeft" && this.open.has(i)) this.toggle(i);
		else if (e.key === "ArrowRight") step(row.nextElementSibling);
		else if (e.key === "ArrowLeft") step([...this.body.children].find((r) => r.node === this.tree.parent[i]));
		else if (e.key === "Enter" || e.key === " ") this.toggle(i);
		else return;
		e.preventDefault();
	}
}

// The matrix as a table whose cells are coloured by their share. `most` libraries each way; the rest is added up.
const MOST = 24;
function heatTable(cells, what, whole, nameOf, chosen, onCell) {
	const sumOf = (side) => {
		const sums = new Map();
		for (const c of cells) sums.set(c[side], (sums.get(c[side]) || 0) + c[what]);
		return [...sums.entries()].filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	};
	const rows = sumOf("library"), columns = sumOf("caller"), largest = Math.max(...cells.map((c) => c[what]), 1e-300);
	const at = new Map(cells.map((c) => [c.library + " " + c.caller, c]));
	const shown = {rows: rows.slice(0, MOST), columns: columns.slice(0, MOST)};
	const cell = (library, caller) => {
		const c = at.get(library + " " + caller);
		if (!c || !c[what]) return make("td");
		const isChosen = chosen && chosen.library === library && chosen.caller === caller;
		const text = percent(c[what], whole), strength = Math.sqrt(c[what] / largest);
		const td = make("td", {}, make("button", {type: "button", "aria-pressed": String(Boolean(isChosen)),
			"aria-label": `${nameOf(library)} called by ${nameOf(caller, true)}: ${text}`,
			title: `${nameOf(library)}\ncalled by ${nameOf(caller, true)}\n${text}`, click: () => onCell(c)},
		text.replace("%", "")));
		td.style.backgroundColor = `rgba(${look().heat.join(",")},${(0.06 + 0.6 * strength).toFixed(3)})`;
		return td;
	};
	const head = make("tr", {}, make("th", {class: "corner", scope: "col"}, "% of all"),
		...shown.columns.map(([c]) => make("th", {scope: "col", title: nameOf(c, true)}, make("div", {}, named(nameOf(c, true))))),
		make("th", {scope: "col"}, make("div", {}, "all callers")));
	const body = shown.rows.map(([l, sum]) => make("tr", {}, make("th", {scope: "row", title: nameOf(l)}, named(nameOf(l))),
		...shown.columns.map(([c]) => cell(l, c)), make("td", {class: "sum"}, percent(sum, whole).replace("%", ""))));
	const table = make("table", {class: "heat", "aria-label": "Libraries by those that called them"},
		make("thead", {}, head), make("tbody", {}, ...body));
	rove(table);
	return {table, more: [rows.length - shown.rows.length,
		columns.length - shown.columns.length]};
}
