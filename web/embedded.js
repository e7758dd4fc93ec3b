// SPDX-License-Identifier: GPL-2.0-or-later
// embedded.js: the report as one file: its data stand in the page.

function begin() {
	try {
		data = readData(JSON.parse(byId("data").textContent));
	} catch (e) {
		byId("broken").textContent = "This report cannot be shown: " + e.message + ".";
		byId("broken").hidden = false;
		return;
	}
	if (data.choices[data.choice].old >= 0) START.sort = "-change";
	state = readState();
	byId("app").hidden = false;
	byId("title").textContent = data.title;
	byId("subtitle").textContent = byId("subtitle").title = data.subtitle;
	byId("value").append(...data.choices.map((c, i) => make("option", {value: i}, c.name + (c.old >= 0 ? ", old and new" : ""))));
	makeViews();
	listen();
	render();
	performance.mark("ready");
}
begin();
