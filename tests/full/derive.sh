#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# Derived rows on real programs with much assembly: stepped through beside a shadow stack (no caller may be wrong), and
# on real libraries followed as if they had no FDEs (their rows may not differ).
set -euo pipefail
steps=$SOPROF_BUILD/tests/unit/unwind-derive
rows=$SOPROF_BUILD/tests/unit/unwind/table-derive
libraries=/usr/lib/x86_64-linux-gnu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
ffmpeg -loglevel error -f lavfi -i testsrc2=size=640x360:rate=30:duration=4 -pix_fmt yuv420p in.y4m
ffmpeg -loglevel error -i in.y4m -c:v libsvtav1 -preset 10 -svtav1-params film-grain=30 in.ivf 2>/dev/null
ffmpeg -loglevel error -i in.y4m -vframes 1 -vf scale=4000:3000 big.ppm
cjpeg big.ppm >big.jpg
"$steps" /usr/bin/djpeg big.jpg
"$steps" /usr/bin/cjpeg big.ppm
"$steps" /usr/bin/x264 --quiet --threads 1 --preset slow -o /dev/null in.y4m
"$steps" /usr/bin/dav1d -q --threads 1 -i in.ivf -o /dev/null --muxer md5
# A process of some 190 libraries, and its encoders' own threads; it goes on until it is ended.
ffmpeg="/usr/bin/ffmpeg -nostdin -loglevel error -threads 1 -filter_threads 1 -stream_loop -1"
"$steps" $ffmpeg -i in.y4m -c:v libx264 -threads 1 -preset slow -f null -
"$steps" $ffmpeg -i in.y4m -c:v libx265 -x265-params pools=none:frame-threads=1:log-level=none -f null -
"$steps" $ffmpeg -c:v libdav1d -i in.ivf -c:v mjpeg -threads 1 -f null -
# Not libswscale or libc: their FDEs do not tell of pushes by inline assembly and by mpn's, which ours do.
for library in libx264.so.164 libavcodec.so.59 libgmp.so.10 libm.so.6 libvpx.so.7; do
	"$rows" --compare "$libraries/$library"
done
# The whole tables of the libraries that ffmpeg's encoders and decoders live in, CPU time: under 2 s.
"$rows" "$libraries"/{libavcodec.so.59,libavfilter.so.8,libavformat.so.59,libavutil.so.57,libswscale.so.6,libx264.so.164,libx265.so.199,libdav1d.so.6} |
	tee /dev/stderr | awk '{ ms += $(NF - 1) } END { print ms " ms"; exit ms >= 2000 }'
