# SPDX-License-Identifier: GPL-3.0-or-later
# A roofline with its ceilings, or several rooflines: memory ceilings as slopes, in-core ceilings as
# horizontals, the regions in which optimisations of memory (yellow), of computation (blue) or of both
# (green) are in reach, and kernels at their intensities.
# Set before: the panel's place and ranges, intensity_label, performance_label, slope_angle (degrees)
#   $roofs, $ceilings, $asides   one block for each line: intensity, performance, colour; and how many
#   $memory_region, $compute_region, $both_region   corners: intensity, performance
#   regions   1 = there is one of memory, 2 = of computation, 3 = both
#   $slope_labels, $flat_labels  intensity, performance, text, colour
#   $kernels  one block for each: a vertical line; and how many
#   $kernel_labels  intensity, performance, text
#   $crosses  intensity, performance achieved; crosses = 1 where there are any
# Intensity in operations/byte, performance in the unit of the axis.
set xlabel intensity_label
set ylabel performance_label
unset key
# The key of the regions, bottom right, where neither slopes nor kernels are.
region_text(i) = word("memory both computation", i)
region_rgb(i) = word("#fdf3c8 #d8efcf #d9e8f7", i)
has_region(i) = i == 2 ? regions == 3 : i == 1 ? int(regions) % 2 : int(regions) / 2
if (regions) { set label 9 "optimisations in reach" at graph 0.985, 0.2 right tc rgb "#404040" }
do for [i=1:3] {
    if (has_region(i)) {
        set label i region_text(i) at graph 0.955, 0.2 - 0.042*i right tc rgb "#404040"
        set object i rectangle from graph 0.963, 0.185 - 0.042*i to graph 0.985, 0.215 - 0.042*i \
            fs solid border lc rgb "#a0a0a0" fc rgb region_rgb(i)
    }
}
plot for [i=1:int(regions) % 2] $memory_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb "#fdf3c8", \
     for [i=1:int(regions) / 2] $compute_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb "#d9e8f7", \
     for [i=1:int(regions) / 3] $both_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb "#d8efcf", \
     for [i=0:kernels-1] $kernels index i using 1:2 with lines lw 1.4 dt (8,5) lc rgb "#e0559b", \
     for [i=0:asides-1] $asides index i using 1:2:3 with lines lw 0.9 dt (3,4) lc rgb variable, \
     for [i=0:ceilings-1] $ceilings index i using 1:2:3 with lines lw 1.6 lc rgb variable, \
     for [i=0:roofs-1] $roofs index i using 1:2:3 with lines lw 2.8 lc rgb variable, \
     $slope_labels using 1:2:3:4 with labels left rotate by slope_angle tc rgb variable, \
     $flat_labels using 1:2:3:4 with labels right tc rgb variable, \
     for [i=1:kernels > 0] $kernel_labels using 1:2:3 with labels left rotate by 90 \
         tc rgb "#b0246a", \
     for [i=1:crosses] $crosses using 1:2 with points pt 2 ps 1.1 lw 3 lc rgb "#c00000"
unset label
unset object
