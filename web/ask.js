// SPDX-License-Identifier: GPL-2.0-or-later
// ask.js: questions to the agent that this page is from. The token comes in the address's fragment, which never leaves
// the browser, is taken out of it at once, and kept by the browser.

const TOKEN = "soprof-token";
let token = "";

function takeToken() {
	const q = new URLSearchParams(location.hash.slice(1)), given = q.get("token");
	try {
		if (given) localStorage.setItem(TOKEN, given);
		token = given || localStorage.getItem(TOKEN) || "";
	} catch {
		token = given || token; // a browser that keeps nothing
	}
	if (!given) return;
	q.delete("token");
	history.replaceState(null, "", location.pathname + (String(q) ? "#" + q : ""));
}

function setToken(text) {
	token = text.trim().replace(/^.*token=/, "");
	try {
		localStorage.setItem(TOKEN, token);
	} catch { /* it is good for this page only */ }
}

class Refused extends Error {}

// The answer, or an error with words for people. Parameters that are empty are left out.
async function ask(route, parameters, signal, isFile) {
	const q = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== "" && v !== undefined && v !== 0));
	let answer;
	try {
		answer = await fetch(`api/v1/${route}?${q}`, {headers: token ? {Authorization: "Bearer " + token} : {}, signal, cache: "no-store"});
	} catch (e) {
		if (e.name === "AbortError") throw e;
		throw new Error((isFleet ? "soprof serve" : "the agent") + " does not answer");
	}
	if (answer.status === 401) throw new Refused(token ? (isFleet ? "soprof serve" : "The agent") + " does not know this token." : "");
	if (answer.ok && isFile) return answer.blob();
	const text = await answer.text();
	if (answer.ok) return JSON.parse(text);
	let why = text;
	try {
		why = JSON.parse(text).error || ""; // none: it is some other server's
	} catch { /* it is words already */ }
	throw new Error(visible(`${why}`.trim()) || "status " + answer.status);
}

// Answers that are kept until what they are of changes; `then` is called when a new one has come.
class Asked {
	constructor() {
		this.kept = new Map();
	}

	// The answer, or undefined while it is under way; an error is thrown.
	get(name, route, parameters, make, then) {
		const key = JSON.stringify([route, parameters]), has = this.kept.get(name);
		if (has && has.key === key) {
			if (has.error) throw has.error;
			return has.value;
		}
		if (has) has.control.abort();
		const mine = {key, control: new AbortController(), value: undefined, error: null};
		this.kept.set(name, mine);
		ask(route, parameters, mine.control.signal).then((raw) => (mine.value = make(raw)), (e) => (mine.error = e))
			.then(() => this.kept.get(name) === mine && then());
		return undefined;
	}

	forget() {
		for (const {control} of this.kept.values()) control.abort();
		this.kept.clear();
	}
}
