// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtual DIRECTORY: what C++ compares by the addresses of functions: slots of vtables, pointers to members, type_info,
 * types of exceptions, functions that each object has a copy of; between a library, a plugin and the program. Prints
 * what must be the same without an auditor. -DCOUNTED: libvirtual.so, -DPLUGIN: libplugin.so, else the program.
 */
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <typeinfo>

struct shape {
	virtual ~shape();
	virtual int area(int x);
	virtual int sides(int x);
	int plain(int x);
};
struct square : shape {
	int area(int x) override;
};
using member = int (shape::*)(int);
inline int everywhere(int x) // one address for all
{
	static int n;

	return x + n++;
}
shape *shape_new(int kind);
int shape_is(member m); // as the library sees it
using plain_function = int (*)(int);
plain_function shape_everywhere();
[[noreturn]] void shape_throw(int kind);

#if defined COUNTED
shape::~shape() = default;
int shape::area(int x)
{
	return x;
}
int shape::sides(int x)
{
	return 2 * x;
}
int shape::plain(int x)
{
	return 3 * x;
}
int square::area(int x)
{
	return 4 * x;
}
shape *shape_new(int kind)
{
	return kind != 0 ? new square : new shape;
}
int shape_is(member m)
{
	return m == &shape::plain ? 1 : m == &shape::area ? 2 : 0;
}
plain_function shape_everywhere()
{
	return everywhere;
}
void shape_throw(int kind)
{
	if (kind != 0)
		throw std::out_of_range("far");
	throw square();
}
#elif defined PLUGIN
struct circle : square {
	int sides(int x) override
	{
		return shape::sides(x) + plain(x);
	}
};
extern "C" shape *plugin_new()
{
	return new circle;
}
extern "C" int plugin_is(member m, plain_function f)
{
	return shape_is(m) + 10 * (m == &shape::plain) + 100 * (f == everywhere);
}
#else
static void slots(const char *what, shape *a, shape *b)
{
	void **x, **y;

	memcpy(&x, static_cast<void *>(a), sizeof(x));
	memcpy(&y, static_cast<void *>(b), sizeof(y));
	for (int i = 0; i < 4; i++)
		printf("%s slot %d: %d %d\n", what, i, x[i] == y[i], x[i] == dlsym(RTLD_DEFAULT, "_ZN5shape5sidesEi"));
	printf("%s: %d %d %d %d %d\n", what, typeid(*a) == typeid(*b), typeid(*b).before(typeid(*a)),
	       dynamic_cast<square *>(b) != nullptr, a->area(5) + a->sides(6), b->area(5) + b->sides(6) + b->plain(7));
}

static int caught(int kind)
{
	try {
		shape_throw(kind);
	} catch (const square &s) {
		return typeid(s) == typeid(square);
	} catch (const std::logic_error &e) {
		return 2 * (strcmp(e.what(), "far") == 0);
	}
}

int main(int, char **argv)
{
	shape *a = shape_new(0), *b = shape_new(1);
	std::function<int(int)> f = everywhere;
	void *handle = dlopen((std::string(argv[1]) + "/libplugin.so").c_str(), RTLD_NOW);
	auto made = reinterpret_cast<shape *(*)()>(dlsym(handle, "plugin_new"));
	auto is = reinterpret_cast<int (*)(member, plain_function)>(dlsym(handle, "plugin_is"));

	slots("library", a, b);
	slots("plugin", b, made());
	printf("members %d %d %d\n", shape_is(&shape::plain), shape_is(&shape::area), is(&shape::plain, everywhere));
	printf("function %d %d %d\n", *f.target<plain_function>() == shape_everywhere(), everywhere(1),
	       shape_everywhere()(1));
	printf("caught %d %d\n", caught(0), caught(1));
	dlclose(handle);
}
#endif
