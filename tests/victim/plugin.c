/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c: `plugin SECONDS LIBRARY[!]` opens the library with dlopen() and works in it. With `!` the library is taken
 * off the disk once it is mapped: another file is renamed over it if LIBRARY.new is there, else it is unlinked.
 */
#include "victim.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

VICTIM static void take_away(const char *path)
{
	char with[4096];

	snprintf(with, sizeof(with), "%s.new", path);
	if (rename(with, path) != 0)
		unlink(path);
	KEEP_FRAME();
}

VICTIM static void use_plugin(void (*work)(void (*)(unsigned int)))
{
	work(burn);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	char path[4096];
	size_t len;
	void *library;
	void (*work)(void (*)(unsigned int));

	victim_start(argc, argv);
	len = (size_t)snprintf(path, sizeof(path), "%s", victim_argument ? victim_argument : "./libplugin.so");
	if (len >= sizeof(path))
		return 2;
	bool away = path[len - 1] == '!';

	if (away)
		path[len - 1] = '\0';
	library = dlopen(path, RTLD_NOW);
	work = library ? (void (*)(void (*)(unsigned int)))dlsym(library, "plugin_work") : NULL;
	if (!work) {
		fprintf(stderr, "plugin: %s\n", dlerror());
		return 2;
	}
	if (away)
		take_away(path);
	while (going_on())
		use_plugin(work);
	return 0;
}
