// SPDX-License-Identifier: GPL-2.0-or-later
// A chain of functions of which each is called by one other only: so every stack through them is known.
let total = 0;
const end = Date.now() + Number(process.argv[2]) * 1000;
function fnLeaf(x) { return (x * 31 + 7) | 0; }
function fnLoop(x) { let s = x; for (let i = 0; i < 3; i++) s = fnLeaf(s); return s; }
function fnStep(x) { return fnLoop(x) + 1; }
function fnSum(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + fnStep(i)) | 0; return s; }
function fnMain() { while (Date.now() < end) for (let i = 0; i < 50; i++) total = (total + fnSum(40 + i % 9)) | 0; }
function library() { // V8's own functions, which call back
	const values = Array.from({length: 300}, (_, i) => (i * 7919) % 301).sort((a, b) => a - b);
	const words = values.map(x => `w${x}`).filter(w => /^w(1|2)[0-9]+$/.test(w));
	return JSON.parse(JSON.stringify({words})).words.length + new Map(values.map(x => [x, x])).size;
}
function work() { fnMain(); while (Date.now() < end + 1000 * Number(process.argv[2])) total += library(); }
setImmediate(work);
