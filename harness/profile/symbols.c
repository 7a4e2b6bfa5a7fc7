/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/symbols.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "harness/translate/modules.h"

enum { SEGMENTS_MAX = 32 };

struct carm_symbols_module {
    struct carm_symbols_module *next;
    char *path;
    uint64_t code;
    Dwfl_Module *dwfl; /* NULL = the file cannot be read */
    Dwarf_Addr bias;   /* of the module's addresses in dwfl */
    struct {
        uint64_t offset, bytes, address;
    } segments[SEGMENTS_MAX];
    size_t nsegments;
    struct carm_symbols_function *functions;
    size_t nfunctions, room;
};

struct carm_symbols {
    Dwfl *dwfl;
    struct carm_symbols_module *modules;
    void *library; /* of the demangler */
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* Separate debug files are found by build id, by link, and where DEBUGINFOD_URLS says. */
static char *debug_path;
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

int carm_symbols_open(struct carm_symbols **out, struct carm_err *err)
{
    struct carm_symbols *s = calloc(1, sizeof *s);
    *out = s;
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for names of functions");
    }
    s->dwfl = dwfl_begin(&callbacks);
    s->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (s->library) {
        void *symbol = dlsym(s->library, "__cxa_demangle");
        memcpy(&s->demangle, &symbol, sizeof symbol); /* ISO C has no cast from an object pointer
                                                       * to a function pointer */
    }
    return 0;
}

static void close_module(struct carm_symbols_module *m)
{
    for (size_t i = 0; i < m->nfunctions; i++) {
        free((char *)(uintptr_t)m->functions[i].name);
    }
    free(m->functions);
    free(m->path);
    free(m);
}

void carm_symbols_close(struct carm_symbols *s)
{
    if (!s) {
        return;
    }
    while (s->modules) {
        struct carm_symbols_module *m = s->modules;
        s->modules = m->next;
        close_module(m);
    }
    if (s->dwfl) {
        dwfl_end(s->dwfl);
    }
    if (s->library) {
        dlclose(s->library);
    }
    free(s);
}

/* Whether an argument list of a template, or a parameter list of a function, begins here. */
static bool begins_list(const char *name, const char *at)
{
    static const char anonymous[] = "(anonymous namespace)", word[] = "operator";
    const size_t n = sizeof word - 1;
    const bool names = (size_t)(at - name) >= n && strncmp(at - n, word, n) == 0;
    return !names && (*at == '(' ? strncmp(at, anonymous, sizeof anonymous - 1) != 0
                                 : *at == '<' && at > name && at[-1] != '<');
}

void carm_symbols_drop_arguments(char *name, const char *end)
{
    char *to = name;
    int depth = 0;
    for (const char *at = name; at < end; at++) {
        const char *const clone = strncmp(at, " [clone ", 8) == 0 ? strchr(at, ']') : NULL;
        if (depth == 0 && clone && clone < end) {
            at = clone;
            continue;
        }
        const bool opens = depth ? *at == '<' || *at == '(' : begins_list(name, at);
        depth -= (*at == '>' && at[-1] != '-') || *at == ')' ? depth > 0 : 0;
        if (depth == 0) {
            *to++ = *at;
        }
        depth += opens ? 1 : 0;
    }
    if (depth > 0) {
        *to = to[-1] == '<' ? '>' : ')';
        to++;
    }
    memmove(to, end, strlen(end) + 1);
}

/* gfortran's __solver_MOD_step: solver::step */
static char *fortran(const char *name)
{
    const char *middle = strncmp(name, "__", 2) == 0 ? strstr(name + 2, "_MOD_") : NULL;
    char *out = NULL;
    if (!middle || asprintf(&out, "%.*s::%s", (int)(middle - name - 2), name + 2, middle + 5) < 0) {
        return strdup(name);
    }
    return out;
}

