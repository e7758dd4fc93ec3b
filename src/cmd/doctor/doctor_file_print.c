/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_file_print.c: prints the facts of one file, as lines wrapped at the terminal's width or as JSON.
 *
 * Keys may be added to the JSON, never changed (soprof-doctor(1)). What is not known is absent.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/doctor/doctor_file.h"
#include "cmd/grid.h"
#include "unwind/arch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

enum { LABEL_WIDTH = 14 };

static const char *const bad_words[SP_N_BAD] = {[SP_BAD_CAP] = "too many rules",
						[SP_BAD_CFA] = "the frame's address",
						[SP_BAD_RA] = "where the return address is",
						[SP_BAD_SP] = "the caller's stack pointer",
						[SP_BAD_PROGRAM] = "malformed"};
static const char *const bad_keys[SP_N_BAD] = {[SP_BAD_CAP] = "too_many_rules",
					       [SP_BAD_CFA] = "frame_address",
					       [SP_BAD_RA] = "return_address",
					       [SP_BAD_SP] = "stack_pointer",
					       [SP_BAD_PROGRAM] = "malformed"};

static uint64_t covered(const struct sp_doctor_file *f)
{
	return SP_MIN(f->survey.ruled_bytes, f->counts.code_bytes);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static uint64_t n_bad(const struct sp_doctor_file *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SP_N_BAD; i++)
		n += f->survey.n_bad[i];
	return n;
}

/* --- text --- */
struct page {
	unsigned width;
	bool colour;
	FILE *out;
	int r;
};

__attribute__((format(printf, 3, 4))) static void line(struct page *p, const char *label, const char *format, ...)
{
	SP_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	text = sp_encoded_format(SP_ENCODE_TERMINAL, format, args);
	va_end(args);
	if (!text) {
		p->r = -ENOMEM;
		return;
	}
	fprintf(p->out, "%s%-*s%s", p->colour ? "\033[1m" : "", LABEL_WIDTH, label, p->colour ? "\033[0m" : "");
	sp_terminal_wrap(text, LABEL_WIDTH, p->width, p->out);
}

static void identity_lines(struct page *p, const struct sp_doctor_file *f)
{
	char hex[2 * sizeof(f->build_id) + 1];

	line(p, "file", "%s, %" PRIu64 " bytes", f->path, f->size);
	sp_hex(f->build_id, f->build_id_len, hex);
	line(p, "build id", "%s", f->build_id_len ? hex : "none: its table is built anew each time");
	line(p, "soname", "%s", f->soname ? f->soname : "none");
	if (f->package)
		line(p, "package", "%s %s", f->package, f->package_version);
	else if (*f->note.name)
		line(p, "package", "%s %s, as the file says itself", f->note.name, f->note.version);
	else
		line(p, "package", "none that is known");
}

static void bad_lines(struct page *p, const struct sp_doctor_file *f)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < SP_N_BAD; i++)
		if (f->survey.n_bad[i] && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %" PRIu64, n ? ", " : ": ",
					      bad_words[i], f->survey.n_bad[i]);
	line(p, "inexpressible",
	     "%" PRIu64 " rows (%" PRIu64 " bytes)%s; frame pointer lost in %u rows; %u FDEs left out", n_bad(f),
	     f->survey.bad_bytes, text, f->blob->n_lost_fp, f->blob->n_bad_fdes);
}

static void register_lines(struct page *p, const struct sp_blob *b)
{
	if (!b->n_register_calls)
		return;
	line(p, "registers", "%u calls while the frame's address is counted from a register that callees may change",
	     b->n_register_calls);
	if (b->n_unsure_calls)
		line(p, "", "%u of them to code that may do so: through those, stacks are guessed or cut",
		     b->n_unsure_calls);
	else
		line(p, "", "none of those that are called does so");
}

static const char *cache_words(const struct sp_doctor_file *f)
{
	switch (f->cache) {
	case 0:
		return "its table is there";
	case -EACCES:
		return "never: others than root or you may write to this file";
	case -EAGAIN:
		return "not yet: it has just been changed";
	case -EBADMSG:
		return "a table is there, but damaged, or of another version";
	case -ENOENT:
		return "its table is not there (yet)";
	default:
		return "it cannot be looked at";
	}
}

