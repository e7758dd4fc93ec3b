#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# in memory
# beside others
# deadline: 120
# `soprof query`, `soprof diff` of times, `soprof report` of a store's files: a small store whose rows are known.
. "$(dirname "$0")/lib.bash"

export TZ=UTC
# The day stays the same: where it ends soon, this waits for the next.
left=$((86400 - $(date +%s) % 86400))
[ $left -gt 40 ] || sleep $((left + 1))
fill=$SOPROF_BUILD/tests/cmd/fill store=$dir/store
[ -x "$fill" ] || { echo "no $fill; build it first"; exit 1; }

# Two hours and a half of yesterday, from 10:00, without 10:30 to 10:40; from 12:00 on libz costs twice as much.
noon=$(date -d 'yesterday 12:00' +%s)
for ((t = noon - 7200; t < noon + 1800; t += 10)); do
	((t >= noon - 5400 && t < noon - 4800)) && continue
	z=$((t < noon ? 20 : 40))
	cat <<-ROWS
		$t 100 git 1000 /user.slice main@git;inflate@libz.so.1 $z
		$t 101 git 1000 /user.slice main@git;read@libc.so.6;sys_read@[kernel] $((5 + t / 10 % 7))
		$t 200 nginx 33 /system.slice/nginx.service main@nginx;SSL_write@libssl.so.3;aes@libcrypto.so.3 $((30 + t / 10 % 11))
		$t $((t % 30000 + 300)) sh 0 /system.slice/cron.service main@sh;fork@libc.so.6 1
	ROWS
done >"$dir/rows"
echo "gap $((noon - 5400)) $((noon - 4800)) stopped" >>"$dir/rows"
"$fill" "$store" <"$dir/rows" || fail "a store to be filled"

# sum FROM TO PATTERN: samples in the rows of the seconds FROM to TO after noon
sum() { awk -v a=$((noon + $1)) -v b=$((noon + $2)) -v p="$3" '$1 >= a && $1 < b && $0 ~ p { n += $NF } END { print n + 0 }' "$dir/rows"; }
ask() { expect 0 query --store "$store" "$@"; }

# --- the table, of ten seconds' windows
ask --from 'yesterday 11:00' --to 'yesterday 11:10' --csv
has "$out" "^library,libz\\.so\\.1,.*,$(sum -3600 -3000 libz),"
has "$out" "^library,libcrypto\\.so\\.3,.*,$(sum -3600 -3000 libcrypto),"
has "$err" "^[0-9-]+ 11:00 to 11:10: 10 min sampled \(100 %\), in 60 windows of 10 s$"
# a window is of the range that it begins in: ten minutes are sixty of them wherever they begin, and ranges that meet
# have none in common
ask --from 'yesterday 11:00:05' --to 'yesterday 11:10:05' --csv
has "$err" "^[0-9-]+ 11:00:10 to 11:10:10: 10 min sampled \(100 %\), in 60 windows of 10 s$"
ask --from 'yesterday 11:00:05' --to 'yesterday 11:00:11' --csv
has "$out" "^library,libz\\.so\\.1,.*,20,"
has "$err" '11:00:10 to 11:00:20: 10 s sampled \(100 %\), in 1 window of 10 s'
ask --from 'yesterday 11:00:00' --to 'yesterday 11:00:05' --csv
has "$err" '11:00 to 11:00:10: 10 s sampled \(100 %\), in 1 window of 10 s'
expect 1 query --store "$store" --from 'yesterday 11:00:01' --to 'yesterday 11:00:05'
one_line 'no window begins from .* 11:00:01 to 11:00:05; one that began before lasts until .* 11:00:10: begin earlier$'

# --- a long range: from hours and minutes, and the gap is told
ask --from yesterday --to 'yesterday 12:25' --csv
has "$out" "^library,libz\\.so\\.1,.*,$(sum -7200 1500 libz),"
has "$err" '^[0-9-]+ 10:00 to 12:25: 2 h 15 min sampled \(93\.1 %\), in [0-9]+ windows of up to 1 h$'
has "$err" '^gap from [0-9-]+ 10:30 to 10:40: stopped$'
windows=$(sed -n 's/.* in \([0-9]*\) windows.*/\1/p' "$err")
((windows <= 30)) || fail "hours and minutes, not $windows windows"
ask --from yesterday --to 'yesterday 12:25' --exact --csv # the same from windows
has "$out" "^library,libz\\.so\\.1,.*,$(sum -7200 1500 libz),"
has "$err" '2 h 15 min sampled \(93\.1 %\), in [0-9]+ windows of up to 1 h$'
for resolution in 10s 1m 1h; do
	ask --from yesterday --to 'yesterday 12:00' --resolution $resolution --csv
	has "$out" "^library,libz\\.so\\.1,.*,$(sum -7200 0 libz),"
done

