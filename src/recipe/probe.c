/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "probe/attach.h"
#include "probe/point.h"
#include "recipe/fields.h"
#include "recipe/marks.h"
#include "recipe/probe_priv.h"
#include "recipe/tracepoint.h"
#include "worker/jobs_probes.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_ARGUMENTS = 6, RETURNED = N_ARGUMENTS };
/*
 * Of all files that are meant: each place takes the kernel memory, which it counts for nobody, and who makes a file may
 * give a million functions the name that is asked for.
 */
enum { MAX_PLACES = 1 << 18 };
/* As bpf/x86_64/call.bpf.h numbers them. */
#define FIELDS                                                                                                         \
	"long arg0, long arg1, long arg2, long arg3, long arg4, long arg5, long retval, void *ip, void *sp, long ax, " \
	"long bx, long bp"

/* --- names --- */
/* Whether it is no tracepoint's system, so that a program may be meant: a build id, or what tracefs does not have. */
static bool is_no_system(const char *name, size_t n)
{
	const char *root = sp_tracepoints_root();
	char path[128];

	if (n >= 8 && strspn(name, "0123456789abcdef") >= n)
		return true;
	if (!root || n > 48 || (n == 3 && !strncmp(name, "raw", n)))
		return false;
	snprintf(path, sizeof(path), "%s/%.*s", root, (int)n, name);
	return access(path, F_OK) && errno == ENOENT;
}

bool sp_recipe_probe_is(const char *name)
{
	struct sp_probe_asked asked;
	const char *colon = strrchr(name, ':');
	size_t n = colon ? (size_t)(colon - name) : 0;
	bool is = !strncmp(name, "usdt:", 5);

	if (is ||
	    (n && (memchr(name, '.', n) || memchr(name, '/', n) || memchr(name, ':', n) || is_no_system(name, n))))
		return true;
	if (n || sp_probe_asked_parse(name, &asked) < 0) {
		sp_error_clear();
		return false;
	}
	is = asked.has_address;
	sp_probe_asked_done(&asked);
	return is;
}

/* All functions are meant by a glob alone. */
static int asked_take(const char *name, struct sp_probe_asked *asked)
{
	int r = sp_probe_asked_parse(name, asked);

	return r < 0 || asked->function || asked->has_address
		   ? r
		   : sp_fail_said(
			 -EINVAL,
			 "'%s' is no place in a library: LIBRARY:FUNCTION, LIBRARY+0xADDRESS, usdt:LIBRARY:NAME", name);
}

static void point_make(const char *name, struct sp_recipe_probe *p, struct sp_recipe_point *ret_point)
{
	p->program = p->front = -1;
	*ret_point = (struct sp_recipe_point){
	    .at = SP_AT_PROBE,
	    .where = name,
	    .arguments = p->asked.is_usdt ? "" : FIELDS,
	    .probe = p,
	    .slot = {.role = SP_ROLE_EVENT,
		     .flags = SP_SLOT_USER | SP_SLOT_PROBE | SP_SLOT_NO_KTHREAD,
		     .value = SP_NO_REG,
		     .match = SP_NO_REG,
		     .state = SP_NO_REG,
		     .times = SP_NO_REG},
	};
}

int sp_recipe_probe_point(const char *name, struct sp_recipe_point *ret_point)
{
	struct sp_recipe_probe *p = calloc(1, sizeof(*p));
	int r = p ? asked_take(name, &p->asked) : -ENOMEM;

	if (r < 0)
		sp_recipe_probe_free(p);
	else
		point_make(name, p, ret_point);
	return r;
}

int sp_recipe_probe_empty(const char *what, bool returns, struct sp_recipe_point *ret_point)
{
	struct sp_recipe_probe *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->asked.library = strdup(what);
	p->returns = returns;
	p->is_put = true;
	if (!p->asked.library) {
		sp_recipe_probe_free(p);
		return -ENOMEM;
	}
	point_make(p->asked.library, p, ret_point);
	return 0;
}

/* --- places --- */
static int place_add(struct places *places, uint64_t offset, uint64_t semaphore)
{
	int r = sp_grow(&places->offsets, &places->capacity, places->n + 1, sizeof(*places->offsets));

	if (r >= 0)
		r = sp_grow(&places->semaphores, &places->semaphores_capacity, places->n + 1,
			    sizeof(*places->semaphores));
	if (r < 0)
		return r;
	places->offsets[places->n] = offset;
	places->semaphores[places->n++] = semaphore;
	return 0;
}

