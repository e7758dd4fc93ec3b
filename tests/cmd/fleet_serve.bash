# SPDX-License-Identifier: GPL-2.0-or-later
# fleet_serve.bash: a part of fleet.sh: `soprof serve` over its fleet of web1 and web2, as API and in a browser
# (tests/web/fleet.mjs). It asks the server by TLS. Uses $address, $dir/store1, $dir/store2, $dir/password2 and $end.
serve_fleet() {
	local port token serve api=$SOPROF_BUILD/tests/unit/agent-api
	local tls=$(free_port)
	port=$(free_port)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$dir/tls.key" -out "$dir/tls.pem" -days 2 \
		-subj /CN=127.0.0.1 -addext 'subjectAltName = IP:127.0.0.1' 2>/dev/null || fail "a certificate"
	echo pass >"$dir/tls.trouble"
	/usr/bin/python3 "$SOPROF_SOURCE/tests/proxy.py" "$tls" "${address##*:}" "$dir/tls.trouble" "$dir/tls.pem" "$dir/tls.key" 2>/dev/null &
	until (: >"/dev/tcp/127.0.0.1/$tls") 2>/dev/null; do sleep 0.05; done
	expect 1 fleet status "https://127.0.0.1:$tls"
	one_line 'https://127\.0\.0\.1:[0-9]+: .*certificate'
	expect 0 fleet status "https://127.0.0.1:$tls" --ca-file "$dir/tls.pem"
	what="serve"
	"$SOPROF" serve --fleet "https://soprof@127.0.0.1:$tls" --ca-file "$dir/tls.pem" --password-file "$dir/password2" --socket "$dir/serve.sock" \
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
