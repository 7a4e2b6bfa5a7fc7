# SPDX-License-Identifier: GPL-3.0-or-later
# Latency of dependent loads over working set, one line for each order and page size, or over the bandwidth of streams
# beside them, one line for each mix, with its 95% confidence interval as a band, and the caches' sizes as the OS
# reports them. Or bandwidth and peak over the number of threads.
# Set before: the panel's place and ranges, latency_over and curve_label (the axes), curves (how many), and
#   $curves  one block for each: working set or bandwidth, latency, low, high, 1 where disturbed
#   $names   their names, a line each, behind a "|"
#   $sizes   one block for each: bytes, height
#   $size_labels     bytes, height, text, colour
# Working sets in bytes, latencies in ns, rates in the unit of their axis.
set xlabel latency_over
set ylabel curve_label
set key bottom right Right noreverse samplen 2 noautotitle opaque fillcolor rgb paper
plot for [i=0:sizes-1] $sizes index i using 1:2 with lines lw 1.6 dt 3 lc rgb dim, \
     for [i=0:curves-1] $curves index i using 1:3:4 with filledcurves fs transparent solid 0.2 \
         noborder lc rgb colour(i), \
     for [i=0:curves-1] $curves index i using 1:2 with linespoints lw 2 pt mark(i) ps 0.45 \
         lc rgb colour(i) title $names[i+1][2:*], \
     for [i=0:curves-1] $curves index i using 1:($5 > 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 \
         lc rgb ink title (i == 0 && disturbed ? "disturbed" : ""), \
     $size_labels using 1:2:3:(tone($4)) with labels center tc rgb variable
