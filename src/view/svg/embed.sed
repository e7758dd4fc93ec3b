# SPDX-License-Identifier: GPL-2.0-or-later
# A script or a style sheet -> the lines of a C string, without indentation and lines that are only a comment.
s/^[ 	]*//
/^\/\//d
/^\/\*.*\*\/$/d
/^$/d
s/\\/\\\\/g
s/"/\\"/g
s/^/"/
s/$/\\n"/