static bool is_stepped(const struct sp_probe_point *point)
{
	return point->cost == SP_PROBE_STEPPED || (point->cost == SP_PROBE_NOP5 && !sp_probe_nop5_is_fast());
}

static int places_check(const struct sp_recipe_probe *p, size_t n)
{
	return p->n_places + n > MAX_PLACES
		   ? sp_fail_said(-E2BIG, "more than %d places, with those of other files", MAX_PLACES)
		   : 0;
}

static int functions_take(struct sp_recipe_probe *p, const struct sp_probe_set *set, struct places *places)
{
	int r = p->returns && set->is_go
		    ? sp_fail_said(-EOPNOTSUPP,
				   "a Go program's stacks move, so there is no probe of a call's end: no retval")
		    : places_check(p, set->n);

	for (size_t i = 0; i < set->n && r >= 0; i++) {
		r = place_add(places, set->points[i].offset, 0);
		p->n_stepped += is_stepped(&set->points[i]);
	}
	return r;
}

static int marks_take(const struct sp_recipe_probe *p, struct sp_usdts *marks, struct places *places)
{
	int r = places_check(p, marks->n);

	for (size_t i = 0; i < marks->n && r >= 0; i++)
		r = place_add(places, marks->at[i].offset, marks->at[i].semaphore);
	if (r < 0)
		return r;
	places->marks = *marks;
	*marks = (struct sp_usdts){0};
	return 0;
}

/* --- what a worker finds in a file --- */
struct finding {
	struct sp_recipe_probe *probe;
	size_t file;
	int r;
	char *why; /* r < 0 */
	/* Of a file that came later: */
	bool is_later;
	struct sp_probe_later *later;
	struct sp_workers *workers;
};
static void later_found(struct finding *f);

static const char *why_not(const struct finding *f)
{
	return f->why ? f->why : strerror(-f->r);
}

static void finding_end(struct finding *f, int r)
{
	struct places *places = &f->probe->places[f->file];

	f->r = r;
	f->why = r < 0 ? sp_workers_probes_why(r) : NULL;
	places->n = r < 0 ? 0 : places->n;
	f->probe->n_places += places->n;
	if (!f->is_later)
		return;
	sp_probe_later_took(f->later, f->probe->files.files[f->file].user, sp_workers_called_ns(f->workers));
	later_found(f);
	free(f->why);
	free(f);
}

static void points_found(void *arg, int r, struct sp_probe_set *set)
{
	struct finding *f = arg;

	finding_end(f, r < 0 ? r : functions_take(f->probe, set, &f->probe->places[f->file]));
}

static void marks_found(void *arg, int r, struct sp_usdts *marks)
{
	struct finding *f = arg;
	struct places *places = &f->probe->places[f->file];

	if (r >= 0)
		r = marks_take(f->probe, marks, places);
	finding_end(f, r >= 0 && f->is_later ? sp_recipe_marks_number(f->probe, f->file) : r);
}

static int file_ask(struct sp_recipe_probe *p, struct sp_workers *w, struct finding *f)
{
	const struct sp_probe_what what = {.globs = &p->asked.function,
					   .n_globs = !p->asked.has_address,
					   .addresses = &p->asked.address,
					   .n_addresses = p->asked.has_address,
					   .inner = true,
					   .returns = p->returns,
					   .return_probe = p->returns,
					   .nop5_is_fast = sp_probe_nop5_is_fast(),
					   .arguments = p->arguments};
	int fd = p->files.files[f->file].fd;

	return p->asked.is_usdt ? sp_workers_marks(w, fd, p->asked.provider, p->asked.function, marks_found, f)
				: sp_workers_points(w, fd, &what, points_found, f);
}

static int places_room(struct sp_recipe_probe *p, size_t n)
{
	size_t had = p->places_capacity;
	int r = sp_grow(&p->places, &p->places_capacity, n, sizeof(*p->places));

	for (size_t i = had; r >= 0 && i < p->places_capacity; i++)
		p->places[i] = (struct places){.n = 0};
	return r;
}