/* What is beyond a limit was not looked at at all. */
static void derived_lines(struct page *p, const struct sp_doctor_file *f)
{
	const struct sp_blob *b = f->blob;

	if (b->uncovered_bytes)
		line(p, "derived",
		     "%" PRIu64 " rows for %u functions: %" PRIu64 " of %" PRIu64
		     " bytes of code that have no unwind information, %.1f %%",
		     f->survey.n_derived_rows, b->n_derived_functions, b->derived_bytes, b->uncovered_bytes,
		     percent(b->derived_bytes, b->uncovered_bytes));
	else if (!(b->flags & SP_BLOB_DERIVED_PART))
		line(p, "derived", "none is needed: all code has unwind information");
	if (b->left_out_bytes)
		line(p, "",
		     "that is too much to follow (at most %d MiB of such code, in %d MiB): through it, stacks are "
		     "guessed, by frame pointers",
		     SP_DERIVE_MAX_CODE >> 20, SP_DERIVE_MAX_TEXT >> 20);
	else if (b->flags & SP_BLOB_DERIVED_PART)
		line(p, b->uncovered_bytes ? "" : "derived",
		     "not all that there may be: its code is in no order, cannot be read whole, or takes too long to "
		     "follow");
}

static void table_lines(struct page *p, const struct sp_doctor_file *f)
{
	line(p, "code", "%" PRIu64 " bytes", f->counts.code_bytes);
	if (f->blob->flags & SP_BLOB_NO_EH_FRAME)
		line(p, "unwinding", "no .eh_frame: what cannot be derived is guessed, by frame pointers");
	else
		line(p, "unwinding", "%s %" PRIu64 " bytes, %.1f %%, in %u functions",
		     f->counts.n_go ? ".gopclntab and .eh_frame cover" : ".eh_frame covers", covered(f),
		     percent(covered(f), f->counts.code_bytes), f->blob->n_fdes);
	derived_lines(p, f);
	line(p, "table", "%u rows, %u rules, %" PRIu64 " bytes%s", f->blob->n_rows, f->blob->n_rules, f->blob->bytes,
	     f->blob->flags & SP_BLOB_PARTIAL ? "; partial: it is over a limit" : "");
	bad_lines(p, f);
	register_lines(p, f->blob);
	line(p, "cache", "%s%s%s%s%s", cache_words(f), f->cache_dir ? " (" : "", f->cache_dir ? f->cache_dir : "",
	     f->cache_dir ? ")" : "",
	     f->cache == -EACCES   ? ""
	     : f->names_cache == 0 ? "; its names are there"
				   : "; its names are not");
}

static void debug_lines(struct page *p, const struct sp_doctor_file *f)
{
	if (f->debug_path)
		line(p, "debug file", "%s: %" PRIu64 " symbols", f->debug_path, f->n_debug);
	else if (f->debug.has_symtab)
		line(p, "debug file", "none is needed%s", f->debug.has_dwarf ? "; it has DWARF itself" : "");
	else
		line(p, "debug file", "none is found%s%s", *f->debug.link ? "; it is to be called " : "",
		     f->debug.link);
	if (f->debug_note)
		line(p, "", "%s", f->debug_note);
	if (f->counts.has_debugdata)
		line(p, "debug data", ".gnu_debugdata: %" PRIu64 " symbols%s", f->counts.n_debugdata,
		     f->counts.debugdata_bad ? "; it is damaged" : "");
}

int sp_doctor_file_print(const struct sp_doctor_file *f, unsigned width, bool colour, FILE *out)
{
	struct page p = {width, colour, out, 0};
	const struct sp_symbol_counts *c = &f->counts;

	identity_lines(&p, f);
	table_lines(&p, f);
	line(&p, "names", ".symtab %" PRIu64 ", .dynsym %" PRIu64 " symbols of code", c->n_symtab, c->n_dynsym);
	if (c->n_go)
		line(&p, "Go", ".gopclntab: %" PRIu64 " functions", c->n_go);
	debug_lines(&p, f);
	line(&p, "ranges",
	     "%" PRIu64 " functions by .eh_frame or derived, %" PRIu64 " of them without a symbol in the file itself",
	     c->n_ranges, c->n_unnamed);
	line(&p, "gaps", "%" PRIu64 " between functions, %" PRIu64 " bytes (%.1f %% of the code)", c->n_gaps,
	     c->gap_bytes, percent(c->gap_bytes, c->code_bytes));
	return p.r;
}

