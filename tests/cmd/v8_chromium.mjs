// SPDX-License-Identifier: GPL-2.0-or-later
// Headless chromium with a page that computes, until it has done so many turns.
// node v8_chromium.mjs CHROMIUM PAGE TURNS
import {Browser} from "./chromium.mjs";

const [program, file, turns] = process.argv.slice(2);
const browser = new Browser(program);
const page = await browser.page(800, 600);
await page.open("file://" + file);
const done = await page.run(`untilTurn(${turns})`);
await browser.close();
if (done < turns || page.problems.length) {
	console.log("the page did not do its work:", done, page.problems);
	process.exitCode = 1;
}
