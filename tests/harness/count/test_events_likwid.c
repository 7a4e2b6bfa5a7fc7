/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every likwid name of data/counters.json against likwid's own tables: liblikwid is told to be on the
 * recipe's processor and lists the events that it has there, with code and counters. likwid drops all
 * counters that it cannot open, so its function that looks for them is replaced by an empty one in
 * the library's jump table. All of this happens in a child: likwid prints, and may crash. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <jansson.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/count/recipe.h"
#include "tests/unit.h"

extern const char carm_data_counters[];

/* what of likwid.h's CpuInfo is written: its first two members */
struct cpu_info {
    uint32_t family, model;
};

struct likwid {
    void *lib;
    struct cpu_info *cpu;
    void *lua; /* an interpreter with likwid's functions */
    int (*load)(void *lua, const char *text);
    int (*call)(void *lua, int args, int results, int handler, ptrdiff_t context, void *next);
    const char *(*text)(void *lua, int index, size_t *size);
    void (*settop)(void *lua, int index);
};

static void find_no_counters(int cpu)
{
    (void)cpu;
}

static bool patch_slot(uintptr_t base, const Elf64_Rela *table, size_t bytes,
                       const Elf64_Sym *symbols, const char *strings, const char *name,
                       uintptr_t to)
{
    bool done = false;
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        const unsigned long type = ELF64_R_TYPE(table[i].r_info);
        const Elf64_Sym *s = &symbols[ELF64_R_SYM(table[i].r_info)];
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
            strcmp(strings + s->st_name, name) != 0) {
            continue;
        }
        uintptr_t *slot = (uintptr_t *)(base + table[i].r_offset);
        const uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;
        if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0) {
            *slot = to;
            done = true;
        }
    }
    return done;
}

/* Makes a library's calls of one of its functions go elsewhere. */
static bool redirect(void *lib, const char *name, uintptr_t to)
{
    struct link_map *map = NULL;
    if (dlinfo(lib, RTLD_DI_LINKMAP, &map) != 0) {
        return false;
    }
    const Elf64_Sym *symbols = NULL;
    const char *strings = NULL;
    const Elf64_Rela *jumps = NULL;
    const Elf64_Rela *others = NULL;
    size_t jump_bytes = 0;
    size_t other_bytes = 0;
    for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_SYMTAB:
            symbols = (const Elf64_Sym *)d->d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = (const char *)d->d_un.d_ptr;
            break;
        case DT_JMPREL:
            jumps = (const Elf64_Rela *)d->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            jump_bytes = d->d_un.d_val;
            break;
        case DT_RELA:
            others = (const Elf64_Rela *)d->d_un.d_ptr;
            break;
        case DT_RELASZ:
            other_bytes = d->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!symbols || !strings) {
        return false;
    }
    const bool a = jumps && patch_slot(map->l_addr, jumps, jump_bytes, symbols, strings, name, to);
    const bool b =
        others && patch_slot(map->l_addr, others, other_bytes, symbols, strings, name, to);
    return a || b;
}

