/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assembly.c: calls the hand-written code of assembly_code.S from a function with a frame pointer (its VLA). */
#include "victim.h"

void asm_rax(void);
void asm_r10(void);
void asm_r11(void);
void asm_kept(void);
void asm_index(void);
void asm_deref(void (*f)(void));
void asm_saved(void (*f)(void));

VICTIM static void below(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void around(unsigned int n)
{
	volatile char array[n % 100 + 10];

	array[0] = 1;
	asm_rax();
	asm_r10();
	asm_r11();
	asm_kept();
	asm_index();
	asm_deref(below);
	asm_saved(below);
	array[1] = array[0];
}

int main(int argc, char **argv)
{
	unsigned int n = 0;

	victim_start(argc, argv);
	while (going_on())
		around(++n);
	return 0;
}
