/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that the kernel executes although parts of them are wrong. */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/profile/symbols.h"
#include "harness/translate/modules.h"
#include "tests/unit.h"

enum {
    CODE = 1 << 28
}; /* no gap between libraries is so large: below the file's mapping there is none */

/* How many functions a file has whose table for exceptions is at that offset. */
static size_t functions_of(uint64_t frames)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segments[2];
    } file = {
        .head = {.e_ident = ELFMAG,
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = sizeof file.head,
                 .e_ehsize = sizeof file.head,
                 .e_phentsize = sizeof *file.segments,
                 .e_phnum = 2},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = CODE, .p_memsz = CODE},
                     {.p_type = PT_GNU_EH_FRAME,
                      .p_flags = PF_R,
                      .p_offset = frames,
                      .p_vaddr = 4096,
                      .p_filesz = 64}},
    };
    /* version, pcrel sdata4, udata4, datarel sdata4; where the frames are, 2 functions and their frames */
    const struct {
        uint8_t forms[4];
        int32_t table[6];
    } table = {{1, 0x1b, 3, 0x3b}, {0, 2, 16, 0, 48, 0}};
    struct carm_symbols *symbols = NULL;
    const struct carm_symbols_function *functions = NULL;
    char path[64];
    file.head.e_ident[EI_CLASS] = ELFCLASS64;
    file.head.e_ident[EI_DATA] = ELFDATA2LSB;
    file.head.e_ident[EI_VERSION] = EV_CURRENT;
    const int fd = memfd_create("program", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, CODE) == 0);
    assert_int_equal(pwrite(fd, &file, sizeof file, 0), sizeof file);
    assert_int_equal(pwrite(fd, &table, sizeof table, 4096), sizeof table);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_ok(carm_symbols_open(&symbols, &err));
    const size_t n = carm_symbols_functions(
        carm_symbols_find(symbols, path, CARM_MODULE_UNREAD, -1), &functions);
    if (n == 2) {
        assert_int_equal(functions[0].begin, 4096 + 16);
        assert_int_equal(functions[1].begin, 4096 + 48);
    }
    carm_symbols_close(symbols);
    close(fd);
    return n;
}

TEST(functions_come_from_the_table_for_exceptions)
{
    assert_int_equal(functions_of(4096), 2);
}

TEST(a_table_outside_the_file_is_none)
{
    assert_int_equal(functions_of(UINT64_MAX - 7), 0); /* its end is 4, modulo 2^64 */
    assert_int_equal(functions_of(CODE - 8), 0);
    assert_int_equal(functions_of(CODE), 0);
}

/* A row of stubs keeps its name when the program calls one more function of a library. */
TEST(stubs_of_calls_are_named_by_their_section)
{
    static const char names[] = "\0.plt\0.plt.sec\0.plt.data";
    const struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[5];
    } file = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = sizeof file.head,
                 .e_shoff = sizeof file.head + sizeof file.segment,
                 .e_ehsize = sizeof file.head,
                 .e_phentsize = sizeof file.segment,
                 .e_phnum = 1,
                 .e_shentsize = sizeof *file.sections,
                 .e_shnum = 5,
                 .e_shstrndx = 4},
        .segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = CODE, .p_memsz = CODE},
        .sections = {
            {.sh_name = 0},
            {.sh_name = 1,
             .sh_type = SHT_PROGBITS,
             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
             .sh_addr = 4096,
             .sh_offset = 4096,
             .sh_size = 64},
            {.sh_name = 6,
             .sh_type = SHT_PROGBITS,
             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
             .sh_addr = 4096 + 128,
             .sh_offset = 4096 + 128,
             .sh_size = 32},
            {.sh_name = 15,
             .sh_type = SHT_PROGBITS,
             .sh_flags = SHF_ALLOC,
             .sh_addr = 8192,
             .sh_offset = 8192,
             .sh_size = 32},
            {.sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = 2048, .sh_size = sizeof names}}};
    struct carm_symbols *symbols = NULL;
    const struct carm_symbols_function *of = NULL;
    char path[64];
    const int fd = memfd_create("program", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, CODE) == 0);
    assert_int_equal(pwrite(fd, &file, sizeof file, 0), sizeof file);
    assert_int_equal(pwrite(fd, names, sizeof names, 2048), sizeof names);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_ok(carm_symbols_open(&symbols, &err));
    assert_int_equal(
        carm_symbols_functions(carm_symbols_find(symbols, path, CARM_MODULE_UNREAD, -1), &of), 2);
    assert_string_equal(of[0].name, ".plt");
    assert_string_equal(of[1].name, ".plt.sec");
    assert_true(of[0].begin == 4096 && of[0].end == 4096 + 64 && of[1].begin == 4096 + 128);
    carm_symbols_close(symbols);
    close(fd);
}

TEST(names_lose_their_arguments)
{
    static const char behind[] = " loop +0x48 [libx.so.1]";
    static const struct {
        const char *name, *is;
    } all[] = {
        {"f", "f"},
        {"f(int, char const*)", "f()"},
        {"void f<int, std::vector<int> >(std::vector<int>&) [clone .isra.0]", "void f<>()"},
        {"(anonymous namespace)::work(std::map<int, double> const&, int)",
         "(anonymous namespace)::work()"},
        {"Acc<long>::operator()(std::function<long (long, long)> const&)", "Acc<>::operator()()"},
        {"bool operator<(A const&, A const&)", "bool operator<()"},
        {"std::ostream& operator<< <char>(std::ostream&, char)", "std::ostream& operator<< <>()"},
        {"A::operator->() const", "A::operator->() const"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda()#1}::operator()() const"},
        {"f(int) in g(std::pair<int (*)(int), A>)", "f() in g()"},
        {"f<std::map<int, cha", "f<>"}, /* cut by a limit of length */
        {"f(std::map<int, cha", "f()"},
        {"f [clone .co", "f [clone .co"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[160], expected[160];
        snprintf(name, sizeof name, "%s%s", all[i].name, behind);
        snprintf(expected, sizeof expected, "%s%s", all[i].is, behind);
        carm_symbols_drop_arguments(name, name + strlen(all[i].name));
        assert_string_equal(name, expected);
    }
}
