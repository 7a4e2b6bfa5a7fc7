// SPDX-License-Identifier: GPL-3.0-or-later
// Regions in C++: ended by a destructor, when an exception leaves them, too.
#include <carm.h>

#include <stdexcept>

class region
{
    const char *name;

  public:
    explicit region(const char *n) : name(n)
    {
        carm_region_begin(name);
    }
    ~region()
    {
        carm_region_end(name);
    }
};

struct late {
    ~late()
    {
        region r("static destructor");
    }
};

static late last;

int main()
{
    region outer("main");
    try {
        region inner("thrown out of");
        throw std::runtime_error("x");
    } catch (const std::exception &) {
        return 0;
    }
}
