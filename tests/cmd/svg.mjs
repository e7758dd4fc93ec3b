// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph in a browser: node svg.mjs CHROMIUM DIRECTORY-OF-GOLDEN-FILES [FILE-TO-LOAD-AS-WELL...]
// What is expected of svg-demo.svg is worked out here from svg-demo.stacks. Prints a line a check; exit code 1 if any failed.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import {Browser} from "./chromium.mjs";

const [program, data, ...others] = process.argv.slice(2);
const url = (name) => String(pathToFileURL(data + "/" + name));
const rows = readFileSync(data + "/svg-demo.stacks", "utf8").trim().split("\n").map((line) => {
	const [value, comm, user, kernel] = line.split("\t");
	const frames = [user.replace(/^~/, ""), kernel].flatMap((s) => s ? s.split(";") : []);
	return {value: Number(value), cut: user[0] === "~", frames: frames.map((f) => f.replace(/^\?/, "").split("`")), comm};
});
const total = rows.reduce((sum, r) => sum + r.value, 0);
const share = (test, of = total) => (100 * rows.filter(test).reduce((s, r) => s + r.value, 0) / of).toFixed(2) + "%";

let failed = 0;
function check(what, got, wanted) {
	const ok = wanted instanceof RegExp ? wanted.test(got) : JSON.stringify(got) === JSON.stringify(wanted);
	console.log((ok ? "ok " : "FAILED ") + what + (ok ? "" : ": " + JSON.stringify(got) + ", wanted " + wanted));
	failed += !ok;
}

// Frames but the last of a row end half a pixel before their neighbour.
// Helpers inside the page.
const inPage = `
	const all = () => [...document.querySelectorAll("#frames > g")];
	const shown = () => all().filter((g) => !g.classList.contains("off"));
	const named = (name) => all().find((g) => g.firstChild.textContent.split("\\n")[0] === name);
	const box = (e) => e.getBoundingClientRect();
	const middle = (e) => { const b = box(e); return [b.x + Math.min(b.width / 2, 40), b.y + b.height / 2]; };
	const found = () => document.querySelector(".tools b").textContent;
	const button = (text) => [...document.querySelectorAll("button")].find((b) => b.textContent.startsWith(text));
`;
const browser = new Browser(program);
const page = await browser.page(1200, 800);
const run = (code) => page.run("(() => {" + inPage + "return " + code + "})()");
const click = async (code) => page.click(...await run("middle(" + code + ")"));
// For what comes after a while: at most 5 seconds.
async function eventually(what, code, wanted) {
	let got;
	for (let i = 0; i < 100; i++) {
		got = await run(code);
		if (JSON.stringify(got) === JSON.stringify(wanted)) break;
		await new Promise((done) => setTimeout(done, 50));
	}
	check(what, got, wanted);
}

// Nothing overlaps: labels end inside their frames, frames lie over their parents, the legend ends above the frames.
async function checkPicture(what) {
	check(what + ": labels stay in their frames", await run(`shown().filter((g) => {
		const t = g.querySelector("text"), r = box(g.querySelector("rect"));
		return t && t.textContent && (box(t).right > r.right + 0.6 || box(t).left < r.left);
	}).map((g) => g.textContent)`), []);
	check(what + ": frames of a row do not overlap", await run(`(() => {
		const rows = new Map();
		for (const g of shown()) {
			const b = box(g.querySelector("rect"));
			rows.set(b.y, [...rows.get(b.y) || [], b]);
		}
		return [...rows.values()].flatMap((row) => row.sort((a, b) => a.x - b.x)
			.filter((b, i) => i && b.x < row[i - 1].right - 0.2)).length;
	})()`), 0);
	check(what + ": the legend ends above the frames",
		await run(`box(document.querySelector(".legend")).bottom <=
			Math.min(...shown().map((g) => box(g.querySelector("rect")).top)) || scrollY > 0`), true);
	check(what + ": nothing is wider than the window", await run("document.documentElement.scrollWidth <= innerWidth"), true);
}

// Every path from the root to a frame, with its value, as the rows give it.
function pathsOf() {
	const paths = {};
	for (const r of rows) {
		const path = ["all", r.comm, ...(r.cut ? ["[truncated]"] : []), ...r.frames.map(([, name]) => name)];
		for (let i = 1; i <= path.length; i++) {
			const key = path.slice(0, i).join(" ; ");
			paths[key] = (paths[key] || 0) + r.value;
		}
	}
	return Object.entries(paths).map(([path, value]) => path + " = " + value).sort();
}

