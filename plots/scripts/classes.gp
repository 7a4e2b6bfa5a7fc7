# SPDX-License-Identifier: GPL-3.0-or-later
# Application classes under the roofs of one model: a line of points for each class, from one
# iteration (1st) to the largest number, with the numbers beside them.
# Set before: the panel's place and ranges, intensity_label, performance_label, slope_angle
# (degrees), slopes and groups (how many slopes and classes), ids (a number for each class: its
# colour and mark), label_x and label_y (a number for each class: where the numbers of its points
# are, in characters), and
#   $slopes  one block for each slope: intensity, performance
#   $peak    the horizontal roof
#   $slope_labels  intensity, performance, text
#   $points  one block for each class: intensity, performance, text ("" = none)
#   $names   the classes, a line each, behind a "|"
#   key_at   where their marks stand above the panel, in its widths; key_row in its heights
# Intensity in flop/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
set key noautotitle off
set title offset graph 0, 1.5*key_row
do for [i=1:groups] {
    set label i $names[i][2:*] at graph word(key_at, i), 1 + key_row left tc rgb ink offset 1, -0.2 \
        point pt mark(word(ids, i)) ps 0.8 lc rgb colour(word(ids, i))
}
plot for [i=0:slopes-1] $slopes index i using 1:2 with lines lw 2 lc rgb "#909090", \
     $peak using 1:2 with lines lw 2 lc rgb ink, \
     $slope_labels using 1:2:3 with labels left rotate by slope_angle tc rgb soft, \
     for [i=0:groups-1] $points index i using 1:2 with lines lw 1 \
         lc rgb colour(word(ids, i+1)), \
     for [i=0:groups-1] $points index i using 1:2 with points ps 0.6 \
         pt mark(word(ids, i+1)) lc rgb colour(word(ids, i+1)), \
     for [i=0:groups-1] $points index i using 1:2:3 with labels left \
         offset word(label_x, i+1), word(label_y, i+1) \
         tc rgb colour(word(ids, i+1))
unset label
set title offset 0, 0
