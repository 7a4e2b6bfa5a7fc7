#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Twelve machine types as hwloc XML, for tests without these machines. make.py FOLDER writes NAME.xml.

Shapes and sizes are those of usual machines, not taken from one; the numbers of CPUs are those that Linux gives: first one
hardware thread of each core, then the second ones; on hybrid CPUs both threads of a core in turn.
"""
import sys
from itertools import count
from xml.sax.saxutils import quoteattr

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def bits(numbers):
    """A set of numbers as hwloc writes it: words of 32 bits, the highest first."""
    value = sum(1 << n for n in numbers)
    words = []
    while value or not words:
        words.insert(0, f"0x{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(words)


class Obj:
    """An object of a topology. cpus: of itself and all below."""

    def __init__(self, kind, *children, **attributes):
        self.kind, self.attributes = kind, attributes
        self.children = [c for child in children for c in (child if isinstance(child, list) else [child])]
        self.memory = attributes.pop("memory", [])
        self.own = attributes.pop("cpus", None)

    def cpus(self):
        return self.own if self.own is not None else [n for c in self.children for n in c.cpus()]

    def nodes(self):
        return [m.attributes["os_index"] for m in self.memory] + [n for c in self.children for n in c.nodes()]

    def write(self, out, ids, near):
        cpus, nodes = self.cpus(), self.nodes() or near
        if self.kind == "NUMANode":
            nodes = [self.attributes["os_index"]]
        a = dict(self.attributes)
        extra = a.pop("complete", None)
        sets = {"cpuset": bits(cpus), "complete_cpuset": bits(extra or cpus)}
        if self.kind == "Machine":
            sets["allowed_cpuset"] = bits(cpus)
        sets |= {"nodeset": bits(nodes), "complete_nodeset": bits(nodes)}
        if self.kind == "Machine":
            sets["allowed_nodeset"] = bits(nodes)
        text = " ".join(f"{k}={quoteattr(str(v))}" for k, v in (a | sets | {"gp_index": next(ids)}).items())
        out.append(f'<object type="{self.kind}" {text}>')
        for child in self.memory + self.children:
            child.write(out, ids, nodes)
        out.append("</object>")


class Maker:
    """Numbers cores, CPUs and nodes while a machine is put together."""

    def __init__(self, all_cores, smt, hybrid=False):
        self.all_cores, self.smt, self.hybrid = all_cores, smt, hybrid
        self.cores, self.cpu, self.node, self.packages = count(), count(), count(), count()

    def core(self, l2, smt=None, offline=(), l1=32 * KIB):
        c = next(self.cores)
        cpus = [next(self.cpu) if self.hybrid else c + k * self.all_cores for k in range(smt or self.smt)]
        pus = [Obj("PU", os_index=n, cpus=[n]) for n in cpus if n not in offline]
        core = cache(1, l1, Obj("Core", pus, os_index=c))
        return cache(2, l2, core) if l2 else core

    def dram(self, cpus, gib, **more):
        return Obj("NUMANode", cpus=cpus, os_index=next(self.node), local_memory=gib * GIB, **more)

    def package(self, *children, **more):
        return Obj("Package", *children, os_index=next(self.packages), **more)


def cache(level, size, *children):
    return Obj(f"L{level}Cache", *children, cache_size=size, depth=level, cache_linesize=64,
               cache_associativity=0, cache_type=0 if level > 1 else 1)


def with_memory(m, obj, gib):
    obj.memory = [m.dram(obj.cpus(), gib)]
    return obj


def epyc(sockets, domains, ccds, cores, smt, gib):
    """Sockets of memory domains (NPS) of L3 slices."""
    m = Maker(sockets * domains * ccds * cores, smt)
    packages = []
    for _ in range(sockets):
        groups = []
        for _ in range(domains):
            l3 = [cache(3, 32 * MIB, [m.core(MIB) for _ in range(cores)]) for _ in range(ccds)]
            groups.append(with_memory(m, Obj("Group", l3), gib // domains))
        packages.append(m.package(groups))
    return Obj("Machine", packages)


def xeon(sockets, clusters, cores, l3, gib, smt=2, hbm=0):
    """Sockets with one L3 of all sub-NUMA clusters; hbm: GiB of a second memory beside each."""
    m = Maker(sockets * clusters * cores, smt)
    packages = []
    for _ in range(sockets):
        groups = [Obj("Group", [m.core(2 * MIB, l1=48 * KIB) for _ in range(cores)]) for _ in range(clusters)]
        packages.append(m.package(cache(3, l3, groups)))
        for g in groups:
            with_memory(m, g, gib // clusters)
    for p in packages if hbm else []:
        for g in p.children[0].children:
            g.memory.append(m.dram(g.cpus(), hbm, subtype="HBM"))
    return Obj("Machine", packages)


def alder_lake():
    m = Maker(16, 2, hybrid=True)
    p = [m.core(1280 * KIB, l1=48 * KIB) for _ in range(8)]
    e = [cache(2, 2 * MIB, [m.core(0, smt=1) for _ in range(4)]) for _ in range(2)]
    machine = Obj("Machine", with_memory(m, m.package(cache(3, 30 * MIB, p, e)), 64))
    kinds = [("IntelAtom", [n for x in e for n in x.cpus()]), ("IntelCore", [n for x in p for n in x.cpus()])]
    return machine, kinds


def clusters_without_l3():
    m = Maker(24, 1)
    l2 = [cache(2, 4608 * KIB, [m.core(0) for _ in range(4)]) for _ in range(6)]
    return Obj("Machine", with_memory(m, m.package(l2), 64))


def with_l4():
    m = Maker(4, 2)
    l3 = cache(3, 6 * MIB, [m.core(256 * KIB) for _ in range(4)])
    return Obj("Machine", with_memory(m, m.package(cache(4, 128 * MIB, l3)), 32))


def with_cxl():
    machine = epyc(1, 1, 8, 8, 2, 512)
    machine.memory = [Obj("NUMANode", cpus=[], os_index=1, local_memory=256 * GIB, subtype="CXL-DRAM")]
    return machine


def one_core():
    m = Maker(1, 1)
    return Obj("Machine", with_memory(m, m.package(cache(3, 32 * MIB, m.core(512 * KIB))), 2))


def some_offline():
    """The second hardware threads of six of eight cores are offline."""
    m = Maker(8, 2)
    l3 = cache(3, 32 * MIB, [m.core(512 * KIB, offline=range(10, 16)) for _ in range(8)])
    return Obj("Machine", with_memory(m, m.package(l3), 64), complete=range(16))


def container():
    """What a container sees that may use CPUs 6 to 9: the ends of two L3 slices of 16 cores."""
    m = Maker(16, 1)
    offline = [n for n in range(16) if n not in range(6, 10)]
    slices = []
    for _ in range(2):
        cores = [m.core(MIB, offline=offline) for _ in range(8)]
        slices.append(cache(3, 32 * MIB, [c for c in cores if c.cpus()]))
    return Obj("Machine", with_memory(m, m.package(slices), 128), complete=range(16))


MACHINES = {
    "2x96-smt2-ccd8": epyc(2, 1, 12, 8, 2, 768),
    "2x96-nps4": epyc(2, 4, 3, 8, 2, 768),
    "2x60-snc2": xeon(2, 2, 30, 112 * MIB, 512),
    "8x64-smt2": xeon(8, 1, 64, 160 * MIB, 1024),
    "p8-e8": alder_lake(),
    "no-l3": clusters_without_l3(),
    "l4": with_l4(),
    "cxl": with_cxl(),
    "hbm": xeon(1, 4, 14, 112 * MIB, 256, hbm=16),
    "one-core": one_core(),
    "offline": some_offline(),
    "container": container(),
}


def main():
    for name, machine in MACHINES.items():
        machine, kinds = machine if isinstance(machine, tuple) else (machine, [])
        out = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
               '<topology version="2.0">']
        machine.write(out, count(1), [])
        for efficiency, (kind, cpus) in enumerate(kinds):
            out.append(f'<cpukind cpuset="{bits(cpus)}" forced_efficiency="{efficiency}">'
                       f'<info name="CoreType" value="{kind}"/></cpukind>')
        with open(f"{sys.argv[1]}/{name}.xml", "w", encoding="utf-8") as f:
            f.write("\n".join(out + ["</topology>", ""]))


if __name__ == "__main__":
    main()