/* returns what is in the way, or NULL */
static const char *open_likwid(struct likwid *l)
{
    static const char *const names[] = {"liblikwid.so.5.2", "liblikwid.so.5.3", "liblikwid.so.5.4",
                                        "liblikwid.so.5"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !l->lib; i++) {
        l->lib = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    }
    if (!l->lib) {
        return "there is no liblikwid.so.5";
    }
    int (*topology)(void) = NULL;
    struct cpu_info *(*cpu)(void) = NULL;
    void *(*new_state)(void) = NULL;
    void (*open_libs)(void *) = NULL;
    int (*open_likwid_functions)(void *) = NULL;
    *(void **)&topology = dlsym(l->lib, "topology_init");
    *(void **)&cpu = dlsym(l->lib, "get_cpuInfo");
    *(void **)&open_likwid_functions = dlsym(l->lib, "luaopen_liblikwid");
    *(void **)&new_state = dlsym(l->lib, "luaL_newstate");
    *(void **)&open_libs = dlsym(l->lib, "luaL_openlibs");
    *(void **)&l->load = dlsym(l->lib, "luaL_loadstring");
    *(void **)&l->call = dlsym(l->lib, "lua_pcallk");
    *(void **)&l->text = dlsym(l->lib, "lua_tolstring");
    *(void **)&l->settop = dlsym(l->lib, "lua_settop");
    if (!topology || !cpu || !open_likwid_functions || !new_state || !open_libs || !l->load ||
        !l->call || !l->text || !l->settop) {
        return "this liblikwid comes without Lua's interface";
    }
    if (!redirect(l->lib, "perfmon_check_counter_map", (uintptr_t)&find_no_counters)) {
        return "this liblikwid cannot be told to list counters that it cannot open";
    }
    if (topology() != 0) {
        return "likwid finds no topology";
    }
    l->cpu = cpu();
    l->lua = new_state();
    open_libs(l->lua);
    open_likwid_functions(l->lua);
    return NULL;
}

/* One line "NAME CODE COUNTER" for each event; "" for a processor that likwid does not know. */
static const char *list_events(struct likwid *l, unsigned family, unsigned model)
{
    l->cpu->family = family;
    l->cpu->model = model;
    l->settop(l->lua, 0);
    if (l->load(l->lua, "local lines = {'\\n'} "
                        "for _, e in ipairs(likwid_getEventsAndCounters().Events) do "
                        "lines[#lines + 1] = string.format('%s %x %s\\n', e.Name, "
                        "e.ID + e.UMask * 256, e.Limit) end "
                        "return #lines > 1 and table.concat(lines) or ''") ||
        l->call(l->lua, 0, 1, 0, 0, NULL)) {
        return "";
    }
    const char *text = l->text(l->lua, -1, NULL);
    return text ? text : "";
}

