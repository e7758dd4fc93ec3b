// SPDX-License-Identifier: GPL-2.0-or-later
// Our outputs in speedscope: node speedscope.mjs CHROMIUM RELEASE DIRECTORY [FILE-TO-CHECK-AS-WELL...]
// speedscope draws on a canvas, so what it has read is taken from its own export (Ctrl-S). What it must be is worked out
// from fixture.folded, which flamegraph.pl's rule takes apart. Prints a line a check; exit code 1 if any failed.
import {readFileSync, writeFileSync} from "node:fs";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {Browser} from "../cmd/chromium.mjs";

const [program, release, directory, ...others] = process.argv.slice(2).map((p) => resolve(p));
const pictures = process.env.SOPROF_PICTURES;
const PERIOD = 10101010;

let failed = 0;
function check(what, problems) {
	console.log((problems.length ? "FAILED " : "ok ") + what);
	for (const p of problems.slice(0, 5)) console.log("  " + p);
	failed += problems.length > 0;
}

// --- JSON schema: the keywords that speedscope's uses; any other is an error ----------------------------------------
const root = JSON.parse(readFileSync(join(release, "file-format-schema.json"), "utf8"));
const IS = {string: (v) => typeof v === "string", number: (v) => typeof v === "number", array: Array.isArray,
	object: (v) => v !== null && typeof v === "object" && !Array.isArray(v)};
const KEYWORDS = {
	$schema: () => [], title: () => [], definitions: () => [],
	$ref: (ref, v, at) => validate(root.definitions[ref.replace("#/definitions/", "")], v, at),
	type: (type, v, at) => IS[type](v) ? [] : [`${at} is no ${type}`],
	const: (wanted, v, at) => v === wanted ? [] : [`${at} is not ${wanted}`],
	enum: (wanted, v, at) => wanted.includes(v) ? [] : [`${at} is none of ${wanted}`],
	required: (keys, v, at) => keys.filter((k) => !(k in v)).map((k) => `${at} has no ${k}`),
	properties: (all, v, at) => Object.keys(all).flatMap((k) => k in v ? validate(all[k], v[k], at + "." + k) : []),
	items: (schema, v, at) => v.flatMap((x, i) => validate(schema, x, `${at}[${i}]`)),
	anyOf: (all, v, at) => {
		const tries = all.map((schema) => validate(schema, v, at));
		return tries.find((problems) => !problems.length) || tries.at(-1);
	},
};
function validate(schema, value, at) {
	if (schema.type && !IS[schema.type](value)) return [`${at} is no ${schema.type}`];
	return Object.keys(schema).flatMap((k) => KEYWORDS[k](schema[k], value, at));
}

