#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bash, zsh and fish themselves complete by the scripts that soprof writes; the latter two are copies of Debian's packages
# that are not installed.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../unpack.bash"
for package in zsh zsh-common fish fish-common libpcre2-32-0; do
	unpack "$package" || skip "cannot fetch $package"
done
lib=usr/lib/x86_64-linux-gnu
export PATH=${SOPROF%/*}:$PATH # which has the fields of events

# --- bash shows it to a terminal
"$SOPROF" --completion bash >"$dir/soprof.bash" || fail "a script for bash"
cat >"$dir/drive.py" <<'X'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="", TERM="dumb")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def until_quiet():
    text = b""
    while select.select([fd], [], [], 1)[0]:
        text += os.read(fd, 4096)
    return text.decode(errors="replace").replace("\a", "")
os.write(fd, b". " + sys.argv[1].encode() + b"; stty cols 200; bind 'set show-all-if-ambiguous on'\n")
until_quiet()
for words in sys.argv[2:]:
    os.write(fd, words.encode() + b"\t")
    print(until_quiet())
    os.write(fd, b"\x15")
    until_quiet()
os.write(fd, b"exit\n")
X
bash_completes() { # WORDS EXPECTED
	/usr/bin/python3 "$dir/drive.py" "$dir/soprof.bash" "$1" >"$dir/got"
	grep -qF -- "$2" "$dir/got" || fail "bash to complete '$1' to '$2', not: $(cat -v "$dir/got")"
}
bash_completes 'soprof profile --unw' 'soprof profile --unwind '
bash_completes 'soprof profile -e pa' 'soprof profile -e page-faults '
if [ -r /sys/kernel/tracing/events/sched/sched_process_exec/format ]; then
	for words in '--print filen' '--print x=filen' '--print=x=filen' "--print 'pid,x=filen" '--by=filen'; do
		bash_completes "soprof trace sched:sched_process_exec $words" "$words""ame"
	done
	bash_completes 'soprof trace sched:sched_process_exec --print x=' 'filename'
	bash_completes 'soprof trace "sched:sched_process_exec[old_p' 'sched:sched_process_exec[old_pid'
fi

# --- fish says it by a command of its own
"$SOPROF" --completion fish >"$dir/soprof.fish" || fail "a script for fish"
completes() { # WORDS EXPECTED
	env HOME="$dir" LD_LIBRARY_PATH="$unpacked/libpcre2-32-0/$lib" "$unpacked/fish/usr/bin/fish" --no-config -c "
		set -p fish_function_path '$unpacked/fish-common/usr/share/fish/functions'
		source '$dir/soprof.fish'; complete -C '$1'" >"$dir/got" 2>"$dir/fish.err"
	cut -f1 "$dir/got" | grep -qxF -- "$2" || fail "fish to complete '$1' to $2, not: $(head -n 3 "$dir/got" "$dir/fish.err")"
}
completes 'soprof pro' profile
completes 'soprof profile --unw' --unwind
completes 'soprof profile --unwind d' dwarf
completes 'soprof profile -e pa' page-faults
if [ -r /sys/kernel/tracing/events/sched/sched_process_exec/format ]; then
	fields=yes
	completes 'soprof trace sched:sched_process_exec[filen' 'sched:sched_process_exec[filename'
	completes 'soprof trace sched:sched_process_exec --print filen' filename
	completes 'soprof trace --by comm syscall:openat --print x,du' x,dur
	completes 'soprof stat -e sched:sched_process_exe' sched:sched_process_exec
fi
completes "soprof report $dir/soprof.f" "$dir/soprof.fish"

# --- zsh shows it to a terminal, which is another zsh
mkdir "$dir/functions"
"$SOPROF" --completion zsh >"$dir/functions/_soprof" || fail "a script for zsh"
cat >"$dir/drive" <<X
module_path=($unpacked/zsh/$lib/zsh/5.9)
zmodload zsh/zpty
zpty z "$unpacked/zsh/bin/zsh -f -i"
zpty -w z "module_path=($unpacked/zsh/$lib/zsh/5.9); fpath=($dir/functions $unpacked/zsh-common/usr/share/zsh/functions/**/*(/N)); autoload -Uz compinit; compinit -u -D; cd $dir; echo rea''dy"
while zpty -r z line && [[ \$line != *ready* ]]; do :; done
for words in 'soprof pro' 'soprof profile --unw' 'soprof profile --unwind d' 'soprof profile -e pa' 'soprof report driv' 'soprof trace "sched:sched_process_exec[old_p' 'soprof trace sched:sched_process_exec --print filen' 'soprof stat -e sched:sched_process_exe'; do
	zpty -w -n z "\$words"\$'\t'; sleep 1; zpty -w -n z \$'\x15'
done
sleep 1
while zpty -r -t z line; do print -r -- "\$line"; done
X
timeout 120 "$unpacked/zsh/bin/zsh" -f "$dir/drive" 2>&1 | tr -d '\r\b' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' >"$dir/got"
for words in 'soprof profile ' 'soprof profile --unwind ' 'soprof profile --unwind dwarf ' 'soprof profile -e page-faults ' 'soprof report drive ' ${fields:+'soprof trace "sched:sched_process_exec[old_pid' 'soprof trace sched:sched_process_exec --print filename ' 'soprof stat -e sched:sched_process_exec '}; do
	grep -qF -- "$words" "$dir/got" || fail "zsh to complete to '$words': $(tail -n 5 "$dir/got")"
done
finish
