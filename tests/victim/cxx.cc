// SPDX-License-Identifier: GPL-2.0-or-later
// cxx.cc: virtual functions, templates, a comparison called from inlined std::sort, names that need demangling.
#include "victim.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
struct Shape {
	virtual ~Shape() = default;
	virtual int area(int n) const = 0;
};
struct Square final : Shape {
	VICTIM int area(int n) const override { burn(5000); return n * n; }
};
struct Circle final : Shape {
	VICTIM int area(int n) const override { burn(7000); return n * 3; }
};
template <typename T> VICTIM int total(const std::vector<T> &list, int n)
{
	int r = 0;

	for (const auto &x : list)
		r += x->area(n);
	return r;
}
VICTIM bool by_length(const std::string &a, const std::string &b)
{
	burn(100);
	return a.size() < b.size();
}
VICTIM void sort_names(std::vector<std::string> &names)
{
	std::sort(names.begin(), names.end(), by_length);
	KEEP_FRAME();
}
} // namespace shapes

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shapes::Shape>> list;
	std::vector<std::string> names;
	int n = 0;

	victim_start(argc, argv);
	for (int i = 0; i < 20; i++)
		list.push_back(i % 2 ? std::unique_ptr<shapes::Shape>(new shapes::Square) : std::unique_ptr<shapes::Shape>(new shapes::Circle));
	while (going_on()) {
		names.clear();
		for (int i = 0; i < 200; i++)
			names.push_back(std::string((i * 37) % 100, 'x'));
		shapes::sort_names(names);
		n += shapes::total(list, n);
	}
	return n == 1;
}
