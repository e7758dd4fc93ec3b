#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# --function: only functions of such names are counted, and exactly; the others are not led through trampolines at all; a
# glob that matches nothing is told.
. "$(dirname "$0")/lib.bash"
python=/usr/bin/python3
[ -x $python ] && $python -c 'import zlib' || skip "needs python3 with zlib"
export XDG_STATE_HOME=$dir/state
script='import zlib
for i in range(1000): zlib.crc32(b"x" * i)
for i in range(50): zlib.decompress(zlib.compress(b"hello" * 100))'
counted() { # CALLS GLOBS: functions and their calls, as the CSV says
	expect 0 calls --no-times --csv -o "$dir/calls.csv" --function "$2" "${3:-libz.so.1}" -- $python -c "$script"
	[ "$(awk -F, 'NR > 1 { n[$1] += $7 } END { for (f in n) print f, n[f] }' "$dir/calls.csv" | sort | paste -sd ,)" = "$1" ] ||
		fail "$1, not: $(cut -d , -f 1,7 "$dir/calls.csv" | paste -sd ' ')"
}
counted 'crc32 1000' crc32
has_not "$err" matches
counted 'crc32 1000,inflateEnd 50' 'crc3?,infl[a-r]teE*d'
one='no function of libz\.so\.1 that was called matches'
counted 'deflateEnd 50,inflateEnd 50' 'inflateE[!a-m]d,deflateEnd,nosuch*,inflateB?ck'
has "$err" "^soprof: $one 'nosuch\*' or 'inflateB\?ck'\$"
counted 'crc32 1000' crc32 '*'
expect 0 calls --no-times --function 'nosuch*' libz.so.1 -- $python -c "$script"
one_line "^soprof: calls: $one 'nosuch\*'"
expect 1 calls --no-times --function 'crc32' libzz.so.1 -- $python -c "$script"
has "$err" '^soprof: calls: nothing that ran has loaded libzz.so.1'
# each has a file of its own, beside that of all functions
expect 0 calls --no-times libz.so.1 -- $python -c "$script"
has "$err" 'inflateEnd'
[ "$(find "$dir/state/soprof/calls" -name 'libz.so.1-*.last.profile' | wc -l)" = 3 ] && [ -f "$dir/state/soprof/calls/libz.so.1.last.profile" ] ||
	fail "a file for each list of functions: $(ls "$dir/state/soprof/calls")"
for bad in '' ',' '[[:alpha:]]*' $'a\nb'; do
	expect 2 calls --function "$bad" libz.so.1 -- true
done
# The addresses of others are those in the library: what is in the tables after all is bound.
cat >"$dir/words.c" <<'C'
#include <stdio.h>
#include <link.h>
#include <string.h>
static int look(struct dl_phdr_info *i, size_t n, void *low_high)
{
	uint64_t *r = low_high;
	for (int k = 0; k < i->dlpi_phnum && strstr(i->dlpi_name, "libz.so.1"); k++)
		if (i->dlpi_phdr[k].p_type == PT_LOAD && (i->dlpi_phdr[k].p_flags & PF_X)) {
			r[0] = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;
			r[1] = r[0] + i->dlpi_phdr[k].p_memsz;
		}
	return 0;
}
int crc32(int, void *, int), adler32(int, void *, int);
int main(void)
{
	uint64_t range[2] = {0};
	Elf64_Sym *symbols = NULL;
	Elf64_Rela *r = NULL;
	const char *strings = NULL;
	size_t n = 0;
	crc32(0, "x", 1);
	adler32(0, "x", 1);
	dl_iterate_phdr(look, range);
	for (Elf64_Dyn *d = _r_debug.r_map->l_ld; d->d_tag; d++) {
		if (d->d_tag == DT_JMPREL) r = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ) n = d->d_un.d_val / sizeof(*r);
		if (d->d_tag == DT_SYMTAB) symbols = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB) strings = (void *)d->d_un.d_ptr;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t at = *(uint64_t *)(_r_debug.r_map->l_addr + r[i].r_offset);
		const char *name = strings + symbols[ELF64_R_SYM(r[i].r_info)].st_name;
		if (strstr(name, "32")) printf("%s %d\n", name, at >= range[0] && at < range[1]);
	}
	return 0;
}
C
if command -v gcc >/dev/null && zlib=$(find /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu -name 'libz.so.1' -print -quit 2>/dev/null) && [ -n "$zlib" ]; then
	gcc -w -D_GNU_SOURCE -o "$dir/words" "$dir/words.c" "$zlib" -Wl,-z,now
	expect 0 calls --no-times -o "$dir/table.counts" --function crc32 libz.so.1 -- "$dir/words"
	[ "$(sort "$out" | paste -sd ' ')" = 'adler32 1 crc32 0' ] || fail "crc32 led through a trampoline, adler32 not: $(cat "$out")"
fi
finish
