/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of cgroups as runtimes make them, and what only looks like one. */
#include "profile/container.h"
#include "profile/profile.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const struct {
	const char *cgroup, *container; /* NULL = none */
} cases[] = {
    /* docker, by systemd and by itself */
    {"/system.slice/docker-" ID ".scope", "0123456789ab"},
    {"/docker/" ID, "0123456789ab"},
    {"/docker/" ID "/system.slice/cron.service", "0123456789ab"},
    {"/docker/" OTHER "/docker/" ID, "0123456789ab"},
    {"/docker/" ID "/kubelet/kubepods/besteffort/pod07/" OTHER, "fedcba987654"},
    /* podman, by root and not */
    {"/machine.slice/libpod-" ID ".scope/container", "0123456789ab"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", "0123456789ab"},
    {"/libpod_parent/libpod-" ID, "0123456789ab"},
    {"/machine.slice/libpod-conmon-" ID ".scope", NULL},
    {"/machine.slice/crio-conmon-" ID ".scope", NULL},
    /* Kubernetes */
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-" ID ".scope",
     "0123456789ab"},
    {"/kubepods.slice/kubepods-pod2.slice/crio-" ID ".scope", "0123456789ab"},
    {"/kubepods/besteffort/pod3/" ID, "0123456789ab"},
    {"/system.slice/containerd.service/kubepods-pod4.slice:cri-containerd:" ID, "0123456789ab"},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice", NULL},
    {"/ecs/5f/" ID, "0123456789ab"},
    /* LXC, nspawn, libvirt */
    {"/lxc/web1", "web1"},
    {"/lxc.payload.web1", "web1"},
    {"/lxc.payload/web1/init.scope", "web1"},
    {"/lxc.monitor.web1", NULL},
    {"/lxc", NULL},
    {"/machine.slice/machine-debian.scope/payload", "debian"},
    {"/machine.slice/machine-my\\x2ddebian.scope", "my-debian"},
    {"/machine.slice/systemd-nspawn@debian.service/payload", "debian"},
    {"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "qemu-1-vm"},
    {"/machine.slice", NULL},
    /* no container */
    {"/", NULL},
    {"", NULL},
    {"/system.slice/cron.service", NULL},
    {"/user.slice/user-0.slice/session-1.scope", NULL},
    {"/machine-debian.scope", NULL},
    {"/docker/0123456789ab", NULL},
    {"/x" ID, NULL},
    {"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
    {"/lxc//web1", "web1"},
    {"/lxc.payload.a\\x", "a\\x"},
    {"/lxc.payload.a\\xg1\\x0", "a\\xg1\\x0"},
};

static void paths(void **state)
{
	char name[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int r = sp_container_of(cases[i].cgroup, name, sizeof(name));

		if (r != (cases[i].container ? 0 : -ENOENT))
			fail_msg("%s: %d", cases[i].cgroup, r);
		if (cases[i].container)
			assert_string_equal(name, cases[i].container);
	}
	assert_int_equal(sp_container_of("/docker/" ID, name, 12), -ENAMETOOLONG);
	assert_int_equal(sp_container_of("/docker/" ID, name, 13), 0);
}

static void long_names(void **state)
{
	char path[4096] = "/lxc/", name[256];

	memset(path + 5, 'a', 255);
	assert_int_equal(sp_container_of(path, name, sizeof(name)), 0);
	assert_int_equal(strlen(name), 255);
	memset(path + 5, 'a', 4000);
	assert_int_equal(sp_container_of(path, name, sizeof(name)), -ENOENT);
}

static void of_a_process(void **state)
{
	struct sp_process process = {.pid = 1};
	struct sp_profile *p;
	int64_t n;

	assert_int_equal(sp_profile_new(&p), 0);
	n = sp_profile_add_process(p, &process);
	assert_int_equal(sp_profile_set_cgroup(p, (uint32_t)n, "/docker/" ID), 0);
	assert_string_equal(sp_profile_string(p, sp_profile_process(p, (uint32_t)n)->cgroup_path), "/docker/" ID);
	assert_string_equal(sp_profile_string(p, sp_profile_process(p, (uint32_t)n)->container), "0123456789ab");
	assert_int_equal(sp_profile_set_cgroup(p, (uint32_t)n, "/init.scope"), 0);
	assert_int_equal(sp_profile_process(p, (uint32_t)n)->container, 0);
	sp_profile_free(p);
}

/* Long paths, which users can make, take little: what differed still differs, and the container is that of the whole.
 */
static void a_long_path_is_cut(void **state)
{
	const struct sp_process process = {.pid = 1, .start_ns = 1};
	char path[4096] = "", other[4096] = "", *end = path;
	struct sp_profile *p;

	while (end - path < 3000) {
		memset(end, 'd', 200);
		*end = '/';
		end += 200;
	}
	memcpy(other, path, sizeof(other));
	snprintf(end, 200, "/docker-" ID ".scope");
	snprintf(other + (end - path), 200, "/docker-" OTHER ".scope");
	assert_int_equal(sp_profile_new(&p), 0);
	uint32_t number = (uint32_t)sp_profile_add_process(p, &process);
	const struct sp_process *it = sp_profile_process(p, number);
	assert_int_equal(sp_profile_set_cgroup(p, number, path), 0);
	uint32_t first = it->cgroup_path;
	assert_true(strlen(sp_profile_string(p, first)) <= 512);
	assert_memory_equal(sp_profile_string(p, first), path, 400);
	assert_string_equal(sp_profile_string(p, it->container), "0123456789ab");
	assert_int_equal(sp_profile_set_cgroup(p, number, other), 0);
	assert_int_not_equal(it->cgroup_path, first);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths),
	    cmocka_unit_test(long_names),
	    cmocka_unit_test(of_a_process),
	    cmocka_unit_test(a_long_path_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
