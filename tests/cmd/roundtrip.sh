#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# pprof in, pprof out: go tool pprof says the same of both: totals, stacks with their inlined functions and source lines,
# labels, mappings with their build ids, and what a profile says of itself. Of Go's own profiles (one made here), of
# gperftools', and of one that uses all of the format.
. "$(dirname "$0")/lib.bash"
command -v go >"$dir/null" || skip "go is not installed"
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
export GOCACHE=$dir/gocache HOME=$dir PPROF_TMPDIR=$dir TZ=UTC

# go_says FILE OPTION...
go_says() {
	local file=$1
	shift
	go tool pprof -symbolize=none "$@" "$file" 2>"$dir/go.err" || fail "go tool pprof $* to read $(basename "$file"): $(cat "$dir/go.err")"
}

# -raw without what a writer may choose: the numbers of locations and mappings, and where mappings lie. A location is
# its mapping's name, where it lies in the file, and its lines. Flags of mappings say what is known, which may be more.
canonical() {
	awk '
	function hex(s, i, n) {
		for (i = 3; i <= length(s); i++) n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
		return n
	}
	FNR == NR && /^Mappings$/ { section = "mappings"; next }
	FNR == NR && /^(Comment|PeriodType): / { section = "head" }
	FNR == NR && section == "mappings" {
		match($0, /0x[0-9a-f]+\/0x[0-9a-f]+\/0x[0-9a-f]+ /)
		split(substr($0, RSTART, RLENGTH - 1), range, "/")
		id = $1 + 0
		name[id] = substr($0, RSTART + RLENGTH)
		sub(/ *(\[(FN|FL|LN|IN)\])*$/, "", name[id])
		start[id] = hex(range[1])
		offset[id] = hex(range[3])
		next
	}
	FNR == NR && /^Locations$/ { section = "locations"; next }
	FNR == NR && section == "locations" && /^ *[0-9]+: 0x/ {
		id = $1 + 0
		mapping = $3 ~ /^M=/ ? substr($3, 3) + 0 : 0
		at = hex($2)
		if (at && mapping && start[mapping]) at += offset[mapping] - start[mapping]
		of[id] = mapping
		place[id] = at
		line = $0
		sub(/^ *[0-9]+: 0x[0-9a-f]+ (M=[0-9]+ )?/, "", line)
		lines[id] = line
		next
	}
	FNR == NR && section == "locations" { sub(/^ +/, ""); lines[id] = lines[id] " <- " $0; next }
	FNR == NR { next }
	FNR == 1 { section = "head" }
	section == "head" { print; if (/^Samples:/) { section = "types" } next }
	section == "types" && !/\[dflt\]/ { sub(/ *$/, "[dflt]") } # without a word the last is the default
	section == "types" { print; section = "samples"; next }
	/^Locations$/ { if (sample) print sample; section = "end"; next }
	section == "samples" && /^ +-?[0-9]+( +-?[0-9]+)*: [0-9 ]*$/ {
		if (sample) print sample
		split($0, half, ": ")
		sample = half[1]
		n = split(half[2], ids, " ")
		for (i = 1; i <= n; i++)
			sample = sample sprintf(" | %s %d %s", name[of[ids[i]]], place[ids[i]], lines[ids[i]])
		next
	}
	section == "samples" { sub(/^ +/, ""); sample = sample " ## " $0 }
	END { for (id in name) print "mapping " name[id] }' "$1.mapped" "$1" | LC_ALL=C sort
}
# Mappings come last in -raw, and are wanted first.
raw() {
	go_says "$1" -raw >"$2"
	{ sed -n '/^Mappings$/,$p' "$2"; sed '/^Mappings$/,$d' "$2"; } >"$2.mapped"
	canonical "$2" >"$2.canonical"
}

round_trip() { # FILE N_VALUES
	local file=$1 i way
	expect 0 report --format pprof -o "$dir/once.pb.gz" "$file"
	[ ! -s "$err" ] || fail "nothing to be said of $file"
	expect 0 report --format pprof -o "$dir/twice.pb.gz" "$dir/once.pb.gz"
	cmp -s "$dir/once.pb.gz" "$dir/twice.pb.gz" || fail "the second way to change nothing of $(basename "$file")"
	raw "$file" "$dir/before"
	raw "$dir/once.pb.gz" "$dir/after"
	grep -q ' | ' "$dir/before.canonical" || fail "samples in $(basename "$file")"
	diff "$dir/before.canonical" "$dir/after.canonical" >"$dir/difference" ||
		fail "$(basename "$file") to come out as it came in: $(head -n 6 "$dir/difference")"
	for ((i = 0; i < $2; i++)); do
		for way in -top -tags; do
			go_says "$file" "-sample_index=$i" $way -nodecount=100000 -nodefraction=0 | LC_ALL=C sort >"$dir/before.$way"
			go_says "$dir/once.pb.gz" "-sample_index=$i" $way -nodecount=100000 -nodefraction=0 | LC_ALL=C sort >"$dir/after.$way"
			diff "$dir/before.$way" "$dir/after.$way" >"$dir/difference" ||
				fail "$way of value $i of $(basename "$file") to stay: $(head -n 6 "$dir/difference")"
		done
	done
	go_says "$file" -comments >"$dir/before.comments"
	go_says "$dir/once.pb.gz" -comments >"$dir/after.comments"
	cmp -s "$dir/before.comments" "$dir/after.comments" || fail "the comments of $(basename "$file") to stay"
}

