# SPDX-License-Identifier: GPL-2.0-or-later
# fleet.bash: sourced after lib.bash by tests of a fleet: stores of hosts whose rows are made up, and what is asked of them.
#   rows HOST SECONDS             the rows of a store (fill.c) that ends at $end, a full hour: the last SECONDS, with a gap
#   fill                          tests/cmd/fill
#   folded VALUE PLACE...         what is asked of stores or a fleet: folded stacks, sorted
#   added                         such lines of several, added up
fill=$SOPROF_BUILD/tests/cmd/fill
[ -x "$fill" ] || { echo "no $fill; build it first"; exit 1; }
# Names that mean something to SQL, to globs and to formats.
evil="x'),(1)--\\'\"\`%s?*[a]\\x00$(printf '\377')"
end=$(($(date +%s) / 3600 * 3600))
rows() {
	local t
	for ((t = end - $2; t < end; t += 10)); do
		((t >= end - 1500 && t < end - 1200)) && continue
		cat <<-ROWS
			$t 100 git 1000 /user.slice main@git;inflate@libz.so.1 $((20 + $1))
			$t 101 git 1000 /user.slice main@git;read@libc.so.6;sys_read@[kernel] $((5 + t / 10 % 7))
			$t 200 nginx$1 33 /system.slice/nginx.service main@nginx;SSL_write@libssl.so.3;aes@libcrypto.so.3 $((30 + t / 10 % 11))
			$t 300 $evil 0 /$evil $evil@$evil;f@$evil 2
			$t $((t % 30000 + 300)) sh 0 /system.slice/cron.service main@sh;fork@libc.so.6 1
		ROWS
	done
}
folded() {
	local value=$1
	shift
	expect 0 query "$@" --value "$value" --format folded
	sort "$out"
}
added() { LC_ALL=C awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' | sort; }
