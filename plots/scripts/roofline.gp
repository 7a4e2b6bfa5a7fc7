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
# and of a roofline with ceilings, else empty: the regions in which optimisations of memory (yellow), of
# computation (blue) or of both (green) are in reach, and kernels at their intensities
#   $memory_region, $compute_region, $both_region   corners: intensity, performance
#   regions   0 = none, 1 = there is one of memory, 2 = of computation, 3 = both
#   $kernels  one block for each: a vertical line; and how many
#   $kernel_labels  intensity, performance, text, colour
#   $crosses  intensity, performance achieved; crosses = 1 where there are any
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
unset key
# The key of the regions, bottom right, where neither slopes nor kernels are.
region_text(i) = word("memory both computation", i)
region_rgb(i) = word(theme eq "dark" ? "#3d3614 #1f3d22 #1b3350" : \
    theme eq "print" ? "#f0f0f0 #dcdcdc #e7e7e7" : "#fdf3c8 #d8efcf #d9e8f7", i)
kernel_rgb = theme eq "print" ? "#404040" : "#e0559b"
has_region(i) = i == 2 ? regions == 3 : i == 1 ? int(regions) % 2 : int(regions) / 2
if (regions) { set label 9 "optimisations in reach" at graph 0.985, 0.2 right tc rgb soft }
do for [i=1:3] {
    if (has_region(i)) {
        set label i region_text(i) at graph 0.955, 0.2 - 0.042*i right tc rgb soft
        set object i rectangle from graph 0.963, 0.185 - 0.042*i to graph 0.985, 0.215 - 0.042*i \
            fs solid border lc rgb "#a0a0a0" fc rgb region_rgb(i)
    }
}
line_dash(i) = int(word(theme eq "print" ? print_dashes : line_dashes, i + 1))
plot for [i=1:int(regions) % 2] $memory_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(1), \
     for [i=1:int(regions) / 2] $compute_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(3), \
     for [i=1:int(regions) / 3] $both_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(2), \
     for [i=0:kernels-1] $kernels index i using 1:2 with lines lw 1.4 dt (8,5) lc rgb kernel_rgb, \
     for [i=0:bands-1] $bands index i using 1:2:(tone($3)) with filledcurves closed \
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
         tc rgb variable, \
     for [i=1:kernels > 0] $kernel_labels using 1:2:3 with labels left rotate by 90 \
         tc rgb (theme eq "light" ? "#b0246a" : kernel_rgb), \
     for [i=1:crosses] $crosses using 1:2 with points pt 2 ps 1.1 lw 3 \
         lc rgb (theme eq "dark" ? "#ff7070" : theme eq "print" ? ink : "#c00000")