/* --- JSON --- */
static void json_identity(const struct sp_doctor_file *f, struct sp_json *j)
{
	char hex[2 * sizeof(f->build_id) + 1];

	sp_hex(f->build_id, f->build_id_len, hex);
	sp_json_word(j, "path", f->path);
	sp_json_uint(j, "size", f->size);
	sp_json_word(j, "build_id", hex);
	sp_json_word(j, "soname", f->soname);
	sp_json_word(j, "package", f->package ? f->package : f->note.name);
	sp_json_word(j, "package_version", f->package ? f->package_version : f->note.version);
}

static void json_table(const struct sp_doctor_file *f, struct sp_json *j)
{
	sp_json_ints(j, {"code_bytes", f->counts.code_bytes}, {"eh_frame_bytes", covered(f)});
	sp_json_format(j, "eh_frame_percent", "%.3f", percent(covered(f), f->counts.code_bytes));
	sp_json_ints(j, {"fdes", f->blob->n_fdes}, {"rows", f->blob->n_rows},
		     {"derived_rows", f->survey.n_derived_rows}, {"derived_functions", f->blob->n_derived_functions},
		     {"derived_bytes", f->blob->derived_bytes}, {"uncovered_bytes", f->blob->uncovered_bytes},
		     {"left_out_bytes", f->blob->left_out_bytes});
	sp_json_bool(j, "derived_partial", f->blob->flags & SP_BLOB_DERIVED_PART);
	sp_json_ints(j, {"rules", f->blob->n_rules}, {"table_bytes", f->blob->bytes});
	sp_json_bool(j, "table_partial", f->blob->flags & SP_BLOB_PARTIAL);
	sp_json_word(j, "cache", f->cache == 0 ? "yes" : f->cache == -EACCES ? "never" : "no");
	sp_json_word(j, "names_cache", f->names_cache == 0 ? "yes" : f->names_cache == -EACCES ? "never" : "no");
}

static void json_bad(const struct sp_doctor_file *f, struct sp_json *j)
{
	sp_json_object(j, "not_expressed");
	sp_json_ints(j, {"rows", n_bad(f)}, {"bytes", f->survey.bad_bytes});
	for (size_t i = 0; i < SP_N_BAD; i++)
		sp_json_uint(j, bad_keys[i], f->survey.n_bad[i]);
	sp_json_ints(j, {"frame_pointer_rows", f->blob->n_lost_fp}, {"fdes", f->blob->n_bad_fdes});
	sp_json_end(j);
	sp_json_ints(j, {"register_calls", f->blob->n_register_calls},
		     {"unsure_register_calls", f->blob->n_unsure_calls});
}

static void json_names(const struct sp_doctor_file *f, struct sp_json *j)
{
	const struct sp_symbol_counts *c = &f->counts;

	sp_json_ints(j, {"symtab", c->n_symtab}, {"dynsym", c->n_dynsym}, {"debugdata", c->n_debugdata},
		     {"gopclntab", c->n_go});
	sp_json_word(j, "debug_file", f->debug_path);
	if (f->debug_path)
		sp_json_uint(j, "debug_file_symtab", f->n_debug);
	sp_json_word(j, "debug_link", f->debug.link);
	sp_json_word(j, "debug_problem", f->debug_note);
	sp_json_bool(j, "dwarf", f->debug.has_dwarf);
	sp_json_ints(j, {"ranges", c->n_ranges}, {"ranges_without_symbol", c->n_unnamed}, {"gaps", c->n_gaps},
		     {"gap_bytes", c->gap_bytes});
}

int sp_doctor_file_print_json(const struct sp_doctor_file *f, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_lines(&j);
	sp_json_string(&j, "soprof", SP_VERSION);
	json_identity(f, &j);
	json_table(f, &j);
	json_bad(f, &j);
	json_names(f, &j);
	sp_json_done(sp_json_line(&j));
	return 0;
}
