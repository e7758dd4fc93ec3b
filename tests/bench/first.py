# SPDX-License-Identifier: GPL-2.0-or-later
"""The first profile of programs with much assembly, large stacks and (ffmpeg) 200 libraries: the share of user samples
that are complete, with an empty cache of tables and with a full one, while a busy loop runs on every CPU."""
import os
import re
import shutil
from common import CACHE, N_CPUS, SOPROF, WITHOUT_CACHE, WORK, choose, classes, cost, forever, load, row, run, say

LENGTH = choose(5, 3)
HZ = 199
VIDEO, CODED = os.path.join(WORK, "in.y4m"), os.path.join(WORK, "in.ivf")
FFMPEG = ["ffmpeg", "-nostdin", "-loglevel", "error", "-y"]
WORKLOADS = {
    "x264": forever(f"x264 --quiet -o /dev/null {VIDEO}"),
    "dav1d": forever(f"dav1d -q -i {CODED} -o /dev/null --muxer md5"),
    "ffmpeg": [*FFMPEG, "-stream_loop", "-1", "-i", VIDEO, "-c:v", "mpeg4", "-f", "null", "-"],
}


def share(name, command, before=()):
    c = cost("sp_", [*before, SOPROF, "profile", "-U", "-v", "-F", HZ, "--", "timeout", LENGTH, *command], check=False)
    n = classes(c.stderr)
    say(re.sub(r".*?stacks (.*) unwind rows.*", rf"{name}: \1", " ".join(c.stderr.split())))
    return 100 * n["complete"] / max(1, n["complete"] + n["guessed"] + n["cut"])


os.makedirs(CACHE, exist_ok=True)
if shutil.which("ffmpeg"):
    run([*FFMPEG, "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=4", "-pix_fmt", "yuv420p", VIDEO])
    run([*FFMPEG, "-i", VIDEO, "-c:v", "libsvtav1", "-preset", "10", CODED])
for name, command in WORKLOADS.items():
    if not shutil.which(name) or not os.path.exists(CODED):
        row(f"first profile complete: {name}", "%", None, least=95, note=f"{name} or ffmpeg is not there")
        continue
    with load(*[forever(":")] * N_CPUS):
        cold = share(f"{name}, cold", command, WITHOUT_CACHE)
        share(f"{name}, warming", command)
        warm = share(f"{name}, warm", command)
    row(f"first profile complete: {name}", "%", cold, least=95, note=f"with a warm cache {warm:.1f} %")
