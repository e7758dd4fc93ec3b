/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_block.c: presets about requests to disks. */
#include "trace/presets.h"

/* A request that is completed in parts ends with the first of them. */
#define REQUEST(kept) "raw:block_rq_issue" kept "..raw:block_rq_complete on rq"

const struct sp_trace_preset sp_trace_presets_block[] = {
    {.name = "biolatency", .summary = "how long disks take, a histogram", .event = REQUEST(""), .hist = "dur"},
    {.name = "biosnoop",
     .summary = "requests to disks, and how long they take",
     .event = REQUEST("{op=rq->cmd_flags & 255, sector=rq->__sector, bytes=rq->__data_len, "
		      "dev=rq->part->bd_dev}"),
     .print = "dev, op, sector, bytes, error, dur"},
    {.name = "bitesize",
     .summary = "sizes of requests to disks, a histogram",
     .event = "raw:block_rq_issue",
     .by = "comm",
     .hist = "bytes=rq->__data_len"},
    {.name = "biotop",
     .summary = "who asks disks for how much, and how long it takes",
     .event = REQUEST("{bytes=rq->__data_len, dev=rq->part->bd_dev}"),
     .by = "comm, pid, dev",
     .sum = "bytes, dur"},
    {0},
};
