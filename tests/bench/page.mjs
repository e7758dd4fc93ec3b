// SPDX-License-Identifier: GPL-2.0-or-later
// How long until the agent's page is drawn: node page.mjs CHROMIUM ADDRESS TIMES FRAGMENT..., ADDRESS as soprof open
// prints it. For each fragment a line: milliseconds from the request for the page until the chart, and until chart and
// flame graph are on the screen, the best of so many times. The first line is the page's size in bytes.
import {Browser} from "../cmd/chromium.mjs";

const [program, address, times, ...fragments] = process.argv.slice(2), [place, token] = address.split("#");
const drawn = `new Promise((done) => {
	const at = (name) => performance.getEntriesByName(name)[0]?.startTime, since = performance.now();
	const look = () => {
		const broken = !document.getElementById("login").hidden || document.getElementById("subtitle").className === "warn";
		if (broken || performance.now() - since > 60000) return done([document.body.innerText]);
		if (!at("tree") || !at("chart")) return requestAnimationFrame(look);
		requestAnimationFrame(() => requestAnimationFrame(() => done([at("chart"), performance.now()])));
	};
	look();
})`;
const browser = new Browser(program), page = await browser.page(1200, 800);
console.log((await (await fetch(place, {headers: {"Accept-Encoding": "identity"}})).arrayBuffer()).byteLength);
for (const fragment of fragments) {
	let best = [Infinity, Infinity];
	for (let i = 0; i < Number(times); i++) {
		await page.open(place + "#" + token + "&" + fragment);
		const got = await page.run(drawn);
		if (got.length < 2) throw new Error(got[0]);
		if (got[1] < best[1]) best = got;
	}
	console.log(best.map((x) => x.toFixed(1)).join(" "));
}
await browser.close();
