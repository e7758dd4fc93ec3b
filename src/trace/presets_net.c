/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_net.c: presets about TCP. Addresses and ports are IPv4's; those of IPv6 are 0.0.0.0. */
#include "trace/presets.h"

const struct sp_trace_preset sp_trace_presets_net[] = {
    {.name = "tcpstates",
     .summary = "connections of TCP, from state to state",
     .event = "sock:inet_sock_set_state[protocol == 6]",
     .print = "old=oldstate, new=newstate, sport, dport, family"},
    {.name = "tcpconnect",
     .summary = "connections that are asked for",
     .event = "raw:inet_sock_set_state[sk->sk_protocol == 6 && newstate == 2]",
     .print = "to=sk->__sk_common.skc_daddr, dport=(sk->__sk_common.skc_dport & 255) << 8 | "
	      "sk->__sk_common.skc_dport >> 8, family=sk->__sk_common.skc_family"},
    {.name = "tcpconnlat",
     .summary = "how long connecting takes, and what comes of it",
     .event = "raw:inet_sock_set_state[sk->sk_protocol == 6 && newstate == 2].."
	      "raw:inet_sock_set_state[oldstate == 2 && newstate != 2] on sk",
     .print = "to=sk->__sk_common.skc_daddr, dport=(sk->__sk_common.skc_dport & 255) << 8 | "
	      "sk->__sk_common.skc_dport >> 8, state=newstate, dur"},
    {.name = "tcpretrans",
     .summary = "segments of TCP that are sent again",
     .event = "raw:tcp_retransmit_skb",
     .print = "to=sk->__sk_common.skc_daddr, dport=(sk->__sk_common.skc_dport & 255) << 8 | "
	      "sk->__sk_common.skc_dport >> 8, state=sk->__sk_common.skc_state"},
    {0},
};
