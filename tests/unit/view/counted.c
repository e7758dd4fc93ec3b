/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted.c: see counted.h. */
#include "counted.h"

#include "base/mem.h"
#include "bpf/wire.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t ok(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

struct counted counted_new(bool with_times)
{
	struct counted c = {.with_times = with_times};
	struct sp_profile_info *info;

	assert_int_equal(sp_profile_new(&c.p), 0);
	assert_true(sp_profile_add_value_type(c.p, "calls", "count") >= 0);
	if (!with_times)
		return c;
	assert_true(sp_profile_add_value_type(c.p, "cpu", "nanoseconds") >= 0);
	info = sp_profile_info(c.p);
	info->period = 1000000000 / COUNTED_HZ;
	info->period_type.name = ok(sp_profile_add_string(c.p, "cpu"));
	info->period_type.unit = ok(sp_profile_add_string(c.p, "nanoseconds"));
	return c;
}

uint32_t counted_file(struct counted *c, const char *name)
{
	char path[256];
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = sp_profile_n_files(c->p)};

	snprintf(path, sizeof(path), "/usr/lib/%s", name);
	f.name = ok(sp_profile_add_string(c->p, name));
	f.path = ok(sp_profile_add_string(c->p, path));
	return ok(sp_profile_add_file(c->p, &f));
}

uint32_t counted_frame(struct counted *c, uint32_t file, const char *name, uint64_t vaddr)
{
	struct sp_frame frame = {.file = file, .offset = name ? vaddr - 0x1000 : 0};
	struct sp_func f = {.file = file, .start = frame.offset, .size = 0x20, .vaddr = vaddr};

	if (!name)
		return ok(sp_profile_add_frame(c->p, &frame));
	f.name = ok(sp_profile_add_string(c->p, name));
	f.is_range = strstr(name, "+0x") != NULL;
	frame.func = ok(sp_profile_add_func(c->p, &f));
	return ok(sp_profile_add_frame(c->p, &frame));
}

static uint32_t stack(struct counted *c, uint32_t leaf, uint32_t caller)
{
	uint32_t frames[] = {leaf, caller};
	struct sp_stack s = {SP_CLASS_COMPLETE, SP_STOP_COMPLETE, caller ? 2 : 1, frames};

	return ok(sp_profile_add_stack(c->p, &s));
}

void counted_calls(struct counted *c, uint32_t from, uint32_t to, int64_t calls)
{
	int64_t values[] = {calls, 0};

	assert_int_equal(sp_profile_add(c->p, 0, stack(c, to, from), 0, values), 0);
}

void counted_time(struct counted *c, uint32_t leaf, uint32_t caller, int64_t ticks)
{
	int64_t values[] = {0, ticks * (1000000000 / COUNTED_HZ)};

	if (c->with_times)
		assert_int_equal(sp_profile_add(c->p, 0, stack(c, leaf, caller), 0, values), 0);
}

static void libone(struct counted *c, uint32_t program, uint32_t whole)
{
	uint32_t one = counted_file(c, "libone.so");
	uint32_t open = counted_frame(c, one, "one_open", 0x2000), close = counted_frame(c, one, "one_close", 0x2100);
	uint32_t walk = counted_frame(c, one, "ns::walk(int, std::string const&)", 0x3000);
	uint32_t each = counted_frame(c, one, "ns::each(char)", 0x3081),
		 inner = counted_frame(c, one, "libone.so+0x4000", 0x4000);
	uint32_t leaf = counted_frame(c, one, "_leaf", 0x5000), idle = counted_frame(c, one, "idle", 0x5100);

	counted_calls(c, program, open, 3);
	counted_calls(c, whole, open, 2);
	counted_calls(c, 0, open, 1);
	counted_calls(c, program, close, 20000000024);
	counted_calls(c, open, walk, 5);
	counted_calls(c, walk, each, 700);
	counted_calls(c, each, walk, 650);
	counted_calls(c, each, each, 40);
	counted_calls(c, inner, each, 2);
	counted_calls(c, each, leaf, 100000);
	counted_calls(c, leaf, leaf, 77);
	counted_calls(c, close, leaf, 1234567);
	counted_calls(c, walk, inner, 9);
	counted_calls(c, inner, leaf, 12);
	counted_time(c, leaf, each, 90000);
	counted_time(c, each, walk, 12);
	counted_time(c, walk, open, 33);
	counted_time(c, idle, 0, 7);
	counted_time(c, close, program, 250);
	counted_time(c, program, 0, 5000); /* which is outside */
}

static void libtwo(struct counted *c, uint32_t program, uint32_t whole)
{
	uint32_t two = counted_file(c, "libtwo.so");
	uint32_t ping = counted_frame(c, two, "ping", 0x2000), pong = counted_frame(c, two, "pong", 0x2040);
	uint32_t odd = counted_frame(c, two, "od\x1b[31md\xff", 0x2080);
	uint32_t far = counted_frame(c, two, "far", 0x7fffffff0000);

	counted_calls(c, whole, ping, 11);
	counted_calls(c, ping, pong, 30);
	counted_calls(c, pong, ping, 19);
	counted_calls(c, program, pong, 1);
	counted_calls(c, pong, odd, 4);
	counted_calls(c, odd, far, 8);
	counted_time(c, ping, whole, 31);
	counted_time(c, odd, pong, 64);
	counted_time(c, far, odd, 3);
}

struct sp_profile *counted_profile(bool with_times)
{
	struct counted c = counted_new(with_times);
	uint32_t git = counted_file(&c, "git"), awk = counted_file(&c, "awk");
	uint32_t program = counted_frame(&c, git, "cmd_main", 0x8000), whole = counted_frame(&c, awk, NULL, 0);

	libone(&c, program, whole);
	libtwo(&c, program, whole);
	return c.p;
}
