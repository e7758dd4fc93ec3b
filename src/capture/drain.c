/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "capture/guarded.h"
#include "capture/objects.h"
#include "capture/pending.h"
#include "capture/priv.h"
#include "capture/wakers.h"
#include "proc/cgroup.h"
#include "profile/container.h"
#include "profile/profile.h"
#include "unwind/step_types.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SP_BATCH = 512, SP_MAX_CGROUP_PATH = 4096, SP_MANY_PROCESSES = 1024 };

int sp_drain_ring(struct ring_buffer *ring)
{
	int r = ring ? ring_buffer__consume(ring) : 0;

	return r < 0 ? sp_fail(r, "read a ring buffer") : 0;
}

struct frames { /* of a stack, by their numbers in the profile */
	uint32_t number[SP_MAX_FRAMES + 1];
	uint32_t n;
};

/* --- frames and stacks --- */
static uint32_t frame_flags(sp_u64 word)
{
	if ((word & SP_FRAME_MARKS) == SP_FRAME_RUNTIME)
		return SP_FRAMEF_RUNTIME;
	return (word & SP_FRAME_GUESSED ? SP_FRAMEF_GUESSED : 0) | (word & SP_FRAME_DERIVED ? SP_FRAMEF_DERIVED : 0);
}

/*
 * The file of a frame. Its message was reserved in `events` before any stack could name the file. But it may not have
 * been read yet: that ring was read before this stack came, or the reading ended at a message that another CPU was
 * still writing. So the ring is read again, and, if that does not help, once more when all programs that were running
 * have ended. A number that is unknown even then was never announced.
 */
static int64_t file_of(struct sp_capture *c, uint32_t id)
{
	uint32_t number = sp_files_number(c, id);
	int tries, r = 0;

	for (tries = 0; !number && r >= 0 && tries < 2; tries++) {
		r = tries ? sp_tables_grace(c->tables) : 0;
		if (r >= 0)
			r = sp_drain_ring(c->events);
		number = sp_files_number(c, id);
	}
	return r < 0 ? r : (int64_t)number;
}

static bool is_of_kernel(sp_u64 word)
{
	return word >> SP_FRAME_KIND_SHIFT == SP_FRAME_KERNEL;
}

int64_t sp_drain_file(struct sp_capture *c, sp_u64 word)
{
	return is_of_kernel(word) ? c->kernel_file : file_of(c, (word >> SP_FRAME_ID_SHIFT) & SP_FRAME_ID_MASK);
}

static int64_t frame_new(struct sp_capture *c, sp_u64 word)
{
	struct sp_frame frame = {0};
	int64_t file = sp_drain_file(c, word);

	if (file < 0)
		return file;
	if (is_of_kernel(word)) {
		frame.offset = (word & SP_FRAME_KERNEL_MASK) | ~SP_FRAME_KERNEL_MASK;
		frame.flags = SP_FRAMEF_KERNEL;
	} else {
		frame.offset = word & SP_FRAME_OFFSET_MASK;
		frame.flags = frame_flags(word);
	}
	frame.file = (uint32_t)file;
	return sp_profile_add_frame(c->profile, &frame);
}

int64_t sp_drain_frame(struct sp_capture *c, sp_u64 word)
{
	int64_t number = sp_numbers_find(&c->words, &word, sizeof(word));
	int r;

	if (number)
		return number;
	number = frame_new(c, word);
	r = number < 0 ? 0 : sp_numbers_set(&c->words, &word, sizeof(word), (uint32_t)number);
	return r < 0 ? r : number;
}

static void stack_classify(struct sp_stack *s, uint32_t stop)
{
	s->reason = stop & 0xff;
	if (s->reason == SP_STOP_NONE || s->reason == SP_STOP_GONE)
		s->stack_class = SP_CLASS_ABSENT;
	else if (!sp_stop_is_whole(s->reason))
		s->stack_class = SP_CLASS_CUT;
	else
		s->stack_class = stop & SP_STACK_HAS_GUESS ? SP_CLASS_GUESSED : SP_CLASS_COMPLETE;
}

