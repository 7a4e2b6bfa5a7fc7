/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points in the format of Google Benchmark's JSON: one iteration each; flops, bytes and shares of the roofs are user
 * counters. */
#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/place/print.h"

void carm_place_benchmark_begin(const struct carm_place_printer *printer,
                                const struct carm_model *model)
{
    char now[CARM_TEXT_NUMBER_MAX];
    FILE *out = printer->out;
    fprintf(out, "{\n  \"context\": {\n    \"date\": \"%s\",\n    \"host_name\": ",
            carm_text_now(now, sizeof now));
    carm_json_put_string(out, model->machine.hostname);
    fputs(",\n    \"executable\": \"carm place\",\n    \"carm_version\": ", out);
    carm_json_put_string(out, carm_version);
    fputs(",\n    \"carm_model\": ", out);
    carm_json_put_string(out, model->machine.cpu);
    fprintf(out, ",\n    \"num_cpus\": %d\n  },\n  \"benchmarks\": [", model->machine.threads);
}

static void put_counter(FILE *out, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    if (carm_point_knows(v)) {
        fprintf(out, ",\n      \"%s\": %s", name, carm_number_exact(text, v));
    }
}

/* Points without a time are left out, as Google Benchmark has none. */
void carm_place_benchmark_put(const struct carm_place_printer *printer,
                              const struct carm_placed *placed)
{
    const struct carm_point *p = placed->point;
    FILE *out = printer->out;
    fputs(printer->points ? ",\n    {\n      \"name\": " : "\n    {\n      \"name\": ", out);
    carm_json_put_string(out, p->name);
    fputs(",\n      \"run_name\": ", out);
    carm_json_put_string(out, p->name);
    fprintf(out,
            ",\n      \"run_type\": \"iteration\",\n      \"repetitions\": 1,\n"
            "      \"repetition_index\": 0,\n      \"threads\": %d,\n      \"iterations\": 1",
            p->threads > 0 ? p->threads : 1);
    if (carm_point_knows(p->seconds)) {
        put_counter(out, "real_time", p->seconds * 1e9);
        put_counter(out, "cpu_time", p->seconds * 1e9);
    } else {
        fputs(
            ",\n      \"error_occurred\": true,\n      \"error_message\": \"its time is not known\",\n"
            "      \"real_time\": 0,\n      \"cpu_time\": 0",
            out);
    }
    fputs(",\n      \"time_unit\": \"ns\"", out);
    put_counter(out, *placed->set->metric ? "operations" : "flops", p->flops);
    put_counter(out, "bytes", p->bytes);
    put_counter(out, "dram_bytes", p->dram_bytes);
    put_counter(out, "aware_share", placed->has[0] ? placed->place[0].share : -1.0);
    put_counter(out, "original_share", placed->has[1] ? placed->place[1].share : -1.0);
    fputs("\n    }", out);
}

void carm_place_benchmark_end(const struct carm_place_printer *printer)
{
    fputs(printer->points ? "\n  ]\n}\n" : "]\n}\n", printer->out);
}