for name in go-cpu:2 go-heap:4 gperftools:2; do
	round_trip "$here/data/read/${name%:*}.pb.gz" "${name#*:}"
done

# --- a program of our own: labels with words that need care, inlined functions
(cd "$dir" && go build -o labels "$here/victim/labels.go") || fail "victim/labels.go to compile"
"$dir/labels" "$dir/cpu.pb.gz" "$dir/heap.pb.gz" || fail "victim/labels.go to run"
round_trip "$dir/cpu.pb.gz" 2
has "$dir/after.canonical" 'main\.step .* <- main\.spend .*labels\.go:[0-9]+'
has "$dir/after.canonical" ' ## request:\[naïve "path"\] tenant:\[t=1;2\] thread_name:\[worker\]'
has "$dir/after.-tags" 'POST /a b'
# one request's samples: what -tagfocus keeps; a filter's output is a pprof with its labels, too
expect 0 report --label 'request=POST*' --format pprof -o "$dir/post.pb.gz" "$dir/cpu.pb.gz"
go_says "$dir/cpu.pb.gz" -sample_index=0 -tagfocus='request=POST' -top -nodecount=100000 -nodefraction=0 >"$dir/focused"
go_says "$dir/post.pb.gz" -sample_index=0 -top -nodecount=100000 -nodefraction=0 >"$dir/filtered"
total() { grep '^ ' "$1" | awk '{ n += $1 } END { print n + 0 }'; }
[ "$(total "$dir/focused")" -gt 0 ] && [ "$(total "$dir/focused")" = "$(total "$dir/filtered")" ] || fail "--label to keep what -tagfocus does"
go_says "$dir/post.pb.gz" -sample_index=0 -tags >"$dir/tags"
has_not "$dir/tags" 'GET /'
expect 0 report --format text -v "$dir/cpu.pb.gz"
has "$out" '^    main\.step \[labels\+0x[0-9a-f]+\] at .*/labels\.go:[0-9]+ \(inlined\)$'
round_trip "$dir/heap.pb.gz" 4
has "$dir/after.canonical" 'main\.keep .* ## bytes:\[704\]'

