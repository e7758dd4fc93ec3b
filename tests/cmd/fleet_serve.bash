# SPDX-License-Identifier: GPL-2.0-or-later
# fleet_serve.bash: a part of fleet.sh: `soprof serve` over its fleet of web1 and web2, as API and in a browser
# (tests/web/fleet.mjs). Uses $address, $dir/store1, $dir/store2, $dir/password2 and $end.
serve_fleet() {
	local port token serve api=$SOPROF_BUILD/tests/unit/agent-api
	port=$(free_port)
	what="serve"
	"$SOPROF" serve --fleet "http://soprof@${address#http://}" --password-file "$dir/password2" --socket "$dir/serve.sock" \
		--listen "127.0.0.1:$port" >"$dir/serve.out" 2>"$dir/serve.log" </dev/null &
	serve=$!
	wait_agent $serve "$dir/serve.log" 'serves the fleet'
	token=$("$SOPROF" open --socket "$dir/serve.sock" --token) || fail "a token of soprof serve"
	if command -v node >/dev/null && command -v chromium >/dev/null && [ -x "$api" ]; then
		node "$SOPROF_SOURCE/tests/web/fleet.mjs" "$(command -v chromium)" "http://127.0.0.1:$port/" "$token" "$api" "$dir" "$end" \
			>"$dir/serve.checks" 2>&1 || { grep -v '^ok ' "$dir/serve.checks"; fail "the page and the API of soprof serve"; }
		grep -q '^ok ' "$dir/serve.checks" || fail "checks of the page"
	else
		say "no page: needs node, chromium and tests/unit/agent-api"
	fi
	kill -TERM $serve
	wait $serve || { cat "$dir/serve.log"; fail "soprof serve to end well"; }
	[ -e "$dir/serve.sock" ] && fail "soprof serve to remove its socket"
	grep -aq -e 'it.s "so"' -e "$token" "$dir/serve.log" "$dir/serve.out" && fail "no password or token in the log of soprof serve"
}
serve_fleet