int sp_recipe_probe_put(struct sp_recipe_probe *p, const struct sp_probe_file *file, const struct sp_probe_point *at)
{
	const struct sp_probe_file *last = p->files.n ? &p->files.files[p->files.n - 1] : NULL;
	struct sp_probe_file copy;
	int r = 0;

	if (!last || last->dev != file->dev || last->ino != file->ino) {
		r = sp_probe_file_copy(file, &copy);
		if (r >= 0)
			r = sp_probe_files_add(&p->files, &copy);
	}
	if (r >= 0)
		r = places_room(p, p->files.n);
	if (r >= 0)
		r = place_add(&p->places[p->files.n - 1], at->offset, 0);
	if (r < 0)
		return r;
	p->n_places++;
	p->n_stepped += is_stepped(at);
	return 0;
}

/* By then an argument's register is another's: a session keeps one number of a call, from its beginning to its end. */
static int both_use(struct sp_recipe_point *point, bool may_session)
{
	unsigned arguments = point->probe->arguments;

	if (!may_session)
		return sp_fail_said(-EINVAL,
				    "%s: arguments are gone when the call returns; a pair has both: "
				    "'%s{x=arg0}..%s[retval]' --print x,retval",
				    point->where, point->where, point->where);
	if (!sp_probe_has(SP_PROBE_SESSION))
		return sp_fail_said(-EINVAL,
				    "%s: arguments are gone when the call returns, and only Linux 6.13 and later keeps "
				    "one: retval goes without them",
				    point->where);
	if (arguments & (arguments - 1))
		return sp_fail_said(-EINVAL,
				    "%s: of the arguments one is kept until the call returns: one beside retval",
				    point->where);
	point->slot.kept = 1 + (sp_u32)__builtin_ctz(arguments);
	return 0;
}

/* What expressions read: arguments when a function begins, its value when it returns; registers at either. */
static int use_read(struct sp_recipe_point *point, bool may_session)
{
	struct sp_recipe_probe *p = point->probe;
	bool registers = false;

	for (size_t i = 0; i < SP_N_OPS && point->slot.ops[i].kind != SP_OP_END; i++) {
		sp_u64 number = point->slot.ops[i].imm;

		if (point->slot.ops[i].kind != SP_OP_ARGUMENT)
			continue;
		p->returns |= number == RETURNED;
		registers |= number > RETURNED;
		if (number < N_ARGUMENTS)
			p->arguments |= (uint8_t)(1U << number);
	}
	if (p->returns && p->arguments)
		return both_use(point, may_session);
	if (registers && !p->returns)
		p->arguments |= SP_PROBE_REGISTERS;
	return 0;
}

/* What is not removed now is by the next, or by doctor --clean, which tells why not. */
static void leftovers_remove(void)
{
	size_t n;

	if (sp_probe_clean(&n) < 0)
		sp_error_clear();
}

/* -ENOENT and -EINVAL: another build has no such function. Where no file has places one of the reasons is told. */
static int all_take(struct sp_recipe_probe *p, const struct finding *all)
{
	const struct finding *failed = NULL;

	for (size_t i = 0; i < p->files.n; i++) {
		bool lacks = all[i].r == -ENOENT || all[i].r == -EINVAL;

		if (all[i].r >= 0)
			continue;
		if (!lacks)
			sp_recipe_probe_note(p, p->files.files[i].path, why_not(&all[i]));
		failed = failed && lacks ? failed : &all[i];
	}
	sp_error_clear();
	if (p->n_places || !failed)
		return p->n_places ? 0 : -ENOENT;
	if (p->failure) /* what a file cannot be asked is the command line's mistake, not the kernel's lack */
		return sp_fail_said(failed->r == -EOPNOTSUPP ? -EINVAL : failed->r, "%s", p->failure);
	return sp_fail_said(failed->r, "%s%s%s", p->asked.is_usdt ? p->asked.library : "", p->asked.is_usdt ? ": " : "",
			    why_not(failed));
}