/* Whether the list has the event with its code and a counter that can count it. */
static bool listed(const char *list, const struct carm_event *e, char *why, size_t size)
{
    char begin[80];
    (void)snprintf(begin, sizeof begin, "\n%s ", e->likwid);
    const char *line = strstr(list, begin);
    if (!line) {
        (void)snprintf(why, size, "likwid has no event %s", e->likwid);
        return false;
    }
    char *end = NULL;
    const unsigned long code = strtoul(line + strlen(begin), &end, 16);
    char counter[32];
    (void)snprintf(counter, sizeof counter, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
    /* likwid numbers events of counters of their own in its own way */
    const bool own = e->counter[0] && !strchr(e->counter, '%');
    /* likwid 5.4 sets Zen 4's bit of bfloat16 on Zen 3, too, where it is reserved (Linux' event of all operations sets
     * every bit: tools/perf/pmu-events/arch/x86/amdzen3, fp_ret_sse_avx_ops.all) */
    const bool reserved =
        strcmp(e->likwid, "RETIRED_SSE_AVX_FLOPS_ALL") == 0 && code == 0x1f03 && e->code == 0x0f03;
    if (!own && !reserved && code != e->code) {
        (void)snprintf(why, size, "likwid's %s is %#lx, the recipe says %#x", e->likwid, code,
                       e->code);
        return false;
    }
    /* "PMC": any of them; "MBOX": any memory channel's */
    const bool fits = !e->counter[0]            ? strncmp(counter, "PMC", 3) == 0
                      : strchr(e->counter, '%') ? strncmp(counter, e->counter, 4) == 0
                                                : strcmp(counter, e->counter) == 0;
    if (!fits) {
        (void)snprintf(why, size, "likwid counts %s on %s, the recipe on \"%s\"", e->likwid,
                       counter, e->counter);
        return false;
    }
    return true;
}

/* Whether counting fails without the event. likwid 5.3 has no memory controller of some client processors, and 5.4
 * reads Zen 4's table on Zen 3, model 8: what is not there is not counted, and said so (a note of the row). */
static bool needed(const struct carm_recipe *recipe, size_t event)
{
    for (size_t i = 0; i < recipe->nformulas; i++) {
        const struct carm_formula *f = &recipe->formulas[i];
        for (size_t k = 0; f->required && k < f->nterms; k++) {
            if (f->terms[k].event == event) {
                return true;
            }
        }
    }
    return false;
}

static void check_processor(struct likwid *l, const struct carm_recipe *recipe, unsigned family,
                            unsigned model, FILE *report)
{
    char why[256];
    const char *list = list_events(l, family, model);
    if (!recipe->likwid[0] || !list[0]) {
        /* a recipe without names of likwid was written before likwid knew the processor (5.4: Sapphire Rapids) */
        (void)fprintf(report, "unknown %s\n", recipe->name);
        return;
    }
    (void)fprintf(report, "known %s %#x\n", recipe->name, model);
    size_t checked = 0;
    why[0] = '\0';
    for (size_t i = 0; i < recipe->nevents; i++) {
        struct carm_event e = recipe->events[i];
        if (!e.likwid[0]) {
            continue;
        }
        checked++;
        if (listed(list, &e, why, sizeof why)) {
            (void)fprintf(report, "has %zu\n", i);
        } else if (needed(recipe, i) || !strstr(why, "has no event")) {
            (void)fprintf(report, "bad %s, model %#x: %s\n", recipe->name, model, why);
        }
        if (e.slots == 2 && !strstr(list, "\nMERGE ")) {
            (void)fprintf(report, "bad %s: likwid has no MERGE\n", recipe->name);
        }
        /* the checker catches planted faults */
        struct carm_event wrong = e;
        wrong.code ^= 0x100;
        if (!e.counter[0] && listed(list, &wrong, why, sizeof why)) {
            (void)fprintf(report, "bad checker: a wrong unit mask of %s goes through\n", e.likwid);
        }
        wrong = e;
        wrong.likwid[strlen(wrong.likwid) - 1] = '\0';
        if (listed(list, &wrong, why, sizeof why)) {
            (void)fprintf(report, "bad checker: %s goes through\n", wrong.likwid);
        }
        wrong = e;
        (void)snprintf(wrong.counter, sizeof wrong.counter, "FIXC7");
        if (listed(list, &wrong, why, sizeof why)) {
            (void)fprintf(report, "bad checker: %s on FIXC7 goes through\n", e.likwid);
        }
    }
    (void)fprintf(report, "checked %zu\n", checked);
}

/* likwid chooses its tables once in a process: each processor gets one of its own. */
static void fork_and_check(struct likwid *l, const struct carm_recipe *recipe, unsigned family,
                           unsigned model, FILE *report)
{
    (void)fflush(report);
    const pid_t pid = fork();
    if (pid == 0) {
        check_processor(l, recipe, family, model, report);
        _exit(fflush(report) == 0 ? 0 : 1);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        (void)fprintf(report, "bad %s, model %#x: likwid ended with status %#x\n", recipe->name,
                      model, (unsigned)status);
    }
}

static void check_all(FILE *report)
{
    struct likwid l;
    memset(&l, 0, sizeof l);
    const char *in_the_way = open_likwid(&l);
    if (in_the_way) {
        (void)fprintf(report, "skip %s\n", in_the_way);
        return;
    }
    json_t *root = json_loads(carm_data_counters, 0, NULL);
    size_t i = 0;
    json_t *o = NULL;
    json_array_foreach(json_object_get(root, "recipes"), i, o)
    {
        struct carm_recipe *recipe = NULL;
        const char *family = json_string_value(json_object_get(o, "family"));
        if (carm_recipe_named(carm_recipe_name(i), &recipe, NULL) != 0) {
            (void)fprintf(report, "bad %s cannot be read\n", carm_recipe_name(i));
            continue;
        }
        size_t k = 0;
        json_t *v = NULL;
        json_array_foreach(json_object_get(o, "models"), k, v)
        {
            /* ranges hold many models that were never made; likwid lists those that were */
            char *end = NULL;
            const unsigned f = (unsigned)strtoul(family, NULL, 16);
            const unsigned long from = strtoul(json_string_value(v), &end, 16);
            const unsigned long to = *end == '-' ? strtoul(end + 1, NULL, 16) : from;
            for (unsigned long m = from; m <= to; m++) {
                fork_and_check(&l, recipe, f, (unsigned)m, report);
            }
        }
        carm_recipe_free(recipe);
    }
    (void)fprintf(report, "end\n");
}

static FILE *run_child(pid_t *pid)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    *pid = fork();
    assert_true(*pid >= 0);
    if (*pid == 0) {
        FILE *report = fdopen(ends[1], "w");
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (!report || null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) {
            _exit(1);
        }
        (void)close(ends[0]);
        check_all(report);
        _exit(fclose(report) == 0 ? 0 : 1);
    }
    (void)close(ends[1]);
    FILE *report = fdopen(ends[0], "r");
    assert_non_null(report);
    return report;
}

