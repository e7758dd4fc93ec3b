// SPDX-License-Identifier: GPL-2.0-or-later
// show.js: how things look: numbers as a person reads them, colours, and elements made without markup.

// --- numbers ---
const grouped = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const SCALES = {nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
	bytes: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]};

function amount(n, unit) {
	const scales = SCALES[unit];
	if (!scales) return grouped(n);
	const [scale, name] = scales.find(([s]) => Math.abs(n) >= s) || scales[scales.length - 1], x = n / scale;
	const text = x >= 1000 ? grouped(x) : scale === 1 ? String(x) : x.toFixed(x < 10 ? 2 : 1);
	return text + " " + name;
}

const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + "%";
const points = (x) => (x < 0 ? "−" : x > 0 ? "+" : "") + Math.abs(100 * x).toFixed(2);
const plural = (n, one, many) => grouped(n) + " " + (n === 1 ? one : many || one + "s");

// --- elements ---
const byId = (id) => document.getElementById(id);

// make("button", {class: "x", type: "button"}, "text" or element...)
function make(name, attributes, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (typeof value === "function") e.addEventListener(key, value);
		else if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children);
	return e;
}
// A name from the profile: isolated, so that right-to-left letters do not move what stands beside it. Of a place without
// a name the offset stays where there is no room for all.
function named(name, attributes) {
	const [, library, offset] = /^(.+)(\+0x[0-9a-f]+)$/.exec(name) || [];
	return offset ? make("bdi", {class: "place", ...attributes}, make("span", {}, library), offset) : make("bdi", attributes, name);
}

// New content in a place: what had the focus has it again, and the place stays scrolled as it was.
const labelOf = (e) => e.getAttribute("aria-label") || e.textContent;
function replace(place, ...children) {
	const active = document.activeElement, label = active !== place && place.contains(active) ? labelOf(active) : null;
	const {scrollTop, scrollLeft} = place;
	place.replaceChildren(...children);
	place.scrollTop = scrollTop;
	place.scrollLeft = scrollLeft;
	const again = label !== null && [...place.querySelectorAll("button, select")].find((e) => labelOf(e) === label);
	if (again) again.focus({preventScroll: true});
}

// --- colours ---
const channels = (c) => [c >> 16 & 255, c >> 8 & 255, c & 255];
const css = (rgb) => "rgb(" + rgb.map(Math.round).join(",") + ")";
const mix = (a, b, part) => a.map((x, i) => x * part + b[i] * (1 - part));

const LOOKS = {
	light: {page: [255, 255, 255], plain: [217, 213, 201], note: [226, 226, 229], match: [240, 114, 240],
		text: "#000", dimText: "#3f444d", mark: "rgba(0,0,0,.42)", grown: [214, 74, 52], shrunk: [58, 120, 214],
		same: [222, 222, 224], heat: [47, 91, 183], narrow: [236, 236, 238]},
	dark: {page: [23, 25, 29], plain: [150, 146, 138], note: [138, 141, 147], match: [224, 107, 224],
		text: "#000", dimText: "#c9ccd2", mark: "rgba(0,0,0,.55)", grown: [238, 116, 92], shrunk: [112, 164, 245],
		same: [140, 142, 147], heat: [96, 135, 214], narrow: [44, 47, 54]},
};
const isDark = () => {
	const chosen = document.documentElement.dataset.theme;
	return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const look = () => isDark() ? LOOKS.dark : LOOKS.light;

// Three tones of a library's colour by the function's name, so that neighbours can be told apart.
const TONES = {light: [1, 0.84, 0.68], dark: [1, 0.92, 0.84]};
function toneOf(name) {
	let h = 0;
	for (let i = 0; i < name.length; i++) h = Math.imul(h, 31) + name.charCodeAt(i) | 0;
	return (h >>> 0) % 3;
}
const libraryColour = (library) => channels(library.colours[isDark() ? 1 : 0]);
const swatch = (library) => {
	const e = make("span", {class: "swatch", "aria-hidden": "true"});
	e.style.backgroundColor = css(libraryColour(library));
	return e;
};
