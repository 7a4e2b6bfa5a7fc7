# SPDX-License-Identifier: GPL-3.0-or-later
# What a model leaves unexplained: measured / model - 1 in percent over the x axis of the panel
# above, with 95% confidence intervals and a band of +-10%.
# Set before: the panel's place and x range, intensity_label, disturbed, levels, ids (see
# validation.gp), residual_lo and residual_hi (percent), beyond (1 where points above the panel are
# drawn at its upper end), and
#   $points  one block for each level: intensity, percent, 1 where disturbed, low, high
#   $band    the x axis' two ends, -10, 10
set xlabel intensity_label
set ylabel "measured / model - 1, %"
set key noautotitle off
unset logscale y
set yrange [residual_lo:residual_hi]
set ytics autofreq
if (beyond) { set ytics add (sprintf("≥ %.0f", residual_hi) residual_hi) }
plot $band using 1:2:3 with filledcurves fs solid noborder lc rgb (theme eq "dark" ? "#262b33" : "#ececec"), \
     $band using 1:(0) with lines lw 1.2 lc rgb ink, \
     for [i=0:levels-1] $points index i using 1:4:(0):($5-$4) with vectors nohead lw 0.8 \
         lc rgb colour(word(ids, i+1)), \
     for [i=0:levels-1] $points index i using 1:2 with points ps 0.6 \
         pt mark(word(ids, i+1)) lc rgb colour(word(ids, i+1)), \
     for [i=0:levels-1] $points index i using 1:($3 > 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 \
         lc rgb ink
set logscale y
