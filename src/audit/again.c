/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes a program again if its libraries want more static TLS than ld.so has left beside an auditor.
 *
 * With an auditor, ld.so lays out the initial TLS block before it knows the program's libraries. These must fit in the
 * surplus of some 1800 bytes, part of which is for libraries opened later. So when all libraries are mapped, and
 * before any is relocated, the program is executed once more with GLIBC_TUNABLES that enlarge the surplus. The second
 * run, when ld.so has read the variable, removes it from the environment in place, so neither the program nor its
 * children see it. If no surplus would do, the program is executed without us, and counted as uncounted.
 */
#include "audit/audit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum {
	ROOM_OF_AUDITOR = 288, /* what ld.so adds for one: two namespaces' */
	ROOM_OPTIONAL = 512,   /* the default of glibc.rtld.optional_static_tls */
	TLS_ALIGN = 64,
	MAX_TIMES = 3,
	NAME_BYTES = 16, /* of a thread */
};
#define TUNABLES "GLIBC_TUNABLES="
#define ROOM "glibc.rtld.optional_static_tls="
#define AGAIN ":soprof.again="
#define CALLS ":soprof.calls="
#define VARIABLE "SOPROF_CALLS="
#define BEGINS(text, word) sp_equal((text), (word), sizeof(word) - 1)

static uint64_t *start_of_stack;
static uint64_t n_times, room; /* executed by us before; with how much */
char sp_again_name[NAME_BYTES];

static char **arguments(void)
{
	return (char **)(start_of_stack + 1);
}

static char **environment(void)
{
	return (char **)(start_of_stack + start_of_stack[0] + 2);
}

/* --- text --- */
static char *again_append_text(char *to, const char *text)
{
	size_t len = sp_len(text);

	sp_copy(to, text, len + 1);
	return to + len;
}

static char *again_append_number(char *to, uint64_t n)
{
	char digits[24], *at = &digits[sizeof(digits) - 1];

	*at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return again_append_text(to, at);
}

static uint64_t number(const char **at)
{
	uint64_t n = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		n = n * 10 + (uint64_t)(**at - '0');
	return n;
}

/* Letters a to p for half bytes: names of tunables and their values have signs of their own. */
static char *put_letters(char *to, const char *bytes)
{
	for (; *bytes != '\0'; bytes++) {
		*to++ = (char)('a' + ((uint8_t)*bytes >> 4));
		*to++ = (char)('a' + ((uint8_t)*bytes & 15));
	}
	*to = '\0';
	return to;
}

static const char *take_letters(const char *from, char *to, size_t room_for)
{
	for (; room_for > 1 && from[0] >= 'a' && from[0] <= 'p' && from[1] >= 'a' && from[1] <= 'p';
	     from += 2, room_for--)
		*to++ = (char)((from[0] - 'a') << 4 | (from[1] - 'a'));
	*to = '\0';
	return from;
}

static char *again_find_word(char *text, const char *word)
{
	size_t len = sp_len(word);

	for (; *text != '\0'; text++)
		if (sp_equal(text, word, len))
			return text;
	return NULL;
}

/* The last one counts. */
static uint64_t room_in(char *tunables)
{
	uint64_t n = ROOM_OPTIONAL;

	for (char *at = again_find_word(tunables, ROOM); at; at = again_find_word(at, ROOM)) {
		const char *digits = at += sizeof(ROOM) - 1;
		n = number(&digits);
	}
	return n;
}

/* --- executed again --- */
/* The variable is ours: ours that was in its place is made of it. Nothing gets longer by that. */
static char *take_back(char *variable, char *calls)
{
	char *to = again_append_text(variable, VARIABLE);

	if (!calls)
		return variable;
	take_letters(calls + sizeof(CALLS) - 1, to, sp_len(calls));
	return variable;
}

static void clean(char **variable, char *again)
{
	char *name = sp_again_name, now[NAME_BYTES] = "", *calls = again_find_word(again, CALLS),
	     *ours = again_find_word(*variable, ROOM);
	const char *at = again + sizeof(AGAIN) - 1;

	for (char *next = ours; next && next < again; next = again_find_word(next + 1, ROOM))
		ours = next;
	room = room_in(*variable);
	n_times = number(&at);
	take_letters(at + (*at == '.'), name, sizeof(sp_again_name));
	sp_sys(SYS_prctl, PR_GET_NAME, (uint64_t)now, 0, 0, 0, 0);
	if (!sp_equal(name, now, sp_len(name) + 1))
		sp_sys(SYS_prctl, PR_SET_NAME, (uint64_t)name, 0, 0, 0, 0);
	if (calls)
		*variable = take_back(*variable, calls);
	else if (ours)
		ours[-1] = '\0';
}

