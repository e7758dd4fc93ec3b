/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that ld.so calls: rtld-audit(7). Programs that cannot be counted just run, and `soprof calls` learns
 * of it.
 */
#include "audit/process.h"
#include "audit/time.h"

#include <fcntl.h>

const Elf64_Phdr *sp_program_headers;
uint64_t sp_n_program_headers;
const char *sp_program_path, *sp_program_file;
uint64_t sp_linker; /* where ld.so is; 0: the kernel has started it as the program */

/* ld.so's: what the kernel put on the stack, and where each thread has its struct rseq. */
extern uint64_t *__libc_stack_end;
extern const int64_t __rseq_offset;
extern const unsigned __rseq_size;

static bool started, ended; /* initial objects were relocated; ld.so closes all, and some still call others */

#define EXPORT __attribute__((visibility("default")))
EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
EXPORT unsigned la_objclose(uintptr_t *cookie);
EXPORT void la_activity(uintptr_t *cookie, unsigned flag);
EXPORT void la_preinit(uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to, unsigned *flags,
			      const char *name);

static const char *variable(char *const *environment, const char *name, size_t len)
{
	for (; *environment; environment++)
		if (sp_equal(*environment, name, len))
			return *environment + len;
	return NULL;
}

/* Opening the file is all: soprof hears of that. The program may have no right to more. */
static void tell_uncounted(const char *path)
{
	int64_t fd = !path || path[0] != '/'
			 ? -1
			 : sp_sys(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path,
				  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0, 0);

	if (fd >= 0)
		sp_sys(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
}

/* Absolute, and of a script its interpreter; where /proc does not tell, as the program was executed. ld.so knows. */
static void find_program(void)
{
	static const char exe[] = "/proc/self/exe", deleted[] = " (deleted)";
	static char text[4096];
	int64_t n = sp_linker == 0 ? 0 : sp_sys(SYS_readlink, (uint64_t)exe, (uint64_t)text, sizeof(text) - 1, 0, 0, 0);
	int64_t end = n - (int64_t)sizeof(deleted) + 1;

	if (end > 0 && sp_equal(text + end, deleted, sizeof(deleted) - 1))
		n = end;
	sp_program_file = n > 0 && text[0] == '/' ? text : sp_program_path;
	text[n > 0 ? n : 0] = '\0';
}

static void main_read_environment(void)
{
	static const char name[] = "SOPROF_CALLS=", uncounted[] = "SOPROF_UNCOUNTED=";
	uint64_t *stack = __libc_stack_end, secure = 1, user = UINT64_MAX;
	char *const *environment = (char *const *)(stack + stack[0] + 2);
	bool again = sp_again_begin(stack);
	const char *path = variable(environment, name, sizeof(name) - 1);
	char *const *end = environment;

	while (*end)
		end++;
	for (const Elf64_auxv_t *a = (const Elf64_auxv_t *)(end + 1); a->a_type != AT_NULL; a++)
		switch (a->a_type) {
		case AT_SECURE:
			secure = a->a_un.a_val;
			break;
		case AT_EUID:
			user = a->a_un.a_val;
			break;
		case AT_PHDR:
			sp_program_headers = (const Elf64_Phdr *)a->a_un.a_val;
			break;
		case AT_PHNUM:
			sp_n_program_headers = a->a_un.a_val;
			break;
		case AT_BASE:
			sp_linker = a->a_un.a_val;
			break;
		case AT_EXECFN:
			sp_program_path = (const char *)a->a_un.a_val;
			break;
		default:
			break;
		}
	if (secure != 0 || !path || path[0] != '/' || !sp_program_path)
		return;
	find_program();
	if (!sp_shared_open(path, (uint32_t)user)) {
		tell_uncounted(variable(environment, uncounted, sizeof(uncounted) - 1));
		return;
	}
	sp_shared_note(again ? SP_CALLS_N_AGAIN : SP_CALLS_N_PROCESSES);
	sp_process_begin();
	sp_time_open();
	sp_shared_prepare();
}

/* Has the file a slot for every CPU that may ever be here? It may come from another machine. */
static bool has_all_slots(void)
{
	char text[256];
	int64_t fd = sp_sys(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t) "/sys/devices/system/cpu/possible",
			    O_RDONLY | O_CLOEXEC, 0, 0, 0);
	int64_t n = fd < 0 ? 0 : sp_sys(SYS_read, (uint64_t)fd, (uint64_t)text, sizeof(text), 0, 0, 0);
	uint32_t last = 0;

	if (fd >= 0)
		sp_sys(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	for (int64_t i = 0; i < n && text[i] != '\n'; i++)
		last = text[i] >= '0' && text[i] <= '9' ? last * 10 + (uint32_t)(text[i] - '0') : 0;
	return n > 0 && n < (int64_t)sizeof(text) && last + 1 < sp_shared.n_slots;
}

unsigned la_version(unsigned version)
{
	main_read_environment();
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	struct sp_object *o = sp_shared.header || !started ? sp_object_open(map) : NULL;

	*cookie = (uintptr_t)o;
	if (!o)
		return 0;
	if (!started && lmid == LM_ID_BASE)
		sp_again_opened(o);
	if (!sp_shared.header)
		return 0;
	o->unpatched = 1;
	sp_shared.n_expected += o->n_slots;
	sp_time_look(o);
	if (started) {
		sp_init_hook(o);
		sp_shared_prepare();
	}
	/* One without a constructor is patched when its functions are looked up. */
	return LA_FLG_BINDFROM |
	       (o->is_target || sp_time_watches_in(o) || (started && o->init == 0) ? LA_FLG_BINDTO : 0);
}

unsigned la_objclose(uintptr_t *cookie)
{
	struct sp_object *o = (struct sp_object *)*cookie;

	if (!o || !sp_shared.header)
		return 0;
	ended = ended || o->is_program; /* the program comes first */
	if (ended)
		return 0;
	sp_init_unhook(o);
	sp_stubs_close(o);
	sp_trampolines_close(o);
	sp_time_close(o);
	sp_object_close(o);
	return 0;
}

static void patch_all(bool before_code)
{
	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (sp_objects[i].whole.high != 0 && sp_objects[i].unpatched)
			sp_patch(&sp_objects[i], before_code);
}

/* ld.so has relocated the program and its libraries, and none of their code runs yet. */
static void main_patch_loaded(void)
{
	started = true;
	if (!sp_shared.header)
		return;
	sp_process_loaded();
	if (__rseq_size != 0 && has_all_slots())
		sp_process_rseq((uint64_t)__rseq_offset);
	patch_all(true);
	if (sp_shared.n_expected < sp_trampolines_used()) /* without a linkage table */
		sp_shared.n_expected = sp_trampolines_used();
	sp_time_begin();
	sp_shared_prepare();
}

/*
 * At the start, the namespace is reported as consistent when all is relocated, before the first constructor. Later
 * that may come before relocation, in some versions; but libraries opened before were relocated by then.
 */
void la_activity(uintptr_t *cookie, unsigned flag)
{
	const struct sp_object *head = (const struct sp_object *)*cookie;

	if (!started && flag == LA_ACT_CONSISTENT && head && head->is_program)
		main_patch_loaded();
	else if (sp_shared.header && started && flag == LA_ACT_ADD)
		patch_all(false);
}

/* After the constructors: nothing is left to do here as a rule. */
void la_preinit(uintptr_t *cookie)
{
	(void)cookie;
	if (!started)
		main_patch_loaded();
	else if (sp_shared.header)
		patch_all(false);
}

/*
 * Where the reference shall lead: that of a linkage table, by which code only calls. An address that a program has
 * asked for stays what it is for all others. (Before the start ld.so asks for malloc and the like, for itself.)
 */
static uint64_t redirect(struct sp_object *owner, struct sp_object *callee, const Elf64_Sym *symbol, unsigned flags,
			 const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	uint64_t trampoline = 0;
	uint32_t kind = type == STT_GNU_IFUNC ? SP_CALLS_FUNCTION_IFUNC : 0;

	if (!callee->is_target || !sp_globs_match(sp_shared.functions, name))
		return sp_time_watch(symbol->st_value, name, (flags & LA_SYMB_DLSYM) == 0);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    !sp_object_has_code(callee, symbol->st_value))
		return symbol->st_value;
	if ((flags & LA_SYMB_DLSYM) == 0)
		trampoline = sp_trampoline_new(owner, callee, symbol->st_value, name, kind);
	else if (started)
		sp_note_taken(callee, symbol->st_value, name, kind);
	return trampoline != 0 ? trampoline : symbol->st_value;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to, unsigned *flags,
		       const char *name)
{
	struct sp_object *owner = (struct sp_object *)*from, *callee = (struct sp_object *)*to;

	(void)number;
	if (!callee || !owner)
		return symbol->st_value;
	if (callee->unpatched && started)
		sp_patch(callee, false);
	return redirect(owner, callee, symbol, *flags, name);
}
