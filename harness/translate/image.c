/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/image.h"

#include <Zydis/Zydis.h>

#include "base/fd.h"
#include "base/hash.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* engine.asm of the build: the shared object that harness/translate/engine is linked to */
extern const uint8_t carm_engine_object[];
extern const uint8_t carm_engine_object_end[];

enum { PAGE = 4096, MODULES = CARM_IMAGE_CODES, TABLE = 1 << 16 };

#ifndef SHT_RELR
#define SHT_RELR 19 /* defined by glibc from 2.36 on */
#endif

/* A shared object in memory and its address in the counted program. */
struct module {
    const uint8_t *file;
    size_t file_bytes;
    uint64_t at; /* address of the object's byte 0 */
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names;
    uint64_t image;      /* address of the image's begin */
    const char *missing; /* in the first module: the symbol that no module defines */
};

static const Elf64_Ehdr *header(const struct module *m)
{
    return (const Elf64_Ehdr *)(const void *)m->file;
}

static const Elf64_Phdr *segments(const struct module *m)
{
    return (const Elf64_Phdr *)(const void *)(m->file + header(m)->e_phoff);
}

static uint64_t span(const struct module *m)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < header(m)->e_phnum; i++) {
        const Elf64_Phdr *p = &segments(m)[i];
        if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > end) {
            end = p->p_vaddr + p->p_memsz;
        }
    }
    return (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* Reads the symbol tables. libZydis is the distribution's file, the engine's object is part of
 * carm. */
static bool read_symbols(struct module *m)
{
    const Elf64_Ehdr *h = header(m);
    if (m->file_bytes < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_machine != EM_X86_64 ||
        h->e_shoff + (uint64_t)h->e_shnum * sizeof(Elf64_Shdr) > m->file_bytes) {
        return false;
    }
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(m->file + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type == SHT_DYNSYM && s->sh_offset + s->sh_size <= m->file_bytes &&
            s->sh_link < h->e_shnum && sections[s->sh_link].sh_offset < m->file_bytes) {
            m->symbols = (const Elf64_Sym *)(const void *)(m->file + s->sh_offset);
            m->nsymbols = s->sh_size / sizeof *m->symbols;
            m->names = (const char *)m->file + sections[s->sh_link].sh_offset;
            return true;
        }
    }
    return false;
}

/* The address of a symbol; 0 = not defined */
static uint64_t address_of(const struct module *modules, const char *name)
{
    for (int k = 0; k < MODULES; k++) {
        const struct module *m = &modules[k];
        for (size_t i = 0; i < m->nsymbols; i++) {
            if (m->symbols[i].st_shndx != SHN_UNDEF &&
                strcmp(m->names + m->symbols[i].st_name, name) == 0) {
                return m->at + m->symbols[i].st_value;
            }
        }
    }
    return 0;
}

/* Applies one relocation. returns false for an unknown kind or a missing symbol. */
static bool relocate_one(struct module *modules, const struct module *m, const Elf64_Rela *r,
                         uint8_t *image)
{
    const Elf64_Sym *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
    uint64_t value = m->at + (uint64_t)r->r_addend;
    if (ELF64_R_TYPE(r->r_info) != R_X86_64_RELATIVE) {
        value = address_of(modules, m->names + symbol->st_name);
        if (!value && ELF64_ST_BIND(symbol->st_info) != STB_WEAK) {
            modules->missing = m->names + symbol->st_name;
            return false;
        }
    }
    switch (ELF64_R_TYPE(r->r_info)) {
    case R_X86_64_64:
        value += (uint64_t)r->r_addend;
        break;
    case R_X86_64_RELATIVE:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        break;
    default:
        return false;
    }
    memcpy(image + (m->at - m->image) + r->r_offset, &value, sizeof value);
    return true;
}

static bool relocate(struct module *modules, const struct module *m, uint8_t *image)
{
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(m->file + header(m)->e_shoff);
    for (unsigned i = 0; i < header(m)->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type == SHT_RELR || (s->sh_type == SHT_REL && s->sh_flags & SHF_ALLOC)) {
            return false;
        }
        if (s->sh_type != SHT_RELA || !(s->sh_flags & SHF_ALLOC)) {
            continue;
        }
        const Elf64_Rela *list = (const Elf64_Rela *)(const void *)(m->file + s->sh_offset);
        for (size_t k = 0; k < s->sh_size / sizeof *list; k++) {
            if (!relocate_one(modules, m, &list[k], image)) {
                return false;
            }
        }
    }
    return true;
}

/* The module's executable segments, in whole pages. returns false when another segment shares
 * these pages */