int64_t sp_drain_gap(struct sp_capture *c, uint32_t file, const char *text)
{
	int64_t name = sp_profile_add_string(c->profile, text);
	struct sp_func func = {.name = (uint32_t)SP_MAX(name, 0), .file = file};
	int64_t number = name < 0 ? name : sp_profile_add_func(c->profile, &func);
	struct sp_frame frame = {.file = file, .func = (uint32_t)SP_MAX(number, 0), .flags = SP_FRAMEF_SHORTENED};

	return number < 0 ? number : sp_profile_add_frame_variant(c->profile, &frame, false);
}

/* Appends frames [from, to) of those walked. */
static int frames_add(struct sp_capture *c, const sp_u64 *words, uint32_t from, uint32_t to, struct frames *f)
{
	for (uint32_t i = from; i < to; i++) {
		int64_t number = sp_drain_frame(c, words[sp_frame_slot(i)]);

		if (number < 0)
			return (int)number;
		f->number[f->n++] = (uint32_t)number;
	}
	return 0;
}

/*
 * The frames next to the leaf, the gap, and those next to the root. The gap's file is that of the next frame towards
 * the root, so that no library appears that was not there.
 */
static int deep_frames(struct sp_capture *c, const struct sp_walked *walked, struct frames *f)
{
	uint32_t gap = SP_MAX_FRAMES - SP_ROOT_FRAMES;
	int r = frames_add(c, walked->words, 0, gap, f);
	int64_t number;

	f->n++;
	if (!r)
		r = frames_add(c, walked->words, walked->n - SP_ROOT_FRAMES, walked->n, f);
	if (r)
		return r;
	number = sp_drain_gap(c, sp_profile_frame(c->profile, f->number[gap + 1])->file, SP_SHORTENED);
	f->number[gap] = (uint32_t)number;
	return (int)SP_MIN(number, 0);
}

int64_t sp_drain_stack(struct sp_capture *c, const struct sp_walked *walked)
{
	struct frames f;
	struct sp_stack s = {.frames = f.number};
	int r;

	f.n = 0;
	if (walked->n && !is_of_kernel(walked->words[0]) && !sp_stack_share_take(&c->share, walked->uid, walked))
		r = sp_stack_share_fold(c, walked, f.number, &f.n);
	else if (walked->n <= SP_MAX_FRAMES)
		r = frames_add(c, walked->words, 0, walked->n, &f);
	else
		r = deep_frames(c, walked, &f);
	if (r)
		return r;
	s.n_frames = f.n;
	stack_classify(&s, walked->stop);
	return sp_profile_add_stack(c->profile, &s);
}

static int stack_record(struct sp_capture *c, const struct sp_message_stack *r, size_t size)
{
	struct sp_walked walked = {
	    .words = (const sp_u64 *)(r + 1), .n = r->n_frames + r->n_left_out, .stop = r->stop, .uid = r->uid};
	uint32_t skipped = 0;
	int64_t number;

	if (size < sizeof(*r) + 8UL * r->n_frames)
		return -EBADMSG;
	if (r->n_frames > SP_MAX_FRAMES || r->n_left_out > (r->n_frames == SP_MAX_FRAMES ? SP_WALK_FRAMES : 0))
		return sp_fail_said(-EBADMSG, "a stack of %u frames and %u more", r->n_frames, r->n_left_out);
	if (sp_numbers_find(&c->stacks, &r->id, sizeof(r->id)))
		return 0;
	number = sp_machinery_skip(c, walked.words, r->n_frames, &skipped);
	walked.words += skipped;
	walked.n -= skipped;
	if (number >= 0)
		number = sp_drain_stack(c, &walked);
	if (number < 0)
		return (int)number;
	return sp_numbers_set(&c->stacks, &r->id, sizeof(r->id), (uint32_t)number);
}

