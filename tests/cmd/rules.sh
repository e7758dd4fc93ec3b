#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# What is installed for others: Prometheus's rules with their cases, and Grafana's dashboard, whose queries promtool reads
# and which asks for metrics only that soprof-metrics(5) tells of.
. "$(dirname "$0")/lib.bash"
tree=${SOPROF_SOURCE:-$(readlink -f "$(dirname "$0")/../..")}
. "$tree/tests/unpack.bash"
command -v python3 >/dev/null || skip "no python3"
unpack prometheus || skip "Debian's package prometheus cannot be fetched"
promtool=$unpacked/prometheus/usr/bin/promtool
what=promtool
"$promtool" check rules "$tree/share/prometheus/soprof.rules.yaml" >"$out" 2>&1 || { cat "$out"; fail "rules without an error"; }
"$promtool" test rules "$tree/tests/data/prometheus/soprof.rules.test.yaml" >"$out" 2>&1 || { cat "$out"; fail "rules that do as the cases say"; }
# a rule nobody has a case for
sed -n 's/^ *- alert: //p' "$tree/share/prometheus/soprof.rules.yaml" | while read -r alert; do
	grep -q "alertname: $alert\$" "$tree/tests/data/prometheus/soprof.rules.test.yaml" || echo "$alert"
done >"$dir/untested"
[ ! -s "$dir/untested" ] || fail "cases of $(tr '\n' ' ' <"$dir/untested")"
# they ask for nothing that is not there
sed -n '/^\*/p' "$tree/man/soprof-metrics.5.scd" | grep -oE '\*soprof_[a-z_]+\*' | tr -d '*' | sort -u >"$dir/names"
grep -oE '\bsoprof_[a-z_]+' "$tree/share/prometheus/soprof.rules.yaml" | grep -vE '^soprof_(cpu|self_cpu)$' | sort -u | comm -23 - "$dir/names" >"$dir/unknown"
[ ! -s "$dir/unknown" ] || fail "metrics of these names: $(tr '\n' ' ' <"$dir/unknown")"
for what in "$tree/share/grafana/soprof.json"; do # page.sh asks what flamegraph.json asks
	/usr/bin/python3 "$tree/tests/data/prometheus/queries.py" "$what" "$dir/names" >"$dir/queries.yaml" 2>"$err" || fail "a dashboard without mistakes"
	"$promtool" check rules "$dir/queries.yaml" >"$out" 2>&1 || { cat "$out"; fail "queries that can be read"; }
	[ "$(grep -c 'record:' "$dir/queries.yaml")" -ge 20 ] || fail "20 queries"
done
finish
