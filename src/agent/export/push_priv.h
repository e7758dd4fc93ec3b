/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_priv.h: the parts of push.h: which services an interval has (push_services.c), a request with its answer
 * (push_post.c).
 *
 * A service is a unit of systemd without its suffix and instance (nginx.service: nginx), else the name of the process.
 * It has letters, digits, and -._ only, as all who get it take it. Names come from the programs, so an interval has at
 * most SP_PUSH_SERVICES of them; what all others cost is in "other". The same interval has the same services each time
 * it is read. 0 or a negative errno.
 */
#ifndef SP_AGENT_EXPORT_PUSH_PRIV_H
#define SP_AGENT_EXPORT_PUSH_PRIV_H

#include "agent/export/push.h"
#include <stdio.h>

struct sp_profile;
struct sp_row;

enum { SP_PUSH_SERVICES = 100, SP_PUSH_SERVICE_MAX = 100 };
struct sp_push_services {
	uint32_t slice;
	struct sp_intern *names;
	uint32_t *of_key; /* of the profile: number of its name, as its interval has it */
	uint32_t *order;  /* numbers of the names that the interval has, by name */
	size_t n;
};
/* value: by which services are weighed. */
int sp_push_services_find(const struct sp_profile *p, uint32_t slice, uint32_t value, struct sp_push_services *ret);
void sp_push_services_done(struct sp_push_services *s);
const char *sp_push_service_name(const struct sp_push_services *s, size_t i);
/* A profile with the rows of the i-th, without who they are of. */
int sp_push_service_profile(const struct sp_push_services *s, const struct sp_profile *p, size_t i,
			    struct sp_profile **ret_profile);

/* --- requests --- */
struct sp_push_client;
int sp_push_open(const struct sp_push *p, struct sp_push_client **ret_client);
void sp_push_close(struct sp_push_client *c);
/* Of the last answer: after how many seconds to ask again; 0: it does not say. */
uint64_t sp_push_later_s(const struct sp_push_client *c);

struct sp_push_message {
	const char *query;         /* behind the path; "" = none */
	const char *type, *coding; /* Content-Type, Content-Encoding; NULL = none */
	const void *body;
	size_t n_body;
};
/* 0: taken. 1: refused as wrong, with the reason. Negative: neither. */
int sp_push_post(struct sp_push_client *c, const struct sp_push_message *m, char why[SP_PUSH_WHY]);

#endif