static char *readable(const struct carm_symbols *s, const char *name)
{
    int status = -1;
    const size_t length = strcspn(name, "@"); /* the symbol's version follows */
    if (length && name[length]) {
        return strndup(name, length);
    }
    char *out = s->demangle && name[0] == '_' && name[1] == 'Z'
                    ? s->demangle(name, NULL, NULL, &status)
                    : NULL;
    if (out && status == 0 && strlen(out) > CARM_SYMBOLS_NAME) {
        carm_symbols_drop_arguments(out, out + strlen(out));
    }
    return out && status == 0 ? out : fortran(name);
}

const char *carm_symbols_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool offset_of(const struct carm_symbols_module *m, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < m->nsegments; i++) {
        if (address >= m->segments[i].address &&
            address - m->segments[i].address < m->segments[i].bytes) {
            *offset = address - m->segments[i].address + m->segments[i].offset;
            return true;
        }
    }
    return false;
}

static uint64_t address_of(const struct carm_symbols_module *m, uint64_t offset)
{
    for (size_t i = 0; i < m->nsegments; i++) {
        if (offset >= m->segments[i].offset &&
            offset - m->segments[i].offset < m->segments[i].bytes) {
            return offset - m->segments[i].offset + m->segments[i].address;
        }
    }
    return offset;
}

/* Whether a name is one of the C library's functions that allocate memory. */
static bool is_allocator(const char *name)
{
    static const char *const names[] = {"malloc",         "calloc",   "realloc", "aligned_alloc",
                                        "posix_memalign", "memalign", "valloc",  "pvalloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int add_function(struct carm_symbols_module *m, uint64_t address, uint64_t bytes, char *name,
                        bool allocates)
{
    uint64_t begin = 0;
    if (!offset_of(m, address, &begin) ||
        carm_array_grow(&m->functions, &m->room, m->nfunctions, 1, sizeof *m->functions,
                        "names of functions", NULL) != 0) {
        free(name);
        return -1;
    }
    const uint64_t end = bytes < UINT64_MAX - begin ? begin + bytes : UINT64_MAX;
    m->functions[m->nfunctions++] = (struct carm_symbols_function){begin, end, name, allocates};
    return 0;
}

static void read_symbols(const struct carm_symbols *s, struct carm_symbols_module *m)
{
    const int n = dwfl_module_getsymtab(m->dwfl);
    for (int i = 1; i < n; i++) {
        GElf_Sym sym;
        GElf_Addr address = 0;
        const char *name = dwfl_module_getsym_info(m->dwfl, i, &sym, &address, NULL, NULL, NULL);
        const int type = name ? GELF_ST_TYPE(sym.st_info) : STT_NOTYPE;
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && sym.st_shndx != SHN_UNDEF && name[0]) {
            add_function(m, address - m->bias, sym.st_size, readable(s, name), is_allocator(name));
        }
    }
}

/* Reads the begins of functions from the table for exceptions, which stripped files have, too.
 * source: Linux Standard Base, .eh_frame_hdr; here as all linkers write it */
static void read_frames(struct carm_symbols_module *m, Elf *elf, const GElf_Phdr *segment)
{
    struct {
        uint8_t version, frame, count, table;
        int32_t to_frame;
        uint32_t n;
    } head;
    size_t size = 0;
    const char *file = elf_rawfile(elf, &size);
    if (!file || size < sizeof head || segment->p_offset > size - sizeof head) {
        return;
    }
    memcpy(&head, file + segment->p_offset, sizeof head);
    if (head.version != 1 || head.frame != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
        head.count != DW_EH_PE_udata4 || head.table != (DW_EH_PE_datarel | DW_EH_PE_sdata4)) {
        return;
    }
    const size_t at = segment->p_offset + sizeof head;
    for (uint32_t i = 0; i < head.n && at + 8 * ((size_t)i + 1) <= size; i++) {
        int32_t relative = 0;
        memcpy(&relative, file + at + 8 * (size_t)i, sizeof relative);
        add_function(m, segment->p_vaddr + (uint64_t)(int64_t)relative, 0, NULL, false);
    }
}

