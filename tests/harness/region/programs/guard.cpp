// SPDX-License-Identifier: GPL-3.0-or-later
// Regions in C++: ended by a destructor, when an exception leaves them, too.
#include <carm.h>

#include <stdexcept>

using carm::region;

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