# --- all of the format: labels of words and numbers, with units, several of a name, those that we understand, too;
# inlined functions at one place, one that is inlined into itself, lines without an address; build ids that are no
# hexadecimal digits, mappings without samples; frames to be dropped, comments, the default value
command -v protoc >"$dir/null" || finish
strings=0
declare -A number
s() { # the number of a string, in $n
	if [ -z "${number["=$1"]+x}" ]; then
		number["=$1"]=$strings
		strings=$((strings + 1))
		table+="string_table: \"$1\" "
	fi
	n=${number["=$1"]}
}
table= text=
add() { # text in which {{WORDS}} is the number of a string
	local line=$1 word
	while [[ $line =~ \{\{([^\}]*)\}\} ]]; do
		word=${BASH_REMATCH[1]}
		s "$word"
		line=${line//"{{$word}}"/$n}
	done
	text+="$line
"
}
s ""
add 'sample_type { type: {{alloc}} unit: {{count}} } sample_type { type: {{space}} unit: {{bytes}} }
default_sample_type: {{alloc}} doc_url: {{https://example.org/?a=b}} comment: {{somebody says}} comment: {{ twice}}
drop_frames: {{dropped_.*}} keep_frames: {{dropped_but_kept}} time_nanos: 1700000000000000000 duration_nanos: 5000000000
period_type { type: {{space}} unit: {{bytes}} } period: 524288
mapping { id: 3 memory_start: 0x10000 memory_limit: 0x20000 file_offset: 0x1000 filename: {{/usr/lib/libfoo.so.1}} build_id: {{00ff7fab}}
  has_functions: true has_filenames: true has_line_numbers: true has_inline_frames: true }
mapping { id: 7 memory_start: 0x30000 memory_limit: 0x40000 filename: {{C:/foo.dll}} build_id: {{5F3A-no hex}} }
mapping { id: 9 memory_start: 0x50000 memory_limit: 0x60000 filename: {{/usr/lib/never.so}} build_id: {{abcdef}} }
function { id: 1 name: {{main}} system_name: {{main}} filename: {{main.c}} start_line: 10 }
function { id: 2 name: {{foo(int)}} system_name: {{_Z3fooi}} filename: {{src/foo.cc}} start_line: 20 }
function { id: 3 name: {{bar}} system_name: {{bar}} filename: {{src/bar.h}} start_line: 3 }
function { id: 4 name: {{bar}} system_name: {{bar}} filename: {{src/other bar.h}} start_line: 3 }
function { id: 5 name: {{dropped_one}} system_name: {{dropped_one}} filename: {{main.c}} }
location { id: 1 mapping_id: 3 address: 0x10100 line { function_id: 3 line: 5 } line { function_id: 3 line: 6 } line { function_id: 2 line: 22 } }
location { id: 2 mapping_id: 3 address: 0x10200 line { function_id: 1 line: 12 } }
location { id: 3 mapping_id: 3 address: 0x10104 line { function_id: 4 line: 5 } line { function_id: 2 line: 22 } }
location { id: 4 mapping_id: 7 address: 0x30008 }
location { id: 5 line { function_id: 3 line: 7 } line { function_id: 1 line: 13 } }
location { id: 6 line { function_id: 1 line: 14 } }
location { id: 7 line { function_id: 1 line: 15 } }
location { id: 8 mapping_id: 3 address: 0x10300 line { function_id: 5 line: 1 } }
sample { location_id: 1 location_id: 2 value: 1 value: 100 label { key: {{k}} str: {{v}} } }
sample { location_id: 1 location_id: 2 value: 2 value: 200 label { key: {{k}} str: {{w}} } label { key: {{k}} str: {{v}} } }
sample { location_id: 3 location_id: 2 value: 3 value: 300 label { key: {{size}} num: 7 num_unit: {{megabytes}} } label { key: {{size}} num: -8 num_unit: {{bytes}} } }
sample { location_id: 3 location_id: 2 value: 4 value: 400 label { key: {{size}} num: 7 num_unit: {{bytes}} } }
sample { location_id: 4 location_id: 2 value: 5 value: 500 label { key: {{pid}} num: 77 } label { key: {{thread_name}} str: {{worker}} } }
sample { location_id: 4 location_id: 2 value: 6 value: 600 label { key: {{process_id}} str: {{77}} } label { key: {{comm}} str: {{a b}} } }
sample { location_id: 5 location_id: 6 value: 7 value: 700 label { key: {{slice}} num: 3 } label { key: {{uid}} num: 1000 } }
sample { location_id: 5 location_id: 7 value: 8 value: 800 }
sample { location_id: 8 location_id: 2 value: 9 value: 900 label { key: {{cgroup}} str: {{/a}} } }
sample { location_id: 2 value: -1 value: -100 label { key: {{stack}} str: {{not ours}} } }'
printf '%s%s' "$text" "$table" >"$dir/all.txt"
protoc "--proto_path=$here/data/view" --encode=Profile profile.proto <"$dir/all.txt" >"$dir/all.pb" || fail "protoc to encode"
round_trip "$dir/all.pb" 2
for line in 'bar .*bar\.h:5.*<- bar .*bar\.h:6.*<- foo\(int\) .*foo\.cc:22' 'size:\[7 megabytes -8 bytes\]' 'k:\[w v\]' \
	'pid:\[77\]' '5F3A-no hex' 'alloc/count\[dflt\]' 'stack:\[not ours\]'; do
	has "$dir/after.canonical" "$line"
done
[ "$(cat "$dir/after.comments")" = $'somebody says\n twice' ] || fail "two comments"
expect 0 report --format speedscope "$dir/all.pb"
has "$out" '"name":"bar","file":"src/bar\.h","line":3\}'
has "$out" '"name":"foo\.dll\+0x8","file":"C:/foo\.dll"'
protoc "--proto_path=$here/data/view" --decode=Profile profile.proto < <(gzip -dc "$dir/once.pb.gz") >"$dir/decoded" || fail "protoc to decode"
has "$dir/decoded" '"/usr/lib/never\.so"' # go tool pprof leaves out what has no samples
has "$dir/decoded" '"abcdef"'
has "$dir/decoded" 'dropped_\.\*'
has "$dir/decoded" '^keep_frames: [0-9]+$'
has "$dir/decoded" 'example\.org/\?a=b'

# --- too many labels of one sample, and one that is too long: dropped, counted, said
{
	printf 'string_table: "" string_table: "n" string_table: "%s" sample_type { type: 1 unit: 1 }\n' "$(printf 'x%.0s' {1..5000})"
	printf 'sample { value: 1 label { key: 1 str: 2 }'
	printf ' label { key: 1 num: %d }' {1..70}
	printf ' }\n'
} >"$dir/many.txt"
protoc "--proto_path=$here/data/view" --encode=Profile profile.proto <"$dir/many.txt" >"$dir/many.pb" || fail "protoc to encode"
expect 0 report --format pprof -o "$dir/once.pb.gz" "$dir/many.pb"
has "$err" '^dropped 7 labels of samples that have too many or too long ones$'
[ "$(gzip -dc "$dir/once.pb.gz" | protoc "--proto_path=$here/data/view" --decode=Profile profile.proto | grep -c 'num: ')" = 64 ] || fail "64 labels"
finish