static int all_find(struct sp_recipe_probe *p, struct sp_workers *w)
{
	size_t n = p->files.n;
	struct finding *all = calloc(n + 1, sizeof(*all));
	int r = all ? places_room(p, n) : -ENOMEM;

	for (size_t i = 0; i < n && r >= 0; i++) {
		all[i] = (struct finding){.probe = p, .file = i};
		r = file_ask(p, w, &all[i]);
	}
	sp_workers_probes_wait(w, all, all ? n : 0, sizeof(*all));
	if (r >= 0)
		r = all_take(p, all);
	for (size_t i = 0; all && i < n; i++)
		free(all[i].why);
	free(all);
	return r;
}

/* One of the files at least has such a place. */
static int places_look(const struct sp_recipe_point *point)
{
	struct sp_recipe_probe *p = point->probe;
	struct sp_workers *w = NULL;
	int r;

	if (p->is_looked)
		return 0;
	p->is_looked = true;
	if (!sp_probe_has(SP_PROBE_ENTRY))
		leftovers_remove();
	r = sp_workers_new(&(struct sp_workers_options){0}, &w);
	if (!r)
		r = sp_probe_files(p->asked.library, w, &p->files);
	if (r >= 0)
		r = all_find(p, w);
	sp_workers_free(w);
	if (!p->files.n && r == -ENOENT && !p->asked.is_usdt &&
	    !strpbrk(p->asked.library, "./:+")) { /* more likely a tracepoint's */
		sp_error_clear();
		return sp_tracepoint_point(point->where, &(struct sp_recipe_point){.at = SP_AT_NOTHING});
	}
	return sp_probe_mistake(r);
}

int sp_recipe_probe_fields(const struct sp_recipe_point *point, struct sp_fields *ret_fields)
{
	int r = point->probe->asked.is_usdt ? places_look(point) : 0;

	if (r < 0)
		return r;
	return point->probe->asked.is_usdt ? sp_recipe_probe_mark_fields(point->probe, NULL, ret_fields)
					   : sp_fields_of_arguments(point->arguments, ret_fields);
}

int sp_recipe_probe_find(struct sp_recipe_point *point, bool may_session)
{
	bool is_mark = point->probe->asked.is_usdt;
	int r = is_mark ? 0 : use_read(point, may_session);

	if (is_mark)
		sp_recipe_marks_wanted(point);
	if (!r)
		r = places_look(point);
	return r < 0 ? r : sp_recipe_marks_number_all(point->probe);
}

unsigned sp_recipe_probe_least_ns(void)
{
	return SP_PROBE_EMULATED_NS;
}

unsigned sp_recipe_probe_most_ns(void)
{
	return SP_PROBE_STEPPED_NS;
}

unsigned sp_recipe_probe_trap_ns(const struct sp_recipe_probe *p)
{
	size_t n = SP_MAX(p->n_places, 1);
	size_t sum;

	if (p->is_put && p->returns) /* those at the calls' beginnings are others */
		return SP_PROBE_RETURN_NS;
	sum = (n - p->n_stepped) * SP_PROBE_EMULATED_NS + p->n_stepped * SP_PROBE_STEPPED_NS;

	return (unsigned)(sum / n) + (p->returns ? SP_PROBE_RETURN_NS : 0);
}

/* --- attaching --- */
bool sp_recipe_probe_by_session(struct sp_recipe_probe *p)
{
	p->by_session = p->returns && !p->is_put && sp_probe_has(SP_PROBE_SESSION);
	return p->by_session;
}

static enum sp_probe_kind kind_of(const struct sp_recipe_probe *p)
{
	return p->by_session ? SP_PROBE_SESSION : p->returns ? SP_PROBE_RETURN : SP_PROBE_ENTRY;
}

static int file_attach(struct sp_recipe_probe *p, size_t i, int program, pid_t only)
{
	const struct sp_probe_program what = {.fd = program, .kind = kind_of(p), .broker = p->broker};
	struct places *places = &p->places[i];
	const struct sp_probe_at at = {.offsets = places->offsets,
				       .cookies = places->cookies,
				       .semaphores = p->asked.is_usdt ? places->semaphores : NULL,
				       .n = places->n};
	int r;

	if (places->is_attached || !places->n)
		return 0;
	only = p->files.name.pid ? (pid_t)p->files.name.pid : only;
	r = sp_probe_attach(&what, p->files.files[i].fd, &at, only, &places->link);
	places->is_attached = r >= 0;
	if (r >= 0 && !places->n_refused) {
		places->n_refused = places->link.n_refused;
		p->n_refused += places->n_refused;
	}
	return r < 0 ? sp_fail(r, "%s", p->files.files[i].path) : 0;
}