static bool find_code(const struct module *m, uint64_t *begin, uint64_t *end)
{
    *begin = UINT64_MAX;
    *end = 0;
    for (unsigned i = 0; i < header(m)->e_phnum; i++) {
        const Elf64_Phdr *p = &segments(m)[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            const uint64_t first = p->p_vaddr & ~(uint64_t)(PAGE - 1);
            const uint64_t last = (p->p_vaddr + p->p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
            *begin = first < *begin ? first : *begin;
            *end = last > *end ? last : *end;
        }
    }
    for (unsigned i = 0; i < header(m)->e_phnum; i++) {
        const Elf64_Phdr *p = &segments(m)[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && p->p_vaddr < *end &&
            p->p_vaddr + p->p_memsz > *begin) {
            return false;
        }
    }
    *begin += m->at;
    *end += m->at;
    return *begin < *end;
}

static void place(const struct module *m, uint8_t *image)
{
    for (unsigned i = 0; i < header(m)->e_phnum; i++) {
        const Elf64_Phdr *p = &segments(m)[i];
        if (p->p_type == PT_LOAD) {
            memcpy(image + (m->at - m->image) + p->p_vaddr, m->file + p->p_offset, p->p_filesz);
        }
    }
}

static bool link_modules(struct module *modules, uint8_t *image)
{
    for (int k = 0; k < MODULES; k++) {
        place(&modules[k], image);
    }
    for (int k = 0; k < MODULES; k++) {
        if (!relocate(modules, &modules[k], image)) {
            return false;
        }
    }
    return true;
}

static int map_zydis(struct module *m, struct carm_err *err)
{
    Dl_info info;
    struct stat s;
    if (!dladdr((const void *)(uintptr_t)ZydisDecoderInit, &info) || !info.dli_fname) {
        return carm_fail(err, CARM_ENOTSUP, "libZydis is not a shared library here");
    }
    const int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0) {
        const int code = errno;
        carm_fd_close(fd);
        return carm_fail(err, CARM_ENOTSUP, "%.300s cannot be read: %s", info.dli_fname,
                         strerror(code));
    }
    m->file_bytes = (size_t)s.st_size;
    m->file = mmap(NULL, m->file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return m->file == MAP_FAILED ? carm_fail(err, CARM_ENOMEM, "not enough memory for libZydis")
                                 : 0;
}

static int make_file(struct carm_engine *image, struct module *modules, struct carm_err *err)
{
    int rc = 0;
    image->fd = memfd_create("carm-engine", MFD_CLOEXEC);
    if (image->fd < 0 || ftruncate(image->fd, (off_t)image->bytes) != 0) {
        return carm_fail(err, CARM_EIO, "cannot make a file in memory: %s%s", strerror(errno),
                         errno == EFBIG ? " (ulimit -f)" : "");
    }
    uint8_t *bytes = mmap(NULL, image->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, image->fd, 0);
    if (bytes == MAP_FAILED) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the translator");
    }
    if (!link_modules(modules, bytes)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the translator cannot be linked with this libZydis: %s%.100s",
                       modules->missing ? "it wants " : "it has relocations of another kind",
                       modules->missing ? modules->missing : "");
    }
    /* nothing has been translated: every entry of the table leads to the engine */
    const uint64_t miss = address_of(modules, "carm_entry_miss");
    const uint64_t table = address_of(modules, "carm_table") - image->at;
    for (uint64_t i = 0; !rc && i < TABLE; i++) {
        memcpy(bytes + table + i * sizeof miss, &miss, sizeof miss);
    }
    munmap(bytes, image->bytes);
    for (int k = 0; k < MODULES && !rc; k++) {
        if (!find_code(&modules[k], &image->code[k].begin, &image->code[k].end)) {
            rc = carm_fail(err, CARM_ENOTSUP, "the code of this libZydis would be writable");
        }
    }
    image->start = address_of(modules, "carm_entry_start");
    image->boot = address_of(modules, "carm_boot");
    image->build = address_of(modules, "carm_engine_build");
    image->ready = address_of(modules, "carm_engine_ready");
    return rc;
}

int carm_engine_open(struct carm_engine *image, uint64_t at, struct carm_err *err)
{
    struct module modules[MODULES] = {
        {.file = carm_engine_object,
         /* cppcheck-suppress comparePointers ; two labels of one object */
         .file_bytes = (size_t)(carm_engine_object_end - carm_engine_object),
         .at = at,
         .image = at},
        {.image = at}};
    *image = (struct carm_engine){.fd = -1, .at = at};
    int rc = map_zydis(&modules[1], err);
    if (rc) {
        return rc;
    }
    if (!read_symbols(&modules[0]) || !read_symbols(&modules[1])) {
        rc = carm_fail(err, CARM_ENOTSUP, "libZydis has no table of symbols");
        goto out;
    }
    modules[1].at = at + span(&modules[0]);
    for (int k = 0; k < MODULES; k++) {
        image->version =
            carm_hash_bytes(image->version, (const char *)modules[k].file, modules[k].file_bytes);
    }
    image->bytes = modules[1].at + span(&modules[1]) - at;
    rc = make_file(image, modules, err);
    if (rc) {
        carm_engine_close(image);
    }
out:
    munmap((void *)(uintptr_t)modules[1].file, modules[1].file_bytes);
    return rc;
}

void carm_engine_close(struct carm_engine *image)
{
    carm_fd_close(image->fd);
    image->fd = -1;
}
