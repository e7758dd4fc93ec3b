# SPDX-License-Identifier: GPL-2.0-or-later
"""queries.py DASHBOARD.json METRICS.txt >RULES.yaml: the queries of a dashboard, as rules that promtool can check.

METRICS.txt is a page of /metrics, or lines of names: a query for a name that is not there is an error. So are two panels
with one number, or one on top of another, and a variable that is not defined.
"""
import json
import re
import sys

dashboard = json.load(open(sys.argv[1], encoding="utf-8"))
known = set()
for line in open(sys.argv[2], encoding="utf-8"):
    word = re.match(r"(?:# TYPE )?(soprof_\w+)", line)
    if word:
        known.add(word.group(1))
variables = {v["name"] for v in dashboard["templating"]["list"]} | {"__rate_interval", "__range", "__interval", "__all"}
bad = []
queries = []
for v in dashboard["templating"]["list"]:
    if v["type"] == "query":
        queries.append(re.fullmatch(r"label_values\((.*), \w+\)", v["query"]["query"]).group(1))
queries += [a["expr"] for a in dashboard["annotations"]["list"]]
places = []
for p in dashboard["panels"]:
    g = p["gridPos"]
    for o, other in places:
        if o["x"] < g["x"] + g["w"] and g["x"] < o["x"] + o["w"] and o["y"] < g["y"] + g["h"] and g["y"] < o["y"] + o["h"]:
            bad.append(f"panel '{p['title']}' lies on '{other}'")
    places.append((g, p["title"]))
    if g["x"] + g["w"] > 24:
        bad.append(f"panel '{p['title']}' is too wide")
    refs = [t["refId"] for t in p.get("targets", [])]
    if len(refs) != len(set(refs)):
        bad.append(f"panel '{p['title']}': two queries of one name")
    queries += [t["expr"] for t in p.get("targets", [])]
ids = [p["id"] for p in dashboard["panels"]]
if len(ids) != len(set(ids)):
    bad.append("two panels have one number")
for q in queries:
    for name in re.findall(r"\bsoprof_\w+", q):
        if name not in known:
            bad.append(f"no such metric: {name}")
    for name in re.findall(r"\$\{?(\w+)", q):
        if name not in variables:
            bad.append(f"no such variable: {name}")
print("groups:\n- name: queries\n  rules:")
for i, q in enumerate(queries):
    q = re.sub(r"\$__\w+", "5m", q)
    q = re.sub(r"\$\{?\w+\}?", "x", q)
    print(f"  - record: query:{i}\n    expr: {json.dumps(q)}")
for text in bad:
    print(f"{sys.argv[1]}: {text}", file=sys.stderr)
sys.exit(bool(bad))
