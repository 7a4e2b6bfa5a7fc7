# SPDX-License-Identifier: GPL-3.0-or-later
# The cache-aware roofline: one slope for each memory level, the peak, other operations as ceilings.
# Set before: the panel's place and ranges, slope_angle (degrees), levels (how many slopes), and
#   $slopes   one block for each level: intensity, performance, colour
#   $peak     the horizontal roof: intensity, performance
#   $ceilings one block for each ceiling
#   $slope_labels, $ceiling_labels   intensity, performance, text, colour
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel "operational intensity, flop/byte"
set ylabel performance_label
unset key
# A ceiling's label covers what passes below it: only one too long for its place needs that.
set style textbox opaque noborder fillcolor "#ffffff" margins 0.3, 0.2
plot for [i=0:ceilings-1] $ceilings index i using 1:2 with lines lw 1.2 dt 2 lc rgb "#707070", \
     for [i=levels-1:0:-1] $slopes index i using 1:2:3 with lines lw 2.4 lc rgb variable, \
     $peak using 1:2 with lines lw 2.8 lc rgb "#000000", \
     $slope_labels using 1:2:3:4 with labels left rotate by slope_angle tc rgb variable, \
     $ceiling_labels using 1:2:3:4 with labels right boxed tc rgb variable