/* Stubs of calls into other files: each section becomes one function. Without a name, its row would be named by an
 * offset that any new import changes. */
static void read_stubs(struct carm_symbols_module *m, Elf *elf)
{
    size_t names = 0;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return;
    }
    while ((section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, &header) == &header
                               ? elf_strptr(elf, names, header.sh_name)
                               : NULL;
        if (name && strncmp(name, ".plt", 4) == 0 && (header.sh_flags & SHF_EXECINSTR) &&
            header.sh_size) {
            add_function(m, header.sh_addr, header.sh_size, strdup(name), false);
        }
    }
}

static size_t underscores(const char *name)
{
    return strspn(name, "_");
}

/* Sorts by begin; of several names with one begin, the most readable comes first. */
static int by_begin(const void *left, const void *right)
{
    const struct carm_symbols_function *a = left;
    const struct carm_symbols_function *b = right;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    if (!a->name || !b->name) {
        return (a->name ? 0 : 1) - (b->name ? 0 : 1);
    }
    if (underscores(a->name) != underscores(b->name)) {
        return underscores(a->name) < underscores(b->name) ? -1 : 1;
    }
    if (strlen(a->name) != strlen(b->name)) {
        return strlen(a->name) < strlen(b->name) ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

/* Keeps one function for each begin, and ends each function at the next begin at the latest.
 * Code between an end and the next begin has no name. */
static void settle(struct carm_symbols_module *m)
{
    size_t n = 0;
    if (m->nfunctions) {
        qsort(m->functions, m->nfunctions, sizeof *m->functions, by_begin);
    }
    for (size_t i = 0; i < m->nfunctions; i++) {
        struct carm_symbols_function *f = &m->functions[i];
        if (n && m->functions[n - 1].begin == f->begin) {
            m->functions[n - 1].end =
                f->end > m->functions[n - 1].end ? f->end : m->functions[n - 1].end;
            m->functions[n - 1].allocates |= f->allocates;
            free((char *)(uintptr_t)f->name);
        } else {
            m->functions[n++] = *f;
        }
    }
    m->nfunctions = n;
    for (size_t i = 0; i < n; i++) {
        struct carm_symbols_function *f = &m->functions[i];
        const uint64_t next = i + 1 < n ? f[1].begin : UINT64_MAX;
        if (f->end == f->begin || f->end > next) {
            f->end = next;
        }
    }
}

static void read_module(struct carm_symbols *s, struct carm_symbols_module *m)
{
    GElf_Phdr frames = {.p_type = PT_NULL};
    size_t n = 0, size = 0;
    Elf *elf = dwfl_module_getelf(m->dwfl, &m->bias);
    if (!elf || elf_getphdrnum(elf, &n) != 0 || !elf_rawfile(elf, &size)) {
        m->dwfl = NULL;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p)) {
            continue;
        }
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && m->nsegments < SEGMENTS_MAX &&
            p.p_offset < size) {
            m->segments[m->nsegments].offset = p.p_offset;
            m->segments[m->nsegments].bytes =
                p.p_filesz < size - p.p_offset ? p.p_filesz : size - p.p_offset;
            m->segments[m->nsegments++].address = p.p_vaddr;
        } else if (p.p_type == PT_GNU_EH_FRAME) {
            frames = p;
        }
    }
    read_symbols(s, m);
    if (frames.p_type == PT_GNU_EH_FRAME) {
        read_frames(m, elf, &frames);
    }
    read_stubs(m, elf);
    settle(m);
}

