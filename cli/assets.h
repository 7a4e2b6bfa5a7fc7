/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that the build puts into the program, as zero-terminated text: plots/NAME.gp is
 * carm_asset_plot_NAME, with '-' as '_'. */
#ifndef CARM_ASSETS_H
#define CARM_ASSETS_H

extern const char carm_asset_plot_bandwidth[];
extern const char carm_asset_plot_common[];
extern const char carm_asset_plot_flops[];
extern const char carm_asset_plot_roofline[];

#endif
