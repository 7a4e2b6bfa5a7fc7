# SPDX-License-Identifier: GPL-3.0-or-later
# A heat map: times between places, one cell for each pair.
# Set before: the panel's place, ranges and ticks, heat_x, heat_y and heat_unit (names of the axes and of the colours),
# heat_high (the darkest; 0 is the lightest), heat_numbers (1: each cell has its number), and
#   $cells   column, row, value; no line for a pair that was not measured
#   $marks   the same of disturbed cells
# No axis is logarithmic before it.
unset grid
set colorbox
set xlabel heat_x
set ylabel heat_y
set cblabel heat_unit textcolor rgb ink
set cbtics textcolor rgb soft
set cbrange [0:heat_high]
if (theme eq "print") {
    set palette defined (0 "#f4f4f4", 1 "#303030")
} else {
    set palette defined (0 "#fff3d6", 0.5 "#E69F00", 1 "#7a2f00")
}
set key off
set size noratio
dark_from = 0.6*heat_high
corner = heat_numbers ? 0.38 : 0
plot $cells using 1:2:(0.48):(0.48):3 with boxxyerror fs solid noborder lc palette, \
     $cells using 1:2:(heat_numbers ? sprintf("%.0f", $3) : ""):($3 < dark_from ? 0x101010 : 0xf8f8f8) \
         with labels center tc rgb variable, \
     $marks using ($1+corner):($2+corner) with points pt 2 ps 0.8 lw 1.6 lc rgb "#0072B2"
unset colorbox
set logscale xy
