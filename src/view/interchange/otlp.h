/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp.h: a profile as a request of OTLP's profiles signal, an ExportProfilesServiceRequest, gzip'd.
 *
 * The signal is in development, so its fields may change from release to release: these are opentelemetry-proto
 * 1.10.0's (opentelemetry.proto.profiles.v1development). One resource with one profile: values of one type, stacks
 * without who they are of. Addresses are made up, as pprof.c's are; a mapping has its build id, a location the kind of
 * its frame, by OpenTelemetry's semantic conventions. Names are valid UTF-8 without control characters.
 * 0 or a negative errno: -ENOMEM, or the stream's. No state; reentrant.
 */
#ifndef SP_VIEW_INTERCHANGE_OTLP_H
#define SP_VIEW_INTERCHANGE_OTLP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;

struct sp_otlp_attribute {
	const char *key, *value;
};
struct sp_otlp_about {
	const struct sp_otlp_attribute *resource;
	size_t n_resource;
	uint32_t value;                        /* which of the profile's */
	uint64_t time_ns, duration_ns;         /* since 1970 */
	const char *period_type, *period_unit; /* what a unit of the value stands for: "cpu", "nanoseconds" */
	uint64_t period;                       /* so many of them */
	uint8_t id[16];                        /* the same for the same profile, so that who has it twice can tell */
};
int sp_otlp_write(const struct sp_profile *p, const struct sp_otlp_about *about, FILE *out);

/*
 * An answer to such a request (ExportProfilesServiceResponse): how many profiles were rejected, and why, cut to the
 * buffer. -EBADMSG: it is none.
 */
int sp_otlp_answer_read(const void *bytes, size_t n, uint64_t *ret_n_rejected, char *ret_why, size_t size);

#endif