/* returns -1 when the file at the path has another code */
static int open_code(const char *path, uint64_t code, int fd)
{
    fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : carm_module_open(AT_FDCWD, path);
    if (fd >= 0 && code != CARM_MODULE_UNREAD && carm_module_code(fd) != code) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

struct carm_symbols_module *carm_symbols_find(struct carm_symbols *s, const char *path,
                                              uint64_t code, int fd)
{
    for (struct carm_symbols_module *m = s->modules; m; m = m->next) {
        if (strcmp(m->path, path) == 0 && m->code == code) {
            return m;
        }
    }
    struct carm_symbols_module *m = calloc(1, sizeof *m);
    if (!m || !(m->path = strdup(path))) {
        free(m);
        return NULL;
    }
    m->next = s->modules;
    m->code = code;
    s->modules = m;
    if (s->dwfl && path[0] == '/') {
        dwfl_report_begin_add(s->dwfl);
        fd = open_code(path, code, fd);
        m->dwfl = fd >= 0 ? dwfl_report_offline(s->dwfl, path, path, fd) : NULL;
        if (fd >= 0 && !m->dwfl) {
            (void)close(fd);
        }
        dwfl_report_end(s->dwfl, NULL, NULL);
        if (m->dwfl) {
            read_module(s, m);
        }
    }
    return m;
}

size_t carm_symbols_functions(const struct carm_symbols_module *module,
                              const struct carm_symbols_function **out)
{
    *out = module->functions;
    return module->nfunctions;
}

bool carm_symbols_allocate(const struct carm_symbols_module *module)
{
    bool any = false;
    for (size_t i = 0; i < module->nfunctions && !any; i++) {
        any = module->functions[i].allocates;
    }
    return any;
}

/* The DWARF unit of an address. Searches all units, since not every compiler writes the table of
 * addresses. */
static Dwarf_Die *unit_of(const struct carm_symbols_module *m, uint64_t at, Dwarf_Addr *address)
{
    Dwarf_Addr bias = 0;
    if (!m->dwfl) {
        return NULL;
    }
    *address = address_of(m, at) + m->bias;
    Dwarf_Die *unit = dwfl_module_addrdie(m->dwfl, *address, &bias);
    if (!unit) {
        do {
            unit = dwfl_module_nextcu(m->dwfl, unit, &bias);
        } while (unit && dwarf_haspc(unit, *address - bias) != 1);
    }
    *address -= bias;
    return unit;
}

/* Whether a file belongs to the compiler (intrinsics, the C++ library), so that users do not change its lines. */
static bool is_compilers(const char *file)
{
    return file && (strstr(file, "/lib/gcc/") || strstr(file, "/lib/clang/") ||
                    strstr(file, "/include/c++/"));
}

/* The functions, also inlined ones, and blocks that contain an address, from the innermost to the unit. After an
 * inlined function, dwarf_getscopes continues with the scopes of its definition; this function with the scopes of its
 * call.
 * out  to be freed
 * returns their number */
static int scopes_of(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **out)
{
    Dwarf_Die *scopes = NULL;
    *out = NULL;
    const int n =
        dwarf_getscopes(unit, address, &scopes) > 0 ? dwarf_getscopes_die(&scopes[0], out) : 0;
    free(scopes);
    return n;
}

char *carm_symbols_inlined(char *dst, size_t size, const struct carm_symbols_module *m, uint64_t at,
                           uint64_t last)
{
    Dwarf_Addr address = 0;
    Dwarf_Die *scopes = NULL;
    Dwarf_Die *unit = unit_of(m, at, &address);
    const int n = unit ? scopes_of(unit, address, &scopes) : 0;
    dst[0] = '\0';
    for (int i = 0; i < n; i++) {
        const int tag = dwarf_tag(&scopes[i]);
        const char *name = tag == DW_TAG_inlined_subroutine ? dwarf_diename(&scopes[i]) : NULL;
        if (name && (is_compilers(dwarf_decl_file(&scopes[i])) ||
                     dwarf_haspc(&scopes[i], address + (last - at)) != 1)) {
            continue;
        }
        if (name) {
            snprintf(dst, size, "%s", name);
        }
        if (name || tag == DW_TAG_subprogram) {
            break;
        }
    }
    free(scopes);
    return dst;
}

/* The line of the innermost call outside the compiler's files, of the inlined functions that contain all code up to the
 * last address.
 * file, line  in: of the address; out: unchanged if there is no such call */
static void find_call(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Addr last, const char **file,
                      int *line)
{
    Dwarf_Die *scopes = NULL;
    const char *now = *file;
    const int n = scopes_of(unit, address, &scopes);
    for (int i = 0; i < n; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Word of_file = 0, of_line = 0;
        Dwarf_Files *files = NULL;
        size_t nfiles = 0;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) {
            continue;
        }
        if (!is_compilers(now) && dwarf_haspc(&scopes[i], last) == 1) {
            break;
        }
        if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &of_file) == 0 &&
            dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &of_line) == 0 &&
            dwarf_getsrcfiles(unit, &files, &nfiles) == 0 && of_file < nfiles) {
            now = dwarf_filesrc(files, of_file, NULL, NULL);
            *line = now && !is_compilers(now) ? (int)of_line : *line;
            *file = now && !is_compilers(now) ? now : *file;
        }
    }
    free(scopes);
}