TEST(names_codes_counters)
{
    static char known[64][48];
    size_t nknown = 0;
    static uint64_t has[64]; /* a bit for each event that some processor of the recipe has */
    size_t models = 0;
    size_t checked = 0;
    bool ended = false;
    char skipped[128] = "";
    char bad[512] = "";
    char line[512];
    pid_t pid = 0;
    FILE *report = run_child(&pid);
    while (fgets(line, sizeof line, report)) {
        char name[48];
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "bad ", 4) == 0 && !bad[0]) {
            (void)snprintf(bad, sizeof bad, "%s", line + 4);
        } else if (strncmp(line, "skip ", 5) == 0) {
            (void)snprintf(skipped, sizeof skipped, "%.120s", line + 5);
        } else if (sscanf(line, "known %47s", name) == 1) {
            models++;
            if (nknown == 0 || strcmp(known[nknown - 1], name) != 0) {
                assert_true(nknown < 64);
                memcpy(known[nknown++], name, sizeof name);
            }
        } else if (strncmp(line, "has ", 4) == 0) {
            const unsigned long event = strtoul(line + 4, NULL, 10);
            assert_true(nknown > 0 && event < 64);
            has[nknown - 1] |= UINT64_C(1) << event;
        } else if (strncmp(line, "checked ", 8) == 0) {
            checked += strtoul(line + 8, NULL, 10);
        }
        ended = ended || strcmp(line, "end") == 0;
    }
    (void)fclose(report);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    skip_if(skipped[0], "%s", skipped);
    fail_if(bad[0], "%s", bad);
    assert_int_equal(status, 0);
    assert_true(ended);
    /* no recipe with a likwid name went unchecked */
    size_t wanted = 0;
    for (size_t i = 0; carm_recipe_name(i); i++) {
        struct carm_recipe *recipe = NULL;
        assert_int_equal(carm_recipe_named(carm_recipe_name(i), &recipe, NULL), 0);
        for (size_t k = 0; recipe->likwid[0] && k < recipe->nevents; k++) {
            assert_true(wanted < nknown);
            fail_if(recipe->events[k].likwid[0] && !(has[wanted] >> k & 1),
                    "%s: likwid has %s on no processor of the recipe", recipe->name,
                    recipe->events[k].likwid);
        }
        if (recipe->likwid[0]) {
            assert_string_equal(known[wanted], recipe->name);
            wanted++;
        }
        carm_recipe_free(recipe);
    }
    assert_int_equal(wanted, nknown);
    print_message("# %zu names of %zu processors in %zu recipes are in likwid's tables\n", checked,
                  models, nknown);
}
