/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restless DIR N: makes N files in DIR and runs through the code of all of them, one calling the next, while another
 * thread sets their times of change a thousand times a second. So each sample meets N files that nobody has seen
 * before. They are ELF files of a thousand program headers, each of which names the same MiB of small notes. Ends by a
 * signal.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, HEADERS = 1000, CODE_AT = 64 * PAGE, NOTES_AT = CODE_AT + PAGE, NOTES = 1 << 20, MAX = 256 };

typedef void step(void *const *next);

/* One page of a file holds a copy of it: it calls nothing but what it is given. */
__attribute__((noinline, noclone, section("restless"))) static void run_next(void *const *next)
{
	volatile unsigned n = 1 << 20;

	if (*next)
		((step *)*next)(next + 1);
	else
		while (n)
			n--;
	__asm__ volatile("" ::: "memory"); /* no jump in place of the call */
}

static int fds[MAX], n_files;

static unsigned char *make_image(void)
{
	static unsigned char image[NOTES_AT + NOTES];
	Elf64_Ehdr *head = (void *)image;
	Elf64_Phdr *ph = (void *)(image + sizeof(*head));

	*head = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(*head),
			     .e_ehsize = sizeof(*head),
			     .e_phentsize = sizeof(*ph),
			     .e_phnum = HEADERS};
	ph[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = CODE_AT,
			     .p_vaddr = CODE_AT,
			     .p_filesz = PAGE,
			     .p_memsz = PAGE,
			     .p_align = PAGE};
	for (int i = 1; i < HEADERS; i++)
		ph[i] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = NOTES, .p_align = 4};
	for (int at = NOTES_AT; at < NOTES_AT + NOTES - 16; at += 16)
		memcpy(image + at, &(Elf64_Nhdr){.n_namesz = 0, .n_descsz = 4, .n_type = 1}, sizeof(Elf64_Nhdr));
	memcpy(image + CODE_AT, (void *)run_next, 256);
	return image;
}

static step *make_file(const char *dir, int i, const unsigned char *image)
{
	char path[4096];
	void *code;

	snprintf(path, sizeof(path), "%s/restless%d", dir, i);
	fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fds[i] < 0 || write(fds[i], image, NOTES_AT + NOTES) != NOTES_AT + NOTES) {
		perror(path);
		exit(1);
	}
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fds[i], CODE_AT);
	if (code == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return (step *)code;
}

static void *touch(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (;;) {
		for (int i = 0; i < n_files; i++)
			futimens(fds[i], NULL);
		nanosleep(&pause, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static void *steps[MAX + 1];
	pthread_t thread;
	const unsigned char *image = make_image();
	int n = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

	if (n < 1 || n > MAX) {
		fprintf(stderr, "restless DIR N\n");
		return 2;
	}
	for (n_files = 0; n_files < n; n_files++)
		steps[n_files] = (void *)make_file(argv[1], n_files, image);
	if (pthread_create(&thread, NULL, touch, NULL))
		return 1;
	for (;;)
		((step *)steps[0])(steps + 1);
}