/* The first line of code outside the compiler's files. Used since compilers do not always record to which call the code
 * of an inlined function belongs.
 * file, line  unchanged if there is no such line */
static void find_own(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Addr last, const char **file,
                     int *line)
{
    enum { BYTES_MAX = 4096 };
    const Dwarf_Addr end = last - address < BYTES_MAX ? last : address + BYTES_MAX;
    for (Dwarf_Addr at = address; at <= end && is_compilers(*file); at++) {
        Dwarf_Line *entry = dwarf_getsrc_die(unit, at);
        const char *name = entry ? dwarf_linesrc(entry, NULL, NULL) : NULL;
        int number = 0;
        if (name && !is_compilers(name) && dwarf_lineno(entry, &number) == 0 && number > 0) {
            *file = name;
            *line = number;
        }
    }
}

char *carm_symbols_name(char *dst, size_t size, const struct carm_symbols_module *module,
                        const struct carm_symbols_function *function, uint64_t at)
{
    if (function && function->name) {
        snprintf(dst, size, "%s", function->name);
    } else {
        snprintf(dst, size, "%.120s+0x%llx",
                 module->path[0] ? carm_symbols_file(module->path) : "unknown code",
                 (unsigned long long)address_of(module, function ? function->begin : at));
    }
    return dst;
}

bool carm_symbols_line(const struct carm_symbols_module *module, uint64_t at, uint64_t last,
                       const char **file, int *line)
{
    Dwarf_Addr address = 0;
    Dwarf_Die *unit = unit_of(module, at, &address);
    Dwarf_Line *entry = unit ? dwarf_getsrc_die(unit, address) : NULL;
    *file = entry ? dwarf_linesrc(entry, NULL, NULL) : NULL;
    if (!*file || dwarf_lineno(entry, line) != 0 || *line <= 0) {
        return false;
    }
    if (is_compilers(*file) || last != at) {
        find_call(unit, address, address + (last - at), file, line);
        find_own(unit, address, address + (last - at), file, line);
    }
    return true;
}

uint64_t carm_symbols_line_bytes(const struct carm_symbols_module *module)
{
    const char *debug = NULL;
    struct stat s;
    if (module->dwfl) {
        (void)dwfl_module_info(module->dwfl, NULL, NULL, NULL, NULL, NULL, NULL, &debug);
    }
    return debug && stat(debug, &s) == 0 ? (uint64_t)s.st_size : 0;
}

char *carm_symbols_source(char *dst, size_t size, const struct carm_symbols_module *module,
                          uint64_t at, uint64_t last)
{
    const char *file = NULL;
    int line = 0;
    dst[0] = '\0';
    if (carm_symbols_line(module, at, last, &file, &line)) {
        snprintf(dst, size, "%s:%d", carm_symbols_file(file), line);
    }
    return dst;
}
