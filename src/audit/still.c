/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What 32-bit programs load instead of the audit library: it tells ld.so that it audits nothing, and is unloaded. */
unsigned la_version(unsigned version);

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
	(void)version;
	return 0;
}
