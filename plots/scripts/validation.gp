# SPDX-License-Identifier: GPL-3.0-or-later
# Points of test code C under the roofs that are to predict them: the cache-aware model with a slope
# for each level, or the original one with the slope of DRAM alone.
# Set before: the panel's place and ranges, intensity_label, performance_label, disturbed, levels
# and slopes (how many of each), ids and slope_ids (a number for each: its colour and mark), and
#   $points  one block for each level: intensity, performance, 1 where disturbed
#   $slopes  one block for each slope: intensity, performance
#   $peak    the horizontal roof
#   $names   the levels with their fitness, a line each, behind a "|", last "disturbed"
#   key_at   where their marks stand above the panel, in its widths; key_row in its heights
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
set key noautotitle off
set title offset graph 0, 1.5*key_row
do for [i=1:levels] {
    set label i $names[i][2:*] at graph word(key_at, i), 1 + key_row left tc rgb ink offset 1, -0.2 \
        point pt mark(word(ids, i)) ps 0.8 lc rgb colour(word(ids, i))
}
if (disturbed) {
    set label levels+1 $names[levels+1][2:*] at graph word(key_at, levels+1), 1 + key_row left tc rgb ink \
        offset 1, -0.2 point pt 2 ps 0.9 lw 2 lc rgb ink
}
slope_dash(i) = theme eq "print" ? 1 + int(word(slope_ids, i+1)) % 5 : 1
plot for [i=0:slopes-1] $slopes index i using 1:2 with lines lw 2 dt slope_dash(i) \
         lc rgb colour(word(slope_ids, i+1)), \
     $peak using 1:2 with lines lw 2 lc rgb ink, \
     for [i=0:levels-1] $points index i using 1:2 with points ps 0.6 \
         pt mark(word(ids, i+1)) lc rgb colour(word(ids, i+1)), \
     for [i=0:levels-1] $points index i using 1:($3 > 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 \
         lc rgb ink
unset label
set title offset 0, 0