# --- filters
noon_range=(--from 'yesterday 12:00' --to 'yesterday 12:10')
ask "${noon_range[@]}" --library 'libssl*' --value samples --format folded
[ "$(samples)" = "$(sum 0 600 libssl)" ] || fail "the samples through libssl"
has "$out" '^nginx;main;SSL_write;aes '
ask "${noon_range[@]}" --function sys_read --value samples --format folded
[ "$(samples)" = "$(sum 0 600 sys_read)" ] || fail "the samples of sys_read"
ask "${noon_range[@]}" --process 200 --by process --csv
has "$out" "nginx.*,$(sum 0 600 nginx),"
has_not "$out" 'git'
ask "${noon_range[@]}" --cgroup /system.slice --value samples --format folded
[ "$(samples)" = "$(sum 0 600 system.slice)" ] || fail "the samples of /system.slice"
ask --from yesterday --process nginx --value samples --format folded # minutes and hours know the program
[ "$(samples)" = "$(sum -7200 1800 nginx)" ] || fail "the samples of nginx"
expect 1 query --store "$store" "${noon_range[@]}" --process nobody
one_line "query: --process: no sample is of a process 'nobody'$"
expect 1 query --store "$store" "${noon_range[@]}" --library 'libss*.so.1' --process nginx -o "$dir/none.svg"
one_line "query: --library: no sample is of a library 'libss\*\.so\.1'"
[ ! -e "$dir/none.svg" ] || fail "no picture of nothing"
expect 1 query --store "$store" "${noon_range[@]}" --process nginx --function inflat
one_line "--function: no sample is of a function 'inflat'; did you mean 'inflate'\?$"

# --- every view
for suffix in svg html pb.gz folded txt speedscope.json csv json; do
	ask "${noon_range[@]}" -o "$dir/x.$suffix"
	[ -s "$dir/x.$suffix" ] || fail "a file x.$suffix"
done
grep -q SSL_write "$dir/x.svg" || fail "a picture of yesterday"
ask "${noon_range[@]}" --callers aes
has "$out" 'SSL_write'
expect 0 report --by function --csv "$dir/x.pb.gz"
has "$out" "^function,aes,libcrypto.*,$(sum 0 600 aes),"

# --- changes
expect 0 diff --store "$store" 'yesterday 11:40..yesterday 12:00' 'yesterday 12:00..yesterday 12:20'
has "$out" 'from 20 and 20 time slices'
has "$out" '\+[0-9.]+ +\[\+.*libz\.so\.1'
has "$err" '12:00 to 12:20: 20 min sampled'
expect 0 diff --store "$store" --absolute 'yesterday 11:00..yesterday 11:20' 'yesterday 11:20..yesterday 11:40'
has_not "$out" '\+.*libz'

# --- a file that was copied away is a profile of its own
for file in "$store"/*.10s.db "$store"/*.1m.db; do
	cp "$file" "$dir/copy"
	[ ! -e "$file-wal" ] || cp "$file-wal" "$dir/copy-wal"
	expect 0 report --csv "$dir/copy"
	has "$out" '^library,libz\.so\.1,'
	rm -f "$dir"/copy*
done
has "$out" "^library,libz\\.so\\.1,.*,$(sum -7200 1800 libz),"
expect 0 diff --absolute "$store"/*.10s.db "$store"/*.1m.db
has_not "$out" '^ .*\[.*libz'
cp "$store"/*.10s.db "$dir/copy"
printf '\2\2' | dd of="$dir/copy" bs=1 seek=18 conv=notrunc status=none # as in a day that is not over: a journal is expected
expect 0 report --csv "$dir/copy"
has "$out" '^library,libz\.so\.1,'
[ "$(echo "$dir"/copy*)" = "$dir/copy" ] || fail "nothing to be left beside a copy: $(echo "$dir"/copy*)"
rm -f "$dir"/copy*

# --- what cannot be answered: one line
for times in '--from soon' '--from -1x' '--to 25:00' '--from today --to yesterday' '--from now' '--from -1h --to -1h' '--from 2026-02-30'; do
	# shellcheck disable=SC2086
	expect 2 query --store "$store" $times
	one_line "$(set -- $times; printf "'%s'" "$2")|'$(set -- $times; printf '%s' "$4")'"
done
expect 2 query --store "$store" --resolution 5s
one_line "--resolution: '5s' is none of 10s, 1m, 1h"
expect 1 query --store "$dir/nowhere"
one_line 'nowhere: No such file or directory'
mkdir "$dir/empty"
expect 1 query --store "$dir/empty"
one_line 'empty has no windows'
expect 1 query --store "$store" --from 'yesterday 05:00' --to 'yesterday 06:00'
one_line 'nothing was kept from [0-9-]+ 05:00 to 06:00; .*store has windows from [0-9-]+ 10:00 to 12:29:50'
expect 1 query --store "$store" --from "@$((noon + 999999))" --to "@$((noon + 9999999))"
one_line 'which is in the future'
expect 1 query --store "$store" --from yesterday --source gpu
one_line 'nothing was kept of gpu from'
expect 2 diff --store "$store" yesterdy today
one_line "'yesterdy' is no time"
expect 1 diff --store "$store" missing.pb.gz today
one_line 'open missing.pb.gz: No such file'
printf 'SQLite format 3\0 and nothing else' >"$dir/broken.db"
expect 1 report "$dir/broken.db"
one_line 'broken.db'
# What is no store's says so.
head -c 3000 /dev/urandom >"$dir/noise.db"
expect 1 query --store "$dir/noise.db" --from -1h
one_line 'noise.db has no windows: it is damaged, or no store'
finish