/* --- processes --- */
/* Notes the path of a process's cgroup at once, because a container may end at any time. "" = not known. */
static int cgroup_note(struct sp_capture *c, uint32_t process, sp_u64 id)
{
	uint32_t pid = sp_profile_process(c->profile, process)->pid;
	uint32_t known = id ? sp_numbers_find(&c->cgroups, &id, sizeof(id)) : 0;
	char path[SP_MAX_CGROUP_PATH];
	int r;

	if (known)
		return sp_profile_set_cgroup(c->profile, process, sp_profile_string(c->profile, known));
	if (!id || !pid || sp_cgroup_path(pid, id, path, sizeof(path)) < 0) {
		sp_error_clear();
		return 0;
	}
	r = sp_profile_set_cgroup(c->profile, process, path);
	return r < 0
		   ? r
		   : sp_numbers_set(&c->cgroups, &id, sizeof(id), sp_profile_process(c->profile, process)->cgroup_path);
}

/* A word for the root directory, since equal paths below another root mean other files. */
static int64_t root_word(struct sp_capture *c, const struct sp_fsroot_key *fsroot)
{
	const struct sp_fsroot_key *own = &c->own_fsroot;
	char word[64];

	if (!fsroot->ino || !own->ino ||
	    (fsroot->ino == own->ino && fsroot->dev == own->dev && fsroot->generation == own->generation))
		return 0;
	snprintf(word, sizeof(word), "%u:%u %llu.%u", fsroot->dev >> 20, fsroot->dev & 0xfffff,
		 (unsigned long long)fsroot->ino, fsroot->generation);
	return sp_profile_add_string(c->profile, word);
}

/*
 * What is executed by a descriptor (fexecve(3), /proc/self/fd/N) is called by the descriptor's number until it calls
 * itself something else. It gets the name of its file, which Linux 6.14 gives it for execveat(2).
 */
static int64_t process_name(struct sp_capture *c, const char comm[SP_COMM_LEN], uint32_t exe)
{
	size_t n = strnlen(comm, SP_COMM_LEN);
	const char *file = sp_profile_string(c->profile, sp_profile_file(c->profile, exe)->name);
	char name[SP_COMM_LEN] = "";

	if (n && n < SP_COMM_LEN && strspn(comm, "0123456789") == n)
		snprintf(name, sizeof(name), "%s", file);
	return *name ? sp_profile_add_string(c->profile, name) : sp_profile_add_bytes(c->profile, comm, SP_COMM_LEN);
}

static int process_record(struct sp_capture *c, const struct sp_message_process *r)
{
	struct sp_process p = {.pid = r->pid == SP_PID_HIDDEN ? 0
				      : r->pid                ? r->pid
							      : r->key.tgid,
			       .ns_pid = r->ns_tgid,
			       .uid = r->uid,
			       .exec_id = r->key.exec_id,
			       .start_ns = r->key.start_ns};
	int64_t comm, root = root_word(c, &r->fsroot), number;
	struct sp_process *known;
	int error;

	p.exe = sp_files_number(c, r->exe);
	comm = process_name(c, r->comm, p.exe);
	if (comm < 0 || root < 0)
		return (int)(comm < 0 ? comm : root);
	p.comm = (uint32_t)comm;
	p.root = (uint32_t)root;
	p.cgroup = r->cgroup;
	number = sp_profile_add_process(c->profile, &p);
	if (number < 0)
		return (int)number;
	known = sp_profile_process(c->profile, (uint32_t)number);
	if (p.exe && !known->exe) /* an earlier announcement, within execve, had none */
		known->comm = p.comm;
	if (p.exe)
		known->exe = p.exe;
	error = sp_numbers_set(&c->process_keys, &r->key, sizeof(r->key), (uint32_t)number);
	if (!error)
		error = sp_grow(&c->process, &c->n_process, (size_t)r->id + 1, sizeof(*c->process));
	if (error)
		return error;
	c->process[r->id] = (uint32_t)number;
	c->n_announced++;
	return cgroup_note(c, (uint32_t)number, r->cgroup);
}

/* Moves a new file to the map `files`: added there first, so that the kernel half gives it no second id in between. */
static int file_take(struct sp_capture *c, const struct sp_message_file *r)
{
	if (r->is_new) {
		bpf_map_update_elem(c->files_fd, &r->key, &(sp_u64){r->id}, BPF_NOEXIST);
		bpf_map_delete_elem(c->new_files_fd, &r->key);
	}
	return sp_files_record(c, r);
}

