#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# The flame graph against flamegraph.pl (of libdevel-nytprof-perl), from the same folded stacks: the same frames at the same
# depth with the same number of samples; of a victim's profile, of made-up stacks, of names that need care; and what is too
# narrow to be drawn, since both leave out what is below 0.1 pixels of 1,200.
. "$(dirname "$0")/lib.bash"
theirs=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
[ -r "$theirs" ] || skip "flamegraph.pl is not installed"

# Lines `Y NAME SAMPLES` of the pictures. flamegraph.pl writes ( and ) for < and >. We have the library in a line of its
# own, and the kernel's functions without their _[k].
their_frames() {
	LC_ALL=C awk 'match($0, /<title>.* samples, [0-9.]+%\)<\/title>/) {
		text = substr($0, RSTART + 7, RLENGTH - 15)
		match(text, / \([0-9,]+ samples, [0-9.]+%\)$/)
		name = substr(text, 1, RSTART - 1)
		n = substr(text, RSTART + 2)
		sub(/ .*/, "", n)
		gsub(/,/, "", n)
		match($0, / y="[0-9.]+"/)
		print substr($0, RSTART + 4, RLENGTH - 5) " " name " " n
	}' "$1"
}
our_frames() {
	LC_ALL=C awk '
	/^<g id="foot"/ { exit }
	/^<g><title>/ { name = substr($0, 11); library = ""; next }
	name != "" && /^[0-9,]+ samples?, [0-9.]+%<\/title><rect / {
		n = $1
		gsub(/,/, "", n)
		gsub(/&lt;/, "(", name)
		gsub(/&gt;/, ")", name)
		gsub(/&#39;/, "\047", name)
		if (library == "[kernel]") name = name "_[k]"
		else if (library != "" && index(name, library "+0x") != 1) name = name " " library
		match($0, / y="[0-9.]+"/)
		print substr($0, RSTART + 4, RLENGTH - 5) " " name " " n
		name = ""
		next
	}
	name != "" { library = $0 }' "$1"
}
# By depth, from the root, and as a multiset: frames of one name at one depth may be many.
by_depth() { LC_ALL=C sort -k1,1nr "$1" | LC_ALL=C awk '{ if ($1 != last) { depth++; last = $1 } sub(/^[^ ]+ /, ""); print depth " " $0 }' | LC_ALL=C sort; }

compare() { # WHAT LEAST_FRAMES
	perl "$theirs" "$dir/in.folded" >"$dir/theirs.svg" 2>"$dir/theirs.err" || fail "flamegraph.pl to read $1"
	[ ! -s "$dir/theirs.err" ] || fail "flamegraph.pl to have nothing to say of $1: $(head -n 2 "$dir/theirs.err")"
	expect 0 report --format svg -o "$dir/ours.svg" "$dir/in.folded"
	their_frames "$dir/theirs.svg" >"$dir/theirs.y"
	our_frames "$dir/ours.svg" >"$dir/ours.y"
	by_depth "$dir/theirs.y" >"$dir/theirs"
	by_depth "$dir/ours.y" >"$dir/ours"
	[ "$(grep -c '' "$dir/theirs")" -ge "$2" ] || fail "$2 frames of $1, not $(grep -c '' "$dir/theirs")"
	diff "$dir/theirs" "$dir/ours" >"$dir/difference" || fail "the frames of $1 as flamegraph.pl has them: $(head -n 6 "$dir/difference")"
}

# --- names
cat >"$dir/in.folded" <<'Y'
main;operator<<(std::ostream&, char const*);std::vector<int, std::allocator<int> >::push_back(int const&) 3
main;operator<<(std::ostream&, char const*) 4
main;operator<<(std::ostream&, char const*);std::vector<int, std::allocator<int> >::push_back(int const&);main 5
a "quoted" 'name' & more;</title><script>alert(1)</script>;x 1000
naïve;日本語;😀 12345
naïve;&lt&gt&amp 6
main;read_[k];vfs_read_[k] 9
main;main;main;main 8
main;[unknown];[unknown] 2
Y
compare "names that need care" 19

# --- many stacks, nothing too narrow: recursion, one name at many depths, one stack in several lines
awk 'BEGIN {
	srand(7)
	for (i = 0; i < 1000; i++) {
		line = "t" int(rand() * 3)
		for (n = int(rand() * 12) + 1; n > 0; n--) line = line ";" sprintf("%c", 97 + int(rand() * rand() * 20))
		print line " " int(rand() * 3) + 1
	}
}' >"$dir/in.folded"
compare "many stacks" 3000

# --- most of it too narrow
awk 'BEGIN {
	srand(11)
	for (i = 0; i < 2000; i++) {
		line = "t" int(rand() * 3)
		for (n = int(rand() * 12) + 1; n > 0; n--) line = line ";" sprintf("%c", 65 + int(rand() * rand() * 26))
		print line " " int(exp(rand() * 12))
	}
}' >"$dir/in.folded"
compare "stacks of which many are too narrow" 1000
has "$dir/ours.svg" 'Not drawn: '

# --- a profile
if is_root; then
	expect 0 profile -F 499 -f -- "$victims/plain/recursion" 1 40
	cp "$out" "$dir/in.folded"
	[ -s "$out" ] && compare "a victim's profile" 40
fi
finish
