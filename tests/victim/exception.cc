// SPDX-License-Identifier: GPL-2.0-or-later
// exception.cc: throws through frames with destructors and catches, in a loop; samples fall inside the unwinder of
// libgcc, inside destructors that run while an exception is in flight, and inside the handler.
#include "victim.h"
#include <stdexcept>

struct Guard {
	int n;
	VICTIM explicit Guard(int n_) : n(n_) {}
	VICTIM ~Guard() { burn(2000); KEEP_FRAME(); }
};

VICTIM static int thrower(int left)
{
	Guard guard(left);

	if (left == 0)
		throw std::runtime_error("thrown");
	int r = thrower(left - 1);
	return r + guard.n;
}

VICTIM static int catcher()
{
	try {
		return thrower(6);
	} catch (const std::exception &e) {
		burn(3000);
		return e.what()[0];
	}
}

int main(int argc, char **argv)
{
	int n = 0;

	victim_start(argc, argv);
	while (going_on())
		n += catcher();
	return n == 1;
}