static int record_dispatch(struct sp_capture *c, const void *data, size_t size)
{
	switch (*(const sp_u32 *)data) {
	case SP_MESSAGE_FILE:
		return size < sizeof(struct sp_message_file) ? -EBADMSG : file_take(c, data);
	case SP_MESSAGE_PROCESS:
		return size < sizeof(struct sp_message_process) ? -EBADMSG : process_record(c, data);
	case SP_MESSAGE_STACK:
		return size < sizeof(struct sp_message_stack) ? -EBADMSG : stack_record(c, data, size);
	case SP_MESSAGE_PENDING:
		return size < offsetof(struct sp_message_pending, sent) ? -EBADMSG : sp_pending_take(c, data, size);
	case SP_MESSAGE_OBJECT:
		return size < sizeof(struct sp_message_object) ? -EBADMSG : sp_objects_take(c, data);
	case SP_MESSAGE_WAKER:
		return size < sizeof(struct sp_message_waker) ? -EBADMSG : sp_wakers_take(c, data);
	case SP_MESSAGE_STACK_ABOVE:
		return size < sizeof(struct sp_message_stack_above) ? -EBADMSG : sp_stack_above_take(c, data, size);
	default:
		return -EBADMSG;
	}
}

int sp_drain_message(void *capture, void *data, size_t size)
{
	struct sp_capture *c = capture;
	int r = size < sizeof(sp_u32) ? -EBADMSG : record_dispatch(c, data, size);

	if (r < 0 && !c->failure)
		c->failure = sp_fail(r, "take in a record of the kernel half");
	return 0;
}

/* --- counts --- */
static int state_label(struct sp_capture *c, uint32_t state, struct sp_label *ret_label)
{
	static const char *const words[SP_N_TASK_STATES] = {"unknown", "preempted", "sleeping", "disk sleep",
							    "stopped", "running",   "woken"};
	int64_t name = sp_profile_add_string(c->profile, "state");
	int64_t word = sp_profile_add_string(c->profile, words[SP_MIN(state, SP_N_TASK_STATES) % SP_N_TASK_STATES]);

	*ret_label = (struct sp_label){.name = (uint32_t)SP_MAX(name, 0), .word = (uint32_t)SP_MAX(word, 0)};
	return name < 0 || word < 0 ? -ENOMEM : 0;
}

/* Where a recipe samples threads that run, and counts the time in which they do not, its samples are of the former. */
static uint32_t state_of(const struct sp_capture *c, const struct sp_count_key *k)
{
	const struct sp_recipe *recipe = c->o.recipes[k->recipe];

	return !k->state && sp_recipe_has_rate(recipe) && sp_recipe_counts(recipe) ? SP_TASK_RUNNING : k->state;
}

/* The set of a row's labels; 0: it has none. */
static int64_t labels_of(struct sp_capture *c, const struct sp_count_key *k)
{
	struct sp_label labels[2 + SP_OBJECT_LABELS];
	uint32_t state = state_of(c, k);
	int n = sp_objects_labels(c, k, labels), r = 0;

	if (n >= 0 && state)
		r = state_label(c, state, &labels[n++]);
	if (n >= 0 && r >= 0 && k->waker) {
		r = sp_wakers_label(c, k->waker, &labels[n]);
		n += r > 0;
	}
	return n < 0 || r < 0 ? SP_MIN(n, r) : sp_profile_add_labels(c->profile, labels, (size_t)n);
}

static int key_of(struct sp_capture *c, const struct sp_count_key *k, struct sp_key *ret_key)
{
	struct sp_key key = {.process = sp_numbers_find(&c->process_keys, &k->process, sizeof(k->process))};
	int64_t comm = sp_profile_add_bytes(c->profile, k->comm, sizeof(k->comm));
	int64_t recipe = sp_profile_add_string(c->profile, c->o.recipes[k->recipe]->name);
	int64_t labels = labels_of(c, k);

	if (comm < 0 || recipe < 0 || labels < 0)
		return -ENOMEM;
	key.comm = (uint32_t)comm;
	key.labels = (uint32_t)labels;
	key.recipe = (uint32_t)recipe;
	key.slice = c->o.slices ? (k->slice_unit >> c->slice_shift) + 1 : 0;
	*ret_key = key;
	return 0;
}

