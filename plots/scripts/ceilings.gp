# SPDX-License-Identifier: GPL-3.0-or-later
# A roofline with its ceilings, or several rooflines: memory ceilings as slopes, in-core ceilings as
# horizontals, the regions in which optimisations of memory (yellow), of computation (blue) or of both
# (green) are in reach, and kernels at their intensities.
# Set before: the panel's place and ranges, intensity_label, performance_label, slope_angle (degrees)
#   $roofs, $ceilings, $asides   one block for each line: intensity, performance, colour; and how many;
#             roof_dashes, a number for each roof
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
region_rgb(i) = word(theme eq "dark" ? "#3d3614 #1f3d22 #1b3350" : \
    theme eq "print" ? "#f0f0f0 #dcdcdc #e7e7e7" : "#fdf3c8 #d8efcf #d9e8f7", i)
kernel_rgb = theme eq "print" ? "#404040" : "#e0559b"
roof_dash(i) = int(word(roof_dashes, i+1))
has_region(i) = i == 2 ? regions == 3 : i == 1 ? int(regions) % 2 : int(regions) / 2
if (regions) { set label 9 "optimisations in reach" at graph 0.985, 0.2 right tc rgb soft }
do for [i=1:3] {
    if (has_region(i)) {
        set label i region_text(i) at graph 0.955, 0.2 - 0.042*i right tc rgb soft
        set object i rectangle from graph 0.963, 0.185 - 0.042*i to graph 0.985, 0.215 - 0.042*i \
            fs solid border lc rgb "#a0a0a0" fc rgb region_rgb(i)
    }
}
plot for [i=1:int(regions) % 2] $memory_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(1), \
     for [i=1:int(regions) / 2] $compute_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(3), \
     for [i=1:int(regions) / 3] $both_region using 1:2 with filledcurves closed \
         fs solid noborder lc rgb region_rgb(2), \
     for [i=0:kernels-1] $kernels index i using 1:2 with lines lw 1.4 dt (8,5) lc rgb kernel_rgb, \
     for [i=0:asides-1] $asides index i using 1:2:(tone($3)) with lines lw 0.9 dt (3,4) lc rgb variable, \
     for [i=0:ceilings-1] $ceilings index i using 1:2:(tone($3)) with lines lw 1.6 lc rgb variable, \
     for [i=0:roofs-1] $roofs index i using 1:2:(tone($3)) with lines lw 2.8 \
         dt roof_dash(i) lc rgb variable, \
     $slope_labels using 1:2:3:(tone($4)) with labels left rotate by slope_angle tc rgb variable, \
     $flat_labels using 1:2:3:(tone($4)) with labels right tc rgb variable, \
     for [i=1:kernels > 0] $kernel_labels using 1:2:3 with labels left rotate by 90 \
         tc rgb (theme eq "light" ? "#b0246a" : kernel_rgb), \
     for [i=1:crosses] $crosses using 1:2 with points pt 2 ps 1.1 lw 3 lc rgb (theme eq "dark" ? "#ff7070" : theme eq "print" ? ink : "#c00000")
unset label
unset object
