/* SPDX-License-Identifier: MIT */
/* Files that the build puts into the program, as zero-terminated text: plots/NAME.gp is
 * carm_asset_plot_NAME, with '-' as '_', and data/NAME.json carm_asset_data_NAME.
 * The texts of data/sol-NAME.yaml are declared in models/sol/data.c. Texts for the pages of carm report and
 * carm fleet report: html, css (the fleet's css begins with the report's), all scripts as one, d3 ("" where
 * the build found none) and its licence, and the sources of a content security policy: the hashes of style,
 * d3 and script. */
#pragma once

#include <stdint.h>

/* The models of data/machines/NAME.json, compressed (base/unpack.h), in the order of their names; the last
 * has no name. */
struct carm_asset_machine {
    const char *name;
    const uint8_t *packed, *end;
};
extern const struct carm_asset_machine carm_asset_machines[];

extern const char carm_asset_d3[];
extern const char carm_asset_data_codes[];
extern const char carm_asset_data_microarchitectures[];
extern const char carm_asset_data_roofline_2009[];
extern const char carm_asset_plot_bandwidth[];
extern const char carm_asset_plot_common[];
extern const char carm_asset_history_policy[];
extern const char carm_asset_plot_history_page[];
extern const char carm_asset_plot_history_script[];
extern const char carm_asset_plot_history_style[];
extern const char carm_asset_fleet_policy[];
extern const char carm_asset_plot_fleet_page[];
extern const char carm_asset_plot_fleet_script[];
extern const char carm_asset_plot_fleet_style[];
extern const char carm_asset_plot_flops[];
extern const char carm_asset_plot_frame[];
extern const char carm_asset_plot_heat[];
extern const char carm_asset_plot_latency[];
extern const char carm_asset_plot_legend[];
extern const char carm_asset_plot_report_licence[];
extern const char carm_asset_plot_report_page[];
extern const char carm_asset_plot_report_script[];
extern const char carm_asset_plot_report_style[];
extern const char carm_asset_plot_residuals[];
extern const char carm_asset_plot_roofline[];
extern const char carm_asset_plot_validation[];
extern const char carm_asset_report_policy[];