bool sp_again_begin(uint64_t *stack)
{
	start_of_stack = stack;
	for (char **e = environment(); *e; e++) {
		char *again = BEGINS(*e, TUNABLES) ? again_find_word(*e, AGAIN) : NULL;
		if (again)
			clean(e, again);
	}
	return n_times > 0;
}

/* --- what is needed --- */
static bool again_tls_fits(const struct sp_object *o)
{
	uint64_t align = TLS_ALIGN;

	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (sp_objects[i].is_program && sp_objects[i].tls_align > align)
			align = sp_objects[i].tls_align;
	return o->tls_align <= align;
}

static bool is_library_with_tls(const struct sp_object *o)
{
	return !o->is_program && !o->is_linker && o->tls_bytes > 0;
}

/* Whether another object reaches this one's thread-local data from the thread pointer. */
static bool is_reached(const struct sp_object *o)
{
	for (uint32_t i = 0; i < sp_n_objects; i++) {
		const struct sp_object *by = &sp_objects[i];
		for (uint32_t k = 0; (by->is_program || by->has_static_tls) && k < by->n_relocations; k++) {
			const Elf64_Rela *r = &by->relocations[k];
			const Elf64_Sym *s = &by->symbols[ELF64_R_SYM(r->r_info)];
			if (ELF64_R_TYPE(r->r_info) == SP_RELOC_TLS && ELF64_R_SYM(r->r_info) != 0 &&
			    s->st_shndx == SHN_UNDEF && sp_object_defines(o, by->strings + s->st_name))
				return true;
		}
	}
	return false;
}

static uint64_t sum(bool all, bool *ret_fits)
{
	uint64_t bytes = 0;

	*ret_fits = true;
	for (uint32_t i = 0; i < sp_n_objects; i++) {
		const struct sp_object *o = &sp_objects[i];
		if (!is_library_with_tls(o) || (!all && !o->has_static_tls && !is_reached(o)))
			continue;
		bytes += (o->tls_bytes + o->tls_align - 1) & ~(o->tls_align - 1);
		*ret_fits = *ret_fits && again_tls_fits(o);
	}
	return bytes;
}

/* --- whether all libraries are there --- */
static bool is_named(const struct sp_object *o, const char *name)
{
	size_t len = sp_len(name) + 1;

	return sp_equal(sp_last_part(o->path), name, len) || (o->soname && sp_equal(o->soname, name, len));
}

static bool is_there(const char *needed, const struct sp_object *besides)
{
	const char *name = sp_last_part(needed);

	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (&sp_objects[i] != besides && is_named(&sp_objects[i], name))
			return true;
	return false;
}

/* A DT_NEEDED, in the order in which ld.so goes through them. */
struct needed {
	uint32_t object, entry;
};
static struct needed missing; /* the first that is not there */

static const char *next_needed(struct needed *n)
{
	for (; n->object < sp_n_objects; n->object++, n->entry = 0) {
		const struct sp_object *o = &sp_objects[n->object];
		for (; o->dynamic[n->entry].d_tag != DT_NULL; n->entry++)
			if (o->dynamic[n->entry].d_tag == DT_NEEDED && o->strings)
				return o->strings + o->dynamic[n->entry].d_un.d_val;
	}
	return NULL;
}

static const char *find_missing(const struct sp_object *besides)
{
	const char *name;

	while ((name = next_needed(&missing)) && is_there(name, besides))
		missing.entry++;
	return name;
}

/* o was opened just now. What is needed before it and has another name is there, too: it is the same file as something.
 */
static bool is_complete(const struct sp_object *o)
{
	const char *name = find_missing(o);

	if (name && !is_named(o, sp_last_part(name))) {
		struct needed n = missing;
		while ((name = next_needed(&n)) && !is_named(o, sp_last_part(name)))
			n.entry++;
		if (name)
			missing = n;
	}
	return find_missing(NULL) == NULL;
}

/* --- executing --- */
static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return sp_sys(SYS_newfstatat, (uint64_t)AT_FDCWD, (uint64_t)a, (uint64_t)&x, 0, 0, 0) == 0 &&
	       sp_sys(SYS_newfstatat, (uint64_t)AT_FDCWD, (uint64_t)b, (uint64_t)&y, 0, 0, 0) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* As it was executed, if that is an ELF file; of a script, its interpreter. */
