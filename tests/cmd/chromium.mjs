// SPDX-License-Identifier: GPL-2.0-or-later
// Headless Chromium, driven by its DevTools protocol over a pair of pipes: nothing but node and the browser is needed,
// and no port is opened. Real input events, so that what lies on top gets the click.
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
	"--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars",
	"--disable-dev-shm-usage", "--force-color-profile=srgb", "--remote-debugging-pipe"];

export class Browser {
	constructor(program) {
		this.dir = mkdtempSync(join(tmpdir(), "soprof-chromium-"));
		this.child = spawn(program, [...FLAGS, "--user-data-dir=" + this.dir, "about:blank"],
			{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
		this.waiting = new Map();
		this.last = 0;
		this.listeners = [];
		let rest = Buffer.alloc(0);
		this.child.stdio[4].on("data", (bytes) => {
			rest = Buffer.concat([rest, bytes]);
			for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1))
				this.receive(JSON.parse(rest.subarray(0, end).toString()));
		});
		this.gone = new Promise((done) => this.child.on("exit", done));
		this.gone.then(() => {
			for (const {reject} of this.waiting.values()) reject(new Error("chromium ended"));
		});
	}

	receive(message) {
		const {resolve, reject} = this.waiting.get(message.id) || {};
		if (!message.id) this.listeners.forEach((f) => f(message));
		else if (message.error) reject(new Error(message.error.message));
		else resolve(message.result);
		this.waiting.delete(message.id);
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.last;
		this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + "\0");
		return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
	}

	async page(width, height) {
		const {targetId} = await this.send("Target.createTarget", {url: "about:blank"});
		const {sessionId} = await this.send("Target.attachToTarget", {targetId, flatten: true});
		const page = new Page(this, sessionId);
		for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(domain + ".enable");
		await page.resize(width, height);
		return page;
	}

	async close() {
		await this.send("Browser.close").catch(() => {});
		await this.gone;
		rmSync(this.dir, {recursive: true, force: true, maxRetries: 5});
	}
}

class Page {
	constructor(browser, session) {
		this.browser = browser;
		this.session = session;
		this.problems = []; // exceptions, errors in the log, dialogs
		this.requests = []; // every address asked for
		browser.listeners.push((m) => m.sessionId === session && this.note(m));
	}

	note({method, params}) {
		if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description);
		if (method === "Log.entryAdded") this.problems.push(params.entry.text);
		if (method === "Page.javascriptDialogOpening") this.problems.push("dialog: " + params.message);
		if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
		if (method === "Page.loadEventFired") this.loaded?.();
	}

	send(method, params) {
		return this.browser.send(method, params, this.session);
	}

	resize(width, height) {
		return this.send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
	}

	dark(on) {
		return this.send("Emulation.setEmulatedMedia",
			{features: [{name: "prefers-color-scheme", value: on ? "dark" : "light"}]});
	}

	scripts(on) {
		return this.send("Emulation.setScriptExecutionDisabled", {value: !on});
	}

	async navigate(url) {
		const loaded = new Promise((done) => (this.loaded = done));
		const {errorText} = await this.send("Page.navigate", {url});
		if (errorText) throw new Error(url + ": " + errorText);
		await loaded;
	}

	// By way of an empty page, so that the same file with a new fragment is a new page.
	async open(url) {
		await this.navigate("about:blank");
		await this.navigate(url);
	}

	async run(expression) {
		const r = await this.send("Runtime.evaluate", {expression, returnByValue: true, awaitPromise: true});
		if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception.description);
		return r.result.value;
	}

	async click(x, y) {
		for (const type of ["mouseMoved", "mousePressed", "mouseReleased"])
			await this.send("Input.dispatchMouseEvent",
				{type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1});
	}

	hover(x, y) {
		return this.send("Input.dispatchMouseEvent", {type: "mouseMoved", x, y});
	}

	// key: "Escape", "f" ...; modifiers: 2 is Ctrl.
	async key(key, modifiers = 0) {
		const text = key.length === 1 && !modifiers ? key : undefined;
		for (const type of ["keyDown", "keyUp"])
			await this.send("Input.dispatchKeyEvent", {type, key, text, modifiers,
				windowsVirtualKeyCode: /^[a-z0-9]$/i.test(key) ? key.toUpperCase().charCodeAt(0) : undefined});
	}

	async type(text) {
		for (const c of text) await this.key(c);
	}

	async screenshot(whole) {
		const r = await this.send("Page.captureScreenshot", {format: "png", captureBeyondViewport: Boolean(whole)});
		return Buffer.from(r.data, "base64");
	}
}
