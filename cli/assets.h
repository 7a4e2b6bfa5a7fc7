/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that the build puts into the program, as zero-terminated text: plots/NAME.gp is
 * sources of a content security policy, which are the hashes of those three. */
#ifndef CARM_ASSETS_H
#define CARM_ASSETS_H

extern const char carm_asset_data_microarchitectures[];
extern const char carm_asset_data_roofline_2009[];
extern const char carm_asset_plot_bandwidth[];
extern const char carm_asset_plot_ceilings[];
extern const char carm_asset_plot_classes[];
extern const char carm_asset_plot_common[];
extern const char carm_asset_plot_flops[];
extern const char carm_asset_plot_gemm[];
extern const char carm_asset_plot_legend[];
extern const char carm_asset_plot_residuals[];
extern const char carm_asset_plot_roofline[];
extern const char carm_asset_plot_validation[];

#endif
