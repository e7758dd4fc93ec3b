/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_draw.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { EIGHTHS = 8, METER = 20, GAP = 2, FOOT = 26, MAX_WIDTH = 240 };

static const char *const widths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char ascii_heights[] = "_.-=+*%#";

static double bounded(double share)
{
	return share > 0 ? SP_MIN(share, 1.0) : 0;
}

void sp_top_bar(double share, bool ascii, char ret_text[SP_TOP_DRAWN])
{
	unsigned eighths = (unsigned)lround(bounded(share) * SP_TOP_BAR * EIGHTHS), i;
	size_t n = 0;

	eighths += share > 0 && !eighths;
	*ret_text = '\0';
	for (i = 0; i < eighths / EIGHTHS; i++)
		n += (size_t)snprintf(ret_text + n, SP_TOP_DRAWN - n, "%s", ascii ? "#" : widths[EIGHTHS]);
	if (eighths % EIGHTHS)
		snprintf(ret_text + n, SP_TOP_DRAWN - n, "%s",
			 !ascii                             ? widths[eighths % EIGHTHS]
			 : eighths % EIGHTHS >= EIGHTHS / 2 ? "="
							    : "-");
}

/* 0 to 1 as one of eight heights. */
static const char *height(double of_one, bool ascii, char ret_ascii[2])
{
	unsigned i = SP_MIN((unsigned)(bounded(of_one) * EIGHTHS), (unsigned)EIGHTHS - 1);

	ret_ascii[0] = ascii_heights[i];
	ret_ascii[1] = '\0';
	return ascii ? ret_ascii : heights[i];
}

void sp_top_spark(const double *cells, size_t n, double least, bool ascii, char ret_text[SP_TOP_DRAWN])
{
	size_t len = 0, i;
	char one[2];

	for (i = 0; i < n; i++)
		least = fmax(least, cells[i]);
	*ret_text = '\0';
	for (i = 0; i < n && len < SP_TOP_DRAWN; i++)
		len += (size_t)snprintf(ret_text + len, SP_TOP_DRAWN - len, "%s",
					cells[i] < 0 ? " " : height(cells[i] / least, ascii, one));
}

/* --- CPUs --- */
/* "0[|||||::   43%]", METER columns wide. */
static size_t meter_put(const struct sp_top_cpu *cpu, char *ret_text, size_t size)
{
	char number[16], percent[16];
	unsigned cells, programs, kernel;

	snprintf(number, sizeof(number), "%u[", (unsigned)cpu->number);
	snprintf(percent, sizeof(percent), "%3.0f%%]", 100 * bounded(cpu->programs + cpu->kernel));
	cells = METER - (unsigned)strlen(number) - (unsigned)strlen(percent);
	programs = (unsigned)lround(bounded(cpu->programs) * cells);
	kernel = (unsigned)lround(bounded(cpu->programs + cpu->kernel) * cells);
	kernel = kernel > programs ? kernel - programs : 0;
	return (size_t)snprintf(ret_text, size, "%s%.*s%.*s%*s%s", number, (int)programs, "||||||||||||||||||||",
				(int)kernel, "::::::::::::::::::::", (int)(cells - programs - kernel), "", percent);
}

static size_t meters_put(const struct sp_top_cpus *cpus, size_t in_line, size_t n_lines,
			 char ret_lines[SP_TOP_METER_LINES][SP_TOP_METER_LINE])
{
	size_t line, i;

	for (line = 0; line < n_lines && line * in_line < cpus->n; line++) {
		size_t n = 0;

		for (i = line * in_line; i < SP_MIN((line + 1) * in_line, cpus->n); i++) {
			n += (size_t)snprintf(ret_lines[line] + n, SP_TOP_METER_LINE - n, "%*s",
					      i > line * in_line ? GAP : 0, "");
			n += meter_put(&cpus->cpus[i], ret_lines[line] + n, SP_TOP_METER_LINE - n);
		}
	}
	return line;
}

/* "256 CPUs [▁▂...] busiest of 3 each": a line for all. */
static size_t strip_put(const struct sp_top_cpus *cpus, unsigned width, bool ascii, char *ret_line)
{
	char head[32], foot[48] = "]", one[2];
	size_t n, room, each, i, k;

	snprintf(head, sizeof(head), "%zu CPUs [", cpus->n);
	room = width > strlen(head) + FOOT + 4 ? width - strlen(head) - FOOT : 4;
	each = (cpus->n + room - 1) / room;
	if (each > 1)
		snprintf(foot, sizeof(foot), "] the busiest of %zu each", each);
	n = (size_t)snprintf(ret_line, SP_TOP_METER_LINE, "%s", head);
	for (i = 0; i < cpus->n; i += each) {
		double most = 0;

		for (k = i; k < SP_MIN(i + each, cpus->n); k++)
			most = fmax(most, cpus->cpus[k].programs + cpus->cpus[k].kernel);
		n += (size_t)snprintf(ret_line + n, SP_TOP_METER_LINE - n, "%s", height(most, ascii, one));
	}
	snprintf(ret_line + n, SP_TOP_METER_LINE - n, "%s", foot);
	return 1;
}

size_t sp_top_meters(const struct sp_top_cpus *cpus, unsigned width, size_t n_lines, bool ascii,
		     char ret_lines[SP_TOP_METER_LINES][SP_TOP_METER_LINE])
{
	size_t in_line;

	width = SP_MIN(width, (unsigned)MAX_WIDTH);
	in_line = (width + GAP) / (METER + GAP);
	n_lines = SP_MIN(n_lines, (size_t)SP_TOP_METER_LINES);
	if (!cpus->n || !n_lines || !in_line)
		return 0;
	if (cpus->n <= in_line * n_lines)
		return meters_put(cpus, in_line, n_lines, ret_lines);
	return strip_put(cpus, width, ascii, ret_lines[0]);
}