async function testLoad() {
	await page.open(url("svg-demo.svg"));
	check("every path has its value", await run(`(() => {
		const path = [];
		return all().map((g, i) => {
			path.length = D[2 * i];
			path.push(g.firstChild.textContent.split("\\n")[0]);
			return path.join(" ; ") + " = " + D[2 * i + 1];
		}).sort();
	})()`), pathsOf());
	check("title", await page.run("document.title"), "Demo");
	check("frames", await run("shown().length"), await run("D.length / 2"));
	check("the root is as wide as the window", await run(`Math.round(box(named("all").querySelector("rect")).width)`), 1180);
	await checkPicture("1200 px");
	await page.resize(420, 700);
	await eventually("the root follows the window", `Math.round(box(named("all").querySelector("rect")).width)`, 400);
	await checkPicture("420 px");
	await page.resize(1200, 300);
	await eventually("and again", `Math.round(box(named("all").querySelector("rect")).width)`, 1180);
	await page.run("scrollTo(0, 1e6)");
	await eventually("the bar stays in sight", `scrollY > 200 && Math.round(box(document.querySelector(".bar")).top)`, 0);
	await page.resize(1200, 800);
}

async function testZoom() {
	const python = rows.filter((r) => r.comm === "python3").reduce((s, r) => s + r.value, 0);
	await page.open(url("svg-demo.svg"));
	await click(`named("deflate")`);
	const width = (name) => run(`Math.round(box(named("${name}").querySelector("rect")).width)`);
	const hash = await page.run("location.hash");
	check("zoom is in the address", hash, /^#z=[0-9a-z]+\.[0-9a-z]+$/);
	check("the zoomed frame is as wide as the window", await width("deflate"), 1180);
	check("its ancestors too", await width("python3"), 1180);
	check("and are marked", await run(`named("python3").classList.contains("past")`), true);
	check("others are gone", await run(`[named("openssl"), named("main")].map((g) => box(g).width)`), [0, 0]);
	check("a child takes its share", await width("crc32_z"), Math.round(61 / 271 * 1180 - 0.5));
	check("labels are cut anew", await run(`named("crc32_z").querySelector("text").textContent`), "crc32_z");
	await checkPicture("zoomed");
	await click(`named("python3")`);
	check("a click on an ancestor", await width("python3"), 1180);
	check("what was zoomed is a part again", await width("deflate"), Math.round(271 / python * 1180 - 0.5));
	await page.run("history.back()");
	await eventually("back", `[location.hash, Math.round(box(named("deflate").querySelector("rect")).width)]`, [hash, 1180]);
	await page.run("history.back()");
	await eventually("back to the whole", `[location.hash, box(named("openssl")).width > 100]`, ["", true]);
	await page.run("history.forward()");
	await eventually("forward", `Math.round(box(named("deflate").querySelector("rect")).width)`, 1180);
	await page.key("Escape");
	check("Escape", await run(`box(named("openssl")).width > 100`), true);
	await page.open(url("svg-demo.svg") + hash);
	check("an address with a zoom", await width("deflate"), 1180);
	await click(`button("Reset")`);
	check("reset", [await page.run("location.hash"), await run(`box(named("openssl")).width > 100`)], ["", true]);
	await page.open(url("svg-demo.svg") + "#z=no.such&s=");
	check("an unknown zoom is the whole", await width("all"), 1180);
}

async function testSearch() {
	const has = (re) => (r) => r.frames.some(([, name]) => re.test(name));
	await page.open(url("svg-demo.svg"));
	await page.key("/");
	await page.type("encoder");
	check("nested matches count once", await run("found()"), "Matched: " + share(has(/encoder/)));
	check("matches are marked", await run(`all().filter((g) => g.classList.contains("match")).length`), 3);
	check("search is in the address", await page.run("location.hash"), "#s=encoder");
	await page.key("Escape");
	check("Escape clears it", [await run("found()"), await page.run("location.hash")], ["", ""]);
	await page.key("f", 2);
	await page.type("^PY.*");
	check("upper and lower case are alike", await run("found()"), "Matched: " + share(has(/^PY.*/i)));
	await page.key("i", 2);
	check("Ctrl-I matches case", await run("found()"), "Matched: 0.00%");
	check("and is in the address", await page.run("new URLSearchParams(location.hash.slice(1)).get('c')"), "1");
	await page.key("i", 2);
	await click(`named("xz")`);
	check("matches in what is zoomed", await run("found()"), "Matched: " + share(has(/^PY.*/i)) + ", 0.00% of this");
	const address = await page.run("location.href");
	await page.open(address);
	check("an address with a search", [await run("found()"), await run("document.querySelector('input').value")],
		["Matched: " + share(has(/^PY.*/i)) + ", 0.00% of this", "^PY.*"]);
	// What html and the tables say of each function, and nothing for the root, which is no name.
	const names = [...new Set(rows.flatMap((r) => r.frames.map(([, name]) => name)))], wrong = [];
	for (const pattern of ["a", "al", ...names.map((n) => "^" + n.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&") + "$")]) {
		await run(`(() => { const i = document.querySelector("input"); i.value = ${JSON.stringify(pattern)}; i.dispatchEvent(new Event("input")); })()`);
		const re = new RegExp(pattern, "ui"), got = await run("found()");
		const wanted = "Matched: " + share((r) => re.test(r.comm) || (r.cut && re.test("[truncated]")) || has(re)(r));
		if (!got.startsWith(wanted)) wrong.push([pattern, got, wanted]);
	}
	check(`counts of ${names.length} functions are those of the rows`, wrong, []);
	await page.open(url("svg-demo.svg") + "#s=lib:crypto%7Clibz");
	check("libraries by expression", await run("found()"),
		"Matched: " + share((r) => r.frames.some(([library]) => /crypto|libz/.test(library))));
	await page.open(url("svg-demo.svg") + "#s=" + encodeURIComponent("(["));
	check("no regular expression", await run("found()"), "not a regular expression");
	check("one typed step in the history", await page.run(`(() => {
		const before = history.length, input = document.querySelector("input");
		for (const s of ["a", "ab", "abc"]) {
			input.value = s;
			input.dispatchEvent(new Event("input"));
		}
		return history.length - before;
	})()`), 0);
}

async function testLibraries() {
	const self = share((r) => r.frames.at(-1)[0] === "libcrypto.so.3");
	const some = share((r) => r.frames.some(([library]) => library === "libcrypto.so.3"));
	await page.open(url("svg-demo.svg"));
	check("the legend has the heaviest first", await run(`button("libcrypto").textContent`), "libcrypto.so.3 " + self);
	check("the kernel stands there once", await run(`[...document.querySelectorAll(".legend > *")].filter((e) => /kernel/.test(e.textContent)).length`), 1);
	await click(`button("libcrypto")`);
	check("its share", await run("found()"), `libcrypto.so.3: self ${self}, total ${some}`);
	check("all others are dimmed", await run(`[named("EVP_Digest"), named("deflate")].map((g) => g.className.baseVal)`),
		["", "other"]);
	check("the button is down", await run(`button("libcrypto").getAttribute("aria-pressed")`), "true");
	check("library in the address", await page.run("location.hash"), "#l=libcrypto.so.3");
	await click(`button("libcrypto")`);
	check("once more ends it", await run(`[found(), location.hash, named("deflate").className.baseVal]`), ["", "", ""]);
	const fills = await run(`["EVP_Digest", "deflate", "vfs_read"].map((n) => getComputedStyle(named(n).querySelector("rect")).fill)`);
	check("libraries differ in colour", new Set(fills).size, 3);
	check("the kernel's frames are marked", await run(`named("vfs_read").querySelector("rect").classList.contains("k")`), true);
	check("guessed frames are dashed",
		await run(`getComputedStyle(named("Builtin:ArrayMap").querySelector("rect")).strokeDasharray`), "3px, 2px");
}

async function testDetails() {
	const about = () => run(`[...document.querySelectorAll(".about div")].map((d) => d.textContent)`);
	await page.open(url("svg-demo.svg"));
	check("the whole", await about(), /866 samples, \d+ frames/);
	await page.hover(...await run(`middle(named("crc32_z"))`));
	const [name, facts] = await about();
	check("name", name, "crc32_z");
	check("details", facts,
		new RegExp(`^61 samples, ${share(has("crc32_z"))} of all · 22.51% of its parent · libz.so.1.2.13 \\(build id [0-9a-f]{12}\\)$`));
	check("tooltip", await run(`named("crc32_z").firstChild.textContent.split("\\n").length`), 4);
	await page.hover(...await run(`middle(named("Builtin:ArrayMap"))`));
	check("guessed is said", (await about())[1], /guessed frame$/);
	await page.run(`document.querySelector("#frames > g").focus()`);
	for (const key of ["ArrowUp", "ArrowRight", "ArrowUp"]) await page.key(key);
	const at = () => page.run(`document.activeElement.firstChild.textContent.split("\\n")[0]`);
	check("arrow keys", await at(), "ret_from_fork");
	await page.key("Enter");
	check("Enter zooms", await run(`Math.round(box(named("ret_from_fork").querySelector("rect")).width)`), 1180);
	await page.key("ArrowDown");
	check("arrow down", await at(), "kworker/0:1");
}
const has = (wanted) => (r) => r.frames.some(([, name]) => name === wanted);

// A difference: what is worked out here is from the lines NEW,OLD of svg-diff.stacks.
async function testDiff() {
	const both = readFileSync(data + "/svg-diff.stacks", "utf8").trim().split("\n").filter((line) => line[0] != "#").map((line) => {
		const [values, comm, user, kernel = ""] = line.split("\t"), [now, old] = values.split(",").map(Number);
		return {now, old, comm, frames: [user, kernel].flatMap((s) => s.split(";")).map((f) => f.replace(/^.*`/, ""))};
	});
	const of = (rows, which) => rows.reduce((sum, r) => sum + r[which], 0);
	const part = (rows, which) => 100 * of(rows, which) / of(both, which);
	const change = (rows) => {
		const [now, old] = [part(rows, "now"), part(rows, "old")], size = Math.abs(now - old).toFixed(2);
		return `${now.toFixed(2)}%, was ${old.toFixed(2)}%: ${now < old ? "−" : "+"}${size} pp`;
	};
	const fill = (name) => run(`getComputedStyle(named("${name}").querySelector("rect")).fill.match(/\\d+/g).map(Number)`);
	await page.open(url("svg-diff.svg"));
	await checkPicture("difference");
	check("both sums", await run(`document.querySelector(".about").textContent`), /^900 samples, was 1,026 samples, 100 frames/);
	const [red, blue, grey] = [await fill("libcrypto.so.3+0x29db40"), await fill("libz.so.1.2.13+0x2f10"), await fill("main")];
	check("more is red, less is blue, the same is grey", [red[0] - red[2] > 60, blue[2] - blue[0] > 60, new Set(grey).size], [true, true, 1]);
	check("the kernel's frames are marked", await run(`getComputedStyle(named("vfs_read").querySelector("rect")).strokeWidth`), "1px");
	check("the legend says what the colours mean", await run(`[...document.querySelectorAll(".legend > span")].map((e) => e.textContent)`),
		["less: −8.83 pp", "−4.42 pp", "the same, or within noise", "+4.42 pp", "more: +8.83 pp", "kernel frame", "guessed frame", "stack not whole"]);
	check("frames that are gone are not seen", await run(`[named("lzma_crc32"), named("gone")].map((g) => box(g).width)`), [0, 0]);
	await page.hover(...await run(`middle(named("crc32_z"))`));
	const crc32 = both.filter((r) => r.frames.includes("crc32_z"));
	check("details have both", await run(`document.querySelector(".about").textContent`),
		new RegExp(`^crc32_z61 samples, 6\\.78%, was 80 samples, 7\\.80%: −1\\.02 pp; self ${change(crc32)} · `));
	await page.key("/");
	await page.type("crc");
	check("a search counts what is gone", await run("found()"), "Matched: " + change(both.filter((r) => /crc/.test(r.frames))));
	await click(`named("xz")`);
	check("zoom", await run(`Math.round(box(named("xz").querySelector("rect")).width)`), 1180);
	check("a search in what is zoomed", await run("found()"), /; 27\.87%, was 34\.29%: −6\.42 pp of this$/);
	await page.open(url("svg-diff.svg") + "#z=" + await run("(() => { named('xz').dispatchEvent(new MouseEvent('click', {bubbles: true})); return location.hash.slice(3); })()"));
	check("an address with a zoom", await run(`Math.round(box(named("xz").querySelector("rect")).width)`), 1180);
	await click(`button("Reset")`);
	await click(`button("libz.so")`);
	check("a library's share", await run("found()"), /^libz\.so\.1\.2\.13: self 30\.11%, was 39\.96%: −9\.85 pp; total /);
}

async function testIcicle() {
	await page.open(url("svg-diff-icicle.svg"));
	await checkPicture("icicle");
	check("the root is at the top", await run(`box(all()[0]).top < Math.min(...shown().slice(1).map((g) => box(g).top))`), true);
	check("above the leaves", await run(`box(named("deflate")).top > box(named("libz.so.1.2.13+0x2f10")).top`), true);
	await page.run(`document.querySelector("#frames > g").focus()`);
	const at = () => page.run(`document.activeElement.firstChild.textContent.split("\\n")[0]`);
	for (const key of ["ArrowDown", "ArrowDown"]) await page.key(key);
	check("arrow down goes on", await at(), "LazyCompile:*handle server.js:12");
	await page.key("ArrowUp");
	check("arrow up goes back", await at(), "Builtin:ArrayMap");
}

async function testDark() {
	const light = (rgb) => rgb.match(/\d+/g).slice(0, 3).reduce((s, c) => s + Number(c), 0) > 382;
	const look = async () => [await run("getComputedStyle(document.documentElement).backgroundColor"),
		await run("getComputedStyle(document.querySelector('.about')).color"),
		await run("getComputedStyle(named('deflate').querySelector('rect')).fill")];
	await page.open(url("svg-demo.svg"));
	const day = await look();
	await page.dark(true);
	const night = await look();
	await page.dark(false);
	check("light page, dark text", day.slice(0, 2).map(light), [true, false]);
	check("dark page, light text", night.slice(0, 2).map(light), [false, true]);
	check("libraries' colours change with the page", day[2] !== night[2], true);
}

// As a picture in a page, where no script runs: the frames that the view itself drew.
async function testWithoutScripts() {
	await page.scripts(false);
	await page.open(url("svg-demo.svg"));
	const {root} = await page.send("DOM.getDocument");
	const query = async (selector) => (await page.send("DOM.querySelectorAll", {nodeId: root.nodeId, selector})).nodeIds;
	check("no script ran", (await query("foreignObject")).length, 0);
	check("frames are there", (await query("#frames > g")).length, 98);
	const boxes = [];
	for (const nodeId of [...await query("#legend rect"), ...await query("#frames rect")])
		boxes.push((await page.send("DOM.getBoxModel", {nodeId})).model.content);
	check("and inside the picture", boxes.every((b) => b[0] >= 9 && b[2] <= 1192), true);
	await page.scripts(true);
}

async function testHostile() {
	await page.open(url("svg-hostile.svg"));
	await page.key("/");
	await page.type("x");
	await click(`button("]]>")`);
	await page.hover(...await run(`middle(all()[5])`));
	check("no name became a script", await page.run("typeof window.owned"), "undefined");
	check("or an element", await page.run(`[...new Set([...document.querySelectorAll("*")].map((e) => e.localName))].sort()`),
		["b", "button", "div", "foreignObject", "g", "h1", "input", "meta", "p", "rect", "script", "span", "style", "svg", "text",
			"title"]);
	check("or a handler", await page.run(`[...document.querySelectorAll("*")].flatMap((e) => [...e.attributes])
		.filter((a) => /^on|href|src/.test(a.name)).length`), 0);
	check("the title is text", await page.run("document.querySelector('h1').textContent"), "</title><script>owned=1</script>");
	check("names are whole", await run(`Boolean(named("</script><script>window.owned=1</script>") && named("a\\\\x0ab\\\\x0dc\\\\x09d"))`),
		true);
	await page.open(url("svg-empty.svg"));
	check("no samples", await page.run("document.getElementById('empty').textContent"), "There were no samples.");
}

// Where the root is in the window, from its lower edge; what is seen of the frames is at least half of what fits.
const seen = `(() => {
	const tops = shown().map((g) => box(g.querySelector("rect"))).filter((b) => b.bottom > box(document.querySelector(".bar")).bottom && b.top < innerHeight);
	return [Math.round(innerHeight - box(all()[0].querySelector("rect")).bottom), new Set(tops.map((b) => b.top)).size * 17 > innerHeight / 4];
})()`;

// Stacks 300 deep: what lies above and is left out, or comes back, does not move what one looks at.
async function testDeep(file) {
	await page.resize(1200, 600);
	await page.open(String(pathToFileURL(file)));
	const whole = await run(seen);
	await click(`all().find((g) => g.firstChild.textContent.startsWith("std::vector"))`);
	await eventually("a zoom to few rows", "shown().length < 10", true);
	for (const [how, act] of [["Escape", () => page.key("Escape")], ["Reset", () => click(`button("Reset")`)], ["back", () => page.run("history.back()")]]) {
		if (how !== "Escape") await click(`all().find((g) => g.firstChild.textContent.startsWith("std::vector"))`);
		await act();
		await eventually(how + " leads back to where the frames are", seen, whole);
	}
	check("there are some", whole[1], true);
	await page.resize(1200, 800);
}

// More frames than a browser shows in a moment: the narrow ones are left out, and that is said, by a search, too.
async function testMany(file) {
	await page.open(String(pathToFileURL(file)));
	check("not more than 10,000 frames", await run("all().length > 1000 && all().length <= 10000"), true);
	check("what is left out is said", await run(`[...document.querySelectorAll(".ui p")].map((p) => p.textContent).join(" ")`),
		/Not drawn: [\d,]{6,} frames narrower than [\d.]+ of 1,200 px, together [\d.]+% of the whole/);
	await page.key("/");
	await page.type("shared");
	check("and that it was not searched", await run("found()"), /^Matched: 100\.00% \(not searched: [\d.]+%, too narrow\)$/);
}

// What is too narrow to be drawn is counted by a search as the tables count it.
async function testFew(file) {
	await page.open(String(pathToFileURL(file)));
	check("two frames, all and the thread are drawn", await run("all().length"), 3);
	check("what is not drawn is said", await run(`[...document.querySelectorAll(".ui p")].map((p) => p.textContent).join(" ")`),
		/Not drawn: 9,000 frames narrower than 0\.1 of 1,200 px, together 2\.91% of the whole; a search counts them/);
	for (const [what, of] of [["memcpy", 3000], ["^light_1..$", 100], ["light", 3000], ["lib:lib3", 333], ["nothing", 0], ["^heavy$|memcpy", 103000]]) {
		await page.open(String(pathToFileURL(file)) + "#s=" + encodeURIComponent(what));
		await eventually("matches of " + what, "found()", "Matched: " + (100 * of / 103000).toFixed(2) + "%");
	}
	await click(`all()[2]`);
	await page.key("/");
	await page.type("memcpy");
	await eventually("in what is zoomed, too", "found()", "Matched: 2.91%, 2.91% of this");
}

async function testPhone() {
	await page.resize(390, 800);
	await page.open(url("svg-demo.svg"));
	await eventually("on a phone bar and legend leave most of the window", `box(document.querySelector(".legend")).bottom - box(document.querySelector(".bar")).top < 170`, true);
	check("and the legend is not cut at the right", await run(`[...document.querySelectorAll(".legend > *")].filter((e) => box(e).right > innerWidth).length`), 0);
	await checkPicture("390 px");
	await page.open(url("svg-diff.svg"));
	check("nor its controls, of a difference either", await run(`[...document.querySelectorAll(".bar *")].filter((e) => box(e).right > innerWidth).length`), 0);
	await page.send("Emulation.setDeviceMetricsOverride", {width: 390, height: 800, deviceScaleFactor: 2, mobile: true});
	await page.open(url("svg-demo.svg"));
	check("which shows it at its own width", await run("innerWidth"), 390);
	await page.resize(1200, 800);
}

async function testOthers() {
	await testDeep(others[0]);
	await testMany(others[1]);
	await testFew(others[2]);
	for (const file of others) {
		const before = Date.now();
		await page.open(String(pathToFileURL(file)));
		check(file + " is laid out", await run("shown().length > 0 && document.querySelectorAll('.bar').length"), 1);
		console.log(`   ${await run("all().length")} frames in ${Date.now() - before} ms`);
	}
}

try {
	for (const test of [testLoad, testZoom, testSearch, testLibraries, testDetails, testDiff, testIcicle, testDark, testPhone, testWithoutScripts, testHostile,
		testOthers]) await test();
	check("no errors, no dialogs", page.problems, []);
	check("nothing is loaded but the file", page.requests.filter((u) => !/^(file:|about:)/.test(u)), []);
} catch (e) {
	console.log("FAILED " + e.stack);
	failed++;
} finally {
	await browser.close();
}
process.exit(failed ? 1 : 0);