static const char *path_to_execute(char *text, size_t room_for)
{
	static const char exe[] = "/proc/self/exe";

	if (is_same_file(sp_program_path, exe))
		return sp_program_path;
	int64_t n = sp_sys(SYS_readlink, (uint64_t)exe, (uint64_t)text, room_for - 1, 0, 0, 0);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return is_same_file(text, exe) ? text : exe;
}

static void execute(char **variables)
{
	char text[4096];
	const char *path = path_to_execute(text, sizeof(text));

	if (path)
		sp_sys(SYS_execve, (uint64_t)path, (uint64_t)arguments(), (uint64_t)variables, 0, 0, 0);
}

struct copy { /* of the environment, and room for one more variable's text */
	char **variables, *text;
	uint64_t n, bytes;
};

static bool copy_environment(struct copy *c)
{
	size_t longest = 0;

	c->n = 0;
	for (char **e = environment(); *e; e++, c->n++)
		longest = sp_len(*e) > longest ? sp_len(*e) : longest;
	c->bytes = (c->n + 1) * sizeof(char *) + 3 * longest + 256;
	int64_t at = sp_sys(SYS_mmap, 0, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0);
	if (at < 0 && at > -4096)
		return false;
	c->variables = (char **)at;
	c->text = (char *)&c->variables[c->n + 1];
	sp_copy(c->variables, environment(), (c->n + 1) * sizeof(char *));
	return true;
}

static char **variable_in(char **variables, const char *name)
{
	for (; *variables; variables++)
		if (sp_equal(*variables, name, sp_len(name)))
			return variables;
	return NULL;
}

static bool put_tunables(struct copy *c, uint64_t bytes)
{
	char **tunables = variable_in(c->variables, TUNABLES), **calls = variable_in(c->variables, VARIABLE);
	char name[NAME_BYTES] = "", *to = again_append_text(c->text, tunables ? *tunables : TUNABLES);

	if (!tunables && !calls)
		return false;
	sp_sys(SYS_prctl, PR_GET_NAME, (uint64_t)name, 0, 0, 0, 0);
	to = again_append_number(again_append_text(again_append_text(to, tunables ? ":" : ""), ROOM), bytes);
	to = put_letters(again_append_text(again_append_number(again_append_text(to, AGAIN), n_times + 1), "."), name);
	if (!tunables)
		put_letters(again_append_text(to, CALLS), *calls + sizeof(VARIABLE) - 1);
	*(tunables ? tunables : calls) = c->text;
	return true;
}

static void execute_with(uint64_t bytes)
{
	struct copy c;

	if (!copy_environment(&c))
		return;
	if (put_tunables(&c, bytes))
		execute(c.variables);
	sp_sys(SYS_munmap, (uint64_t)c.variables, c.bytes, 0, 0, 0, 0);
}

/* Without LD_AUDIT if only we are in it; others stay. We are the last, as sp_calls_environment() puts us. */
static void execute_without(void)
{
	static const char name[] = "LD_AUDIT=";
	struct copy c;
	char **audit;

	if (sp_shared.header)
		sp_shared_note(SP_CALLS_N_UNCOUNTED);
	if (!copy_environment(&c))
		return;
	audit = variable_in(c.variables, name);
	if (!audit)
		return;
	char *end = again_append_text(c.text, *audit), *after = c.text + sizeof(name) - 1;
	while (end > after && *end != ':')
		end--;
	*end = '\0';
	*audit = c.text;
	for (char **e = audit; end == after && *e; e++)
		*e = e[1];
	execute(c.variables);
	sp_sys(SYS_munmap, (uint64_t)c.variables, c.bytes, 0, 0, 0, 0);
}

void sp_again_opened(const struct sp_object *o)
{
	static bool given_up;
	bool all_fit, fit;

	/* ld.so as the program: what it was called with is not there any more */
	if (given_up || sp_linker == 0 || (sum(true, &all_fit) <= ROOM_OF_AUDITOR && all_fit) || !is_complete(o))
		return;
	uint64_t bytes = sum(false, &fit);
	char **tunables = variable_in(environment(), TUNABLES);
	uint64_t wanted = (tunables ? room_in(*tunables) : ROOM_OPTIONAL) + bytes - ROOM_OF_AUDITOR;
	if (fit && (bytes <= ROOM_OF_AUDITOR || (n_times > 0 && wanted <= room)))
		return;
	if (fit && n_times < MAX_TIMES)
		execute_with(wanted);
	execute_without();
	given_up = true;
}
