# SPDX-License-Identifier: GPL-3.0-or-later
# Steps of an optimisation under the roofs of one model: a path of numbered points with arrows from
# one to the next, and further variants as small marks around it.
# Set before: the panel's place and ranges, intensity_label, performance_label, slope_angle
# (degrees), arrow_rgb, slopes and groups (how many of each), and
#   $slopes  one block for each slope: intensity, performance
#   $peak    the horizontal roof
#   $slope_labels, $peak_label  intensity, performance, text
#   $points  one block for each group of variants: intensity, performance
#   $path    the steps: intensity, performance
#   $arrows  intensity, performance of both ends
#   $leaders one block for each step: from the point to its label
#   $labels  intensity, performance, text
#   $names   the groups, a line each, behind a "|"
#   key_at   where their marks stand above the panel, in its widths; key_row in its heights
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
set key noautotitle off
set title offset graph 0, 1.5*key_row
# a step's label covers the arrows below it
set style textbox opaque noborder fillcolor rgb paper margins 0.2, 0.1
do for [i=1:groups] {
    set label i $names[i][2:*] at graph word(key_at, i), 1 + key_row left tc rgb ink offset 1, -0.2 \
        point pt mark(i-1) ps 0.6 lc rgb colour(i-1)
}
plot for [i=0:slopes-1] $slopes index i using 1:2 with lines lw 2 lc rgb "#909090", \
     $peak using 1:2 with lines lw 2 lc rgb ink, \
     $slope_labels using 1:2:3 with labels left rotate by slope_angle tc rgb soft, \
     $leaders using 1:2 with lines lw 0.6 lc rgb "#a0a0a0", \
     $arrows using 1:2:($3-$1):($4-$2) with vectors head filled size screen 0.006, 20 lw 1.4 \
         lc rgb arrow_rgb, \
     for [i=0:groups-1] $points index i using 1:2 with points ps 0.45 pt mark(i) lc rgb colour(i), \
     $path using 1:2 with points pt 7 ps 0.9 lc rgb ink, \
     $peak_label using 1:2:3 with labels right tc rgb ink, \
     $labels using 1:2:3 with labels left boxed tc rgb ink
unset label
set title offset 0, 0