uint32_t sp_drain_stack_number(struct sp_capture *c, sp_u64 id, sp_u64 n)
{
	uint32_t number = id ? sp_numbers_find(&c->stacks, &id, sizeof(id)) : 0;

	if (id && !number)
		c->stats.n_lost_frames += n;
	return number;
}

uint32_t sp_drain_user_stack(struct sp_capture *c, const struct sp_count_key *key, sp_u64 n)
{
	return c->o.user ? sp_drain_stack_number(c, key->user_stack, n) : 0;
}

int sp_drain_add(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value,
		 uint32_t user_stack)
{
	const unsigned *value_of;
	int64_t values[SP_MAX_VALUES] = {0}, number;
	uint32_t kernel_stack;
	struct sp_key k;

	if (key->recipe >= SP_MAX_RECIPES || !c->o.recipes[key->recipe])
		return sp_fail_said(-EBADMSG, "a sample of recipe %u", key->recipe);
	kernel_stack = sp_drain_stack_number(c, key->kernel_stack, value->n);
	if (c->o.numbered)
		return c->o.numbered(c->o.numbered_arg, key->slice_unit, user_stack, kernel_stack);
	number = key_of(c, key, &k);
	if (!number && key->waker)
		number = sp_wakers_join(c, key->waker, &k, &user_stack, &kernel_stack);
	if (number >= 0)
		number = sp_profile_add_key(c->profile, &k);
	if (number < 0)
		return (int)number;
	value_of = c->value_of[key->recipe];
	values[value_of[1]] = (int64_t)value->weight;
	values[value_of[0]] = (int64_t)value->n;
	return sp_profile_add(c->profile, (uint32_t)number, user_stack, kernel_stack, values);
}

static int row_add(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value)
{
	if (key->object || key->waker)
		return sp_objects_keep(c, key, value);
	if (c->o.user && key->user_stack && !sp_numbers_find(&c->stacks, &key->user_stack, sizeof(key->user_stack)) &&
	    sp_pending_count(c, key, value))
		return 0;
	return sp_drain_add(c, key, value, sp_drain_user_stack(c, key, value->n));
}

size_t sp_drain_key_bytes(const struct sp_capture_options *o)
{
	if (o->wakers)
		return sizeof(struct sp_count_key);
	return o->objects ? offsetof(struct sp_count_key, waker) : offsetof(struct sp_count_key, object);
}

/* keys: of the size that they have in the session's tables. */
static int batch_add(struct sp_capture *c, const char *keys, const struct sp_count *values, uint32_t n)
{
	size_t bytes = sp_drain_key_bytes(&c->o);
	struct sp_count_key key = {0};
	uint32_t i;
	int r = 0;

	for (i = 0; i < n && r >= 0; i++) {
		memcpy(&key, keys + i * bytes, bytes);
		r = row_add(c, &key, &values[i]);
	}
	return SP_MIN(r, 0);
}

int sp_drain_episode(struct sp_capture *c, const struct sp_episode *e, uint64_t now_ns)
{
	uint64_t ns = now_ns - e->since_ns;
	struct sp_count_key woken = e->key;
	int r;

	if (!e->since_ns || now_ns < e->since_ns || !sp_episode_counts(e, ns))
		return 0;
	if (e->woken_ns)
		woken.state = SP_TASK_WOKEN; /* as sp_episode_split() does */
	if (e->woken_ns <= e->since_ns)
		return row_add(c, &woken, &(struct sp_count){.n = !e->is_counted, .weight = ns * e->times});
	if (e->woken_ns >= now_ns)
		return row_add(c, &e->key, &(struct sp_count){.n = !e->is_counted, .weight = ns * e->times});
	ns = e->woken_ns - e->since_ns;
	r = row_add(c, &e->key, &(struct sp_count){.n = !e->is_counted, .weight = ns * e->times});
	return r < 0 ? r : row_add(c, &woken, &(struct sp_count){.weight = (now_ns - e->woken_ns) * e->times});
}

