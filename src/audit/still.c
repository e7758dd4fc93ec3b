/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What 32-bit programs load in place of the audit library: it says that it audits nothing, and ld.so lets go of it. */
unsigned la_version(unsigned version);

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
	(void)version;
	return 0;
}
