# SPDX-License-Identifier: GPL-3.0-or-later
# F(phi): performance over the flops of one run of the floating-point code: how long a run has to be
# before it fills the pipelines. One line for each operation and number of threads.
# Set before: the panel's place and ranges, curves (how many), and
#   $curves  one block for each: flops, performance, low, high, 1 where disturbed
#   $names   their names, a line each, behind a "|"
# Performance in the unit of the axis.
set xlabel "flops of one run of one thread"
set ylabel performance_label
set key bottom right Right noreverse samplen 2 noautotitle opaque fillcolor rgb paper
plot for [i=0:curves-1] $curves index i using 1:3:4 with filledcurves fs transparent solid 0.2 \
         noborder lc rgb colour(i), \
     for [i=0:curves-1] $curves index i using 1:2 with linespoints lw 2 pt mark(i) ps 0.45 \
         lc rgb colour(i) title $names[i+1][2:*], \
     for [i=0:curves-1] $curves index i using 1:($5 > 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 \
         lc rgb ink title (i == 0 && disturbed ? "disturbed" : "")