// --- stacks and weights ---------------------------------------------------------------------------------------------
// The bytes that a name stands for, one character each, so that all formats' encodings compare.
const plain = (s) => Buffer.from(s).toString("latin1")
	.replace(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
const key = (names) => JSON.stringify(names.map(plain));
const add = (map, stack, n) => map.set(stack, (map.get(stack) || 0) + n);

function folded(cut) {
	const stacks = new Map();
	for (const line of readFileSync(join(directory, "fixture.folded"), "utf8").trimEnd().split("\n")) {
		const [, stack, n] = /^(.*)\s+(\d+(?:\.\d*)?)$/.exec(line);
		const names = cut(stack.split(";"));
		add(stacks, key(names), Number(n));
	}
	return stacks;
}

// A profile of speedscope's export: sampled, or open and close events.
function stacksOf(profile, frames) {
	const stacks = new Map(), open = [];
	let last = profile.startValue;
	const name = (i) => frames[i].name;
	profile.samples?.forEach((s, i) => add(stacks, key(s.map(name)), profile.weights[i]));
	for (const e of profile.events || []) {
		if (e.at > last) add(stacks, key(open.map(name)), e.at - last);
		last = e.at;
		if (e.type === "O") open.push(e.frame);
		else open.pop();
	}
	return stacks;
}

function differences(got, wanted, scale, slack) {
	const problems = [];
	for (const stack of new Set([...got.keys(), ...wanted.keys()])) {
		const g = got.get(stack) || 0, w = (wanted.get(stack) || 0) * scale;
		if (Math.abs(g - w) > slack) problems.push(`${stack}: ${g}, wanted ${w}`);
	}
	return wanted.size ? problems : ["nothing to compare with"];
}

// --- the page -------------------------------------------------------------------------------------------------------
const browser = new Browser(program);
const page = await browser.page(1200, 800);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
browser.listeners.push((m) => m.method === "Page.javascriptDialogOpening" &&
	page.send("Page.handleJavaScriptDialog", {accept: true}));

// What speedscope has made of the file, as its export says it.
async function read(path, name = path.split("/").at(-1)) {
	const source = join(directory, "source.js");
	const bytes = readFileSync(path).toString("base64");
	writeFileSync(source, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${JSON.stringify(bytes)})`);
	page.problems.length = 0;
	await page.open(pathToFileURL(join(release, "index.html")) + "#localProfilePath=" + encodeURIComponent(source));
	await page.run(`window.URL.createObjectURL = (blob) => { window.exported = blob; return "#"; }`);
	for (let i = 0; i < 100; i++) {
		await wait(100);
		await page.key("s", 2);
		if (await page.run("Boolean(window.exported)")) break;
	}
	if (pictures) {
		for (const [view, key] of [["time", "1"], ["left-heavy", "2"], ["sandwich", "3"]]) {
			await page.key(key);
			await wait(300);
			writeFileSync(join(pictures, `${name}-${view}.png`), await page.screenshot());
		}
	}
	check(name + " is read without complaint", page.problems.filter((p) => !/WebGL/.test(p)));
	return JSON.parse(await page.run("window.exported ? window.exported.text() : 'null'") || "null");
}

const all = folded((names) => names);

const own = JSON.parse(readFileSync(join(directory, "fixture.speedscope.json"), "utf8"));
check("the schema holds", validate(root, own, "file"));
check("the schema does not hold for just anything", validate(root, {...own, profiles: [{...own.profiles[0], unit: "ns"}]},
	"file").length ? [] : ["it does"]);
const back = await read(join(directory, "fixture.speedscope.json"));
check("speedscope: samples", differences(stacksOf(back.profiles[0], back.shared.frames), all, 1, 0));
check("speedscope: cpu time", differences(stacksOf(back.profiles[1], back.shared.frames), all, PERIOD, 0.5));
check("speedscope: names, units, files", [
	back.profiles.map((p) => p.name + " " + p.unit).join() !== "samples none,cpu nanoseconds" && "the profiles' names",
	!back.shared.frames.some((f) => f.name === "read" && f.file === "/usr/lib/x86_64-linux-gnu/libc.so.6") && "a file",
].filter(Boolean));

const lines = await read(join(directory, "fixture.folded"));
check("folded", differences(stacksOf(lines.profiles[0], lines.shared.frames), all, 1, 0));

// Threads are labels there; of two values it says that the first one is shown.
const pprof = await read(join(directory, "fixture.pb.gz"));
const bare = folded((names) => names.length > 1 ? names.slice(1) : ["[no stack]"]);
check("pprof: samples", differences(stacksOf(pprof.profiles[0], pprof.shared.frames), bare, 1, 0));

// A profile for each thread, whose time goes from its first sample to its last: half of these two is missing. A thread
// of a single sample weighs 1 there, without a unit; two threads of the fixture have one name, so that stack lacks 1.5.
const perf = await read(join(directory, "fixture.perf"));
const threads = new Map();
for (const p of perf.profiles) {
	const comm = p.name.replace(/ pid: \d+ tid: \d+$/, ""), time = stacksOf(p, perf.shared.frames);
	for (const [stack, seconds] of p.unit === "seconds" ? time : [])
		add(threads, JSON.stringify([plain(comm), ...JSON.parse(stack)]), seconds);
}
check("perf: time of each thread's stacks", differences(threads, all, PERIOD / 1e9, 1.51 * PERIOD / 1e9));
check("perf: as many threads", perf.profiles.length === 7 ? [] : [`${perf.profiles.length}`]);

for (const path of others) {
	const file = JSON.parse(readFileSync(path, "utf8"));
	check(path + ": the schema holds", validate(root, file, "file"));
	const read_back = await read(path);
	check(path + ": every stack", differences(stacksOf(read_back.profiles[0], read_back.shared.frames),
		stacksOf(file.profiles[0], file.shared.frames), 1, 0));
}
await browser.close();
process.exit(failed ? 1 : 0);