int sp_recipe_probe_attach(struct sp_recipe_probe *p, int program, pid_t only)
{
	int r = 0;

	p->program = program;
	p->only = only;
	for (size_t i = 0; i < p->files.n && r >= 0; i++)
		r = file_attach(p, i, program, only);
	return r;
}

void sp_recipe_probe_detach(struct sp_recipe_probe *p)
{
	SP_FREE struct sp_probe_link **links = calloc(p->files.n + 1, sizeof(struct sp_probe_link *));
	size_t n = 0;

	p->program = -1;
	for (size_t i = 0; i < p->files.n; i++) {
		if (p->places[i].is_attached && links)
			links[n++] = &p->places[i].link;
		else if (p->places[i].is_attached)
			sp_probe_detach(&p->places[i].link);
		p->places[i].is_attached = false;
	}
	if (links)
		sp_probe_detach_some(links, n);
}

void sp_recipe_probe_broker(struct sp_recipe_probe *p, struct sp_broker *broker)
{
	p->broker = broker;
}

/* --- what appears later --- */
const struct sp_probe_name *sp_recipe_probe_name(const struct sp_recipe_probe *p)
{
	return p->is_put ? NULL : &p->files.name;
}

static void later_found(struct finding *f)
{
	struct sp_recipe_probe *p = f->probe;

	if (f->r == -ENOENT || f->r == -EINVAL || f->r == -ECANCELED) {
		sp_error_clear(); /* another build has no such function: it stays, without places */
		return;
	}
	p->places[f->file].is_later = f->r >= 0;
	if (f->r >= 0 && p->program >= 0)
		f->r = file_attach(p, f->file, p->program, p->only);
	if (f->r >= 0)
		return;
	f->why = f->why ? f->why : strdup(sp_error_text(f->r));
	sp_recipe_probe_note(p, p->files.files[f->file].path, why_not(f));
	sp_error_clear();
}

void sp_recipe_probe_failed(struct sp_recipe_probe *p, int r, const char *path, const struct sp_probe_file *file)
{
	if (!sp_probe_name_may_be(&p->files.name, path) || sp_probe_files_have(&p->files, file))
		return;
	if (r == -ESRCH)
		p->n_gone++;
	else
		sp_recipe_probe_note(p, path, sp_error_text(r));
}

static int later_add(struct sp_recipe_probe *p, const struct sp_probe_file *file, struct sp_workers *w,
		     struct sp_probe_later *later)
{
	struct sp_probe_file copy;
	struct finding *f;
	int r;

	r = places_room(p, p->files.n + 1);
	if (r >= 0)
		r = sp_probe_file_copy(file, &copy);
	if (r >= 0)
		r = sp_probe_files_add(&p->files, &copy);
	if (r <= 0)
		return r;
	f = malloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct finding){.probe = p, .file = p->files.n - 1, .is_later = true, .later = later, .workers = w};
	r = file_ask(p, w, f);
	if (r < 0)
		free(f);
	return r;
}

void sp_recipe_probe_add(struct sp_recipe_probe *p, const struct sp_probe_file *file, struct sp_workers *w,
			 struct sp_probe_later *later)
{
	int r = sp_probe_name_is(&p->files.name, file) ? later_add(p, file, w, later) : 0;

	if (r < 0)
		sp_recipe_probe_note(p, file->path, sp_error_text(r));
}

void sp_recipe_probe_free(struct sp_recipe_probe *p)
{
	if (!p)
		return;
	if (p->places)
		sp_recipe_probe_detach(p);
	for (size_t i = 0; p->places && i < p->files.n; i++) {
		free(p->places[i].offsets);
		free(p->places[i].semaphores);
		free(p->places[i].cookies);
		sp_usdts_done(&p->places[i].marks);
	}
	free(p->places);
	sp_intern_free(p->marks);
	free(p->mark_users);
	free(p->unclear);
	sp_probe_files_done(&p->files);
	sp_probe_asked_done(&p->asked);
	free(p->failure);
	free(p);
}
