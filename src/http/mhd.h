/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mhd.h: libmicrohttpd, loaded at run time. Private to src/http.
 *
 * Loading it, with gnutls, takes 2 ms, and few of soprof's runs serve HTTP. So the first server loads it, and it stays
 * loaded. Its functions are called through sp_mhd, with the types of its header. -ELIBACC with dlopen(3)'s message.
 * One thread at a time.
 */
#ifndef SP_HTTP_MHD_H
#define SP_HTTP_MHD_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define SP_MHD_FUNCTIONS(X)                                                                                            \
	X(start_daemon)                                                                                                \
	X(stop_daemon)                                                                                                 \
	X(run)                                                                                                         \
	X(get_timeout)                                                                                                 \
	X(get_daemon_info)                                                                                             \
	X(get_connection_info)                                                                                         \
	X(add_connection)                                                                                              \
	X(suspend_connection)                                                                                          \
	X(resume_connection)                                                                                           \
	X(lookup_connection_value)                                                                                     \
	X(get_connection_values)                                                                                       \
	X(queue_response)                                                                                              \
	X(destroy_response)                                                                                            \
	X(add_response_header)                                                                                         \
	X(create_response_from_buffer)                                                                                 \
	X(create_response_from_fd_at_offset64)

struct sp_mhd {
#define SP_MHD_MEMBER(name) __typeof__(MHD_##name) *name;
	SP_MHD_FUNCTIONS(SP_MHD_MEMBER)
};
extern struct sp_mhd sp_mhd;

int sp_mhd_load(void);

#endif