/* Counts the open episodes of one recipe up to now, and removes them; or those of all (-1), which stay. */
static int episodes_count(struct sp_capture *c, int recipe, uint64_t now_ns)
{
	struct sp_episode_key at, next;
	struct sp_episode episode;
	bool more = c->episodes_fd >= 0 && !bpf_map_get_next_key(c->episodes_fd, NULL, &at);
	int r = 0;

	for (; more && !r; at = next) {
		more = !bpf_map_get_next_key(c->episodes_fd, &at, &next);
		if ((recipe >= 0 && at.recipe != (sp_u64)recipe) || bpf_map_lookup_elem(c->episodes_fd, &at, &episode))
			continue;
		r = sp_drain_episode(c, &episode, now_ns);
		if (recipe >= 0)
			bpf_map_delete_elem(c->episodes_fd, &at);
	}
	return r;
}

/* Those of all, when no program runs any more. */
int sp_drain_episodes(struct sp_capture *c, uint64_t now_ns)
{
	return episodes_count(c, -1, now_ns);
}

int sp_drain_episodes_end(struct sp_capture *c, unsigned recipe, uint64_t now_ns)
{
	return episodes_count(c, (int)recipe, now_ns);
}

int sp_drain_give_up(struct sp_capture *c)
{
	struct sp_episode_key at, *from = NULL;
	struct sp_episode e;

	for (; c->episodes_fd >= 0 && !bpf_map_get_next_key(c->episodes_fd, from, &at); from = &at)
		c->n_given_up += !bpf_map_lookup_elem(c->episodes_fd, &at, &e) && e.since_ns;
	return c->episodes_fd < 0 ? 0 : sp_drain_forget(c->episodes_fd, sizeof(at), sizeof(struct sp_episode));
}

/* Empties that one of the two tables of counts which no program uses any more. */
int sp_drain_counts(struct sp_capture *c, unsigned odd)
{
	SP_FREE char *keys = calloc(SP_BATCH, sizeof(struct sp_count_key));
	SP_FREE struct sp_count *values = calloc(SP_BATCH, sizeof(*values));
	uint32_t position = 0, n, size = SP_BATCH;
	void *from = NULL;
	int r, failed;

	if (!keys || !values)
		return -ENOMEM;
	do {
		n = size;
		failed = bpf_map_lookup_and_delete_batch(c->counts_fd[odd], from, &position, keys, values, &n, NULL);
		if (failed && errno == ENOSPC && size < (1U << 20)) {
			/*
			 * A bucket of the map holds more than the batch, so nothing was taken: try again with more
			 * room.
			 */
			size *= 2;
			free(sp_take_ptr(keys));
			free(sp_take_ptr(values));
			keys = calloc(size, sizeof(struct sp_count_key));
			values = calloc(size, sizeof(*values));
			if (!keys || !values)
				return -ENOMEM;
			failed = 0;
			continue;
		}
		if (failed && errno != ENOENT)
			return sp_fail(-errno, "drain the table of counts");
		r = batch_add(c, keys, values, n);
		if (r < 0)
			return r;
		from = &position;
	} while (!failed);
	return 0;
}

/*
 * Empties the kernel half's table of processes before it is full. Processes that still run are announced again, and
 * keep their numbers in the profile.
 */
int sp_drain_processes(struct sp_capture *c)
{
	int r;

	if (c->n_announced < SP_MANY_PROCESSES)
		return 0;
	r = sp_drain_forget(c->processes_fd, sizeof(struct sp_process_key), sizeof(sp_u64));
	if (r < 0)
		return sp_fail(r, "empty the table of processes");
	c->n_announced = 0;
	return 0;
}

int sp_drain_forget(int map_fd, size_t key_bytes, size_t value_bytes)
{
	SP_FREE void *keys = calloc(SP_BATCH, key_bytes), *values = calloc(SP_BATCH, value_bytes);
	uint32_t position = 0, n;
	void *from = NULL;
	int failed;

	if (!keys || !values)
		return -ENOMEM;
	do {
		n = SP_BATCH;
		failed = bpf_map_lookup_and_delete_batch(map_fd, from, &position, keys, values, &n, NULL);
		if (failed && errno != ENOENT)
			return -errno;
		from = &position;
	} while (!failed);
	return 0;
}
