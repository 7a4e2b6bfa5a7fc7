# SPDX-License-Identifier: GPL-3.0-or-later
# The legend below the panels, drawn together with the next one.
# Set before: $legend (a line for each entry, behind a "|"), legend (how many), legend_at: of each
# entry left and right end of its sample and its height (parts of the picture), colour, dashes of a
# line (0 = a mark), mark (-1 = none)
do for [i=1:legend] {
    k = 6*(i - 1)
    if (legend_at[k+5] > 0) {
        set arrow i from screen legend_at[k+1], screen legend_at[k+3] to screen legend_at[k+2], \
            screen legend_at[k+3] nohead lw 2.4 dt int(legend_at[k+5]) lc rgb tone(legend_at[k+4])
    } else { if (legend_at[k+6] >= 0) {
        set label 1000+i "" at screen 0.5*(legend_at[k+1] + legend_at[k+2]), \
            screen legend_at[k+3] point pt mark(legend_at[k+6]) ps 0.8 lc rgb tone(legend_at[k+4])
    } }
    set label 2000+i $legend[i][2:*] at screen legend_at[k+2] + 0.006, screen legend_at[k+3] left \
        tc rgb ink
}
