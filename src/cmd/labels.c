/* SPDX-License-Identifier: GPL-2.0-or-later */
/* labels.c: what the machine knows beside the samples: packages of libraries, paths of cgroups. */
#include "base/mem.h"
#include "cmd/profile_parts.h"
#include "proc/cgroup.h"
#include "proc/package.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>

static int package_set(struct sp_profile *p, uint32_t file, struct sp_package package)
{
	int64_t name = sp_profile_add_string(p, package.name);

	if (name < 0)
		return (int)name;
	sp_profile_file(p, file)->package = (uint32_t)name;
	return 0;
}

int sp_label_packages(struct sp_profile *p)
{
	uint32_t n = sp_profile_n_files(p), i;
	SP_FREE const char **paths = calloc(n, sizeof(*paths));
	struct sp_packages *packages;
	int r;

	if (!paths)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		paths[i] = sp_profile_string(p, sp_profile_file(p, i)->path);
	r = sp_packages_find(NULL, paths, n, &packages);
	if (r < 0)
		return r;
	for (i = 1; !r && i < n; i++)
		r = package_set(p, i, sp_packages_get(packages, i));
	sp_packages_free(packages);
	return r;
}

int sp_label_cgroups(struct sp_profile *p)
{
	struct sp_cgroups *cgroups;
	int64_t path = 0;
	uint32_t i;
	int r = sp_cgroups_new(&cgroups);

	if (r < 0)
		return r;
	for (i = 1; path >= 0 && i < sp_profile_n_processes(p); i++) {
		struct sp_process *process = sp_profile_process(p, i);

		path = sp_profile_add_string(p, sp_cgroups_path(cgroups, process->cgroup));
		if (path >= 0)
			process->cgroup_path = (uint32_t)path;
	}
	sp_cgroups_free(cgroups);
	return path < 0 ? (int)path : 0;
}
