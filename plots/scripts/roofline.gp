# SPDX-License-Identifier: GPL-3.0-or-later
# Rooflines of one or several models on the cache-aware or the original model, and points under them.
# Colours are numbers of the light theme (tone in common.gp).
# Set before: the panel's place and ranges, intensity_label, performance_label, slope_angle
# (degrees), and
#   $lines    one block for each slope and horizontal: intensity, performance, colour; lines, how
#             many; their line_widths, line_dashes and print_dashes, a number for each
#   $bands    the lines' 95% confidence intervals where they can be seen, as closed shapes
#   $slope_labels, $flat_labels   left and right end: intensity, performance, text, colour; and how
#             many
#   $left_labels, $centre_labels, $right_labels   the same for points, which stand to that end
#   $points   one block for each file: intensity, performance, colour; groups, how many; their
#             group_marks and group_sizes, a number for each
#   $joins    from level to level of a point of the hierarchical view; joins, how many
#   $bars     what is uncertain of a point; bars, how many
#   $leaders  from a point to its label; leaders, how many
#   $arrows   from step to step: intensity, performance of both ends; arrows, how many
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
unset key
line_dash(i) = int(word(theme eq "print" ? print_dashes : line_dashes, i + 1))
plot for [i=0:bands-1] $bands index i using 1:2:(tone($3)) with filledcurves closed \
         fs transparent solid 0.25 noborder lc rgb variable, \
     for [i=0:lines-1] $lines index i using 1:2:(tone($3)) with lines \
         lw real(word(line_widths, i + 1)) dt line_dash(i) lc rgb variable, \
     for [i=1:joins > 0] $joins using 1:2 with lines lw 0.7 lc rgb dim, \
     for [i=1:leaders > 0] $leaders using 1:2 with lines lw 0.7 lc rgb dim, \
     for [i=1:arrows > 0] $arrows using 1:2:($3-$1):($4-$2) with vectors head filled \
         size screen 0.006, 20 lw 1.4 lc rgb (theme eq "print" ? "#808080" : "#d55e00"), \
     for [i=1:bars > 0] $bars using 1:2:(tone($3)) with lines lw 1.2 lc rgb variable, \
     for [i=0:groups-1] $points index i using 1:2:(tone($3)) with points \
         pt mark(word(group_marks, i + 1)) ps real(word(group_sizes, i + 1)) lc rgb variable, \
     for [i=1:slope_labels > 0] $slope_labels using 1:2:3:(tone($4)) with labels left \
         rotate by slope_angle tc rgb variable, \
     for [i=1:flat_labels > 0] $flat_labels using 1:2:3:(tone($4)) with labels right \
         tc rgb variable, \
     for [i=1:left_labels > 0] $left_labels using 1:2:3:(tone($4)) with labels left \
         tc rgb variable, \
     for [i=1:centre_labels > 0] $centre_labels using 1:2:3:(tone($4)) with labels center \
         tc rgb variable, \
     for [i=1:right_labels > 0] $right_labels using 1:2:3:(tone($4)) with labels right \
         tc rgb variable
