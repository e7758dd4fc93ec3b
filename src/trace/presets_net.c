/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_net.c: presets about TCP. A socket of IPv4 has its addresses in the form of IPv6, too: ::ffff:192.0.2.1. */
#include "trace/presets.h"

#include <sys/syscall.h>

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
#define TCP "sk->sk_protocol == 6"
#define PEER_OF(socket) "kstr(" socket "->__sk_common.skc_v6_daddr.in6_u.u6_addr8, 16)"
#define PEER "to=" PEER_OF("sk") ", dport=sk->__sk_common.skc_dport"
#define ASKED_FOR "raw:inet_sock_set_state[" TCP " && newstate == 2]"
#define ACCEPTED                                                                                                       \
	"raw:sys_exit[sys in {" NUMBER(SYS_accept) ", " NUMBER(                                                        \
	    SYS_accept4) "}] on "                                                                                      \
			 "((struct socket *)task->files->fdt->fd[ret]->private_data)->sk"
#define COME_IN "raw:inet_sock_set_state[" TCP " && oldstate == 3 && newstate == 1]"

/*
 * What comes in is told in an interrupt, whose thread has nothing to do with it: the process is known when it accepts
 * the connection. Where accept(2) fails there is no such file, and no pair is found.
 */
const struct sp_trace_preset sp_trace_presets_net[] = {
    {.name = "tcpstates",
     .summary = "connections of TCP, from state to state",
     .event = "raw:inet_sock_set_state[" TCP "]",
     .print = "old=oldstate, new=newstate, port=sk->__sk_common.skc_num, " PEER},
    {.name = "tcpconnect", .summary = "connections that are asked for", .event = ASKED_FOR, .print = PEER},
    {.name = "tcpaccept",
     .summary = "connections that are accepted, and their wait",
     .event = COME_IN "{peer=(struct sock *)sk, sport=sk->__sk_common.skc_dport, port=sk->__sk_common.skc_num} on "
		      "sk..&" ACCEPTED,
     .print = "from=" PEER_OF("peer") ", sport, port, dur"},
    {.name = "tcpconnlat",
     .summary = "how long connecting takes, and what comes of it",
     .event = ASKED_FOR "..raw:inet_sock_set_state[oldstate == 2 && newstate != 2] on sk",
     .print = PEER ", state=newstate, dur"},
    {.name = "tcplife",
     .summary = "connections that end: age, bytes, both ends",
     .event = ASKED_FOR " on sk | " COME_IN " on sk &" ACCEPTED "..raw:inet_sock_set_state[newstate == 7] on sk",
     .print = PEER ", port=((struct inet_sock *)sk)->inet_sport, sent_bytes=((struct tcp_sock *)sk)->bytes_acked, "
		   "got_bytes=((struct tcp_sock *)sk)->bytes_received, dur"},
    {.name = "tcpsynbl",
     .needs_kprobes = true,
     .summary = "how full queues are when connections come in",
     /* what comes by IPv4 to a socket of IPv6 passes both */
     .event = "kprobe:tcp_v4_syn_recv_sock; kprobe:tcp_v6_syn_recv_sock[skb->protocol != 8]",
     .of_machine = true, /* in interrupts */
     .by = "most=sk->sk_max_ack_backlog",
     .hist = "waiting=sk->sk_ack_backlog"},
    {.name = "tcpretrans",
     .summary = "segments of TCP that are sent again",
     .event = "raw:tcp_retransmit_skb",
     .of_machine = true, /* timers send again, in the name of whichever thread runs */
     .print = PEER ", state=sk->__sk_common.skc_state"},
    {0},
};
