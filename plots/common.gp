# SPDX-License-Identifier: GPL-3.0-or-later
# Terminal, palette and axes of every picture.
# Set before: format ("svg", "png" or "pdf"), canvas_width and canvas_height (pixels), $title (one
# line behind a "|"). Fonts and line widths are the same share of the canvas in every format.
# Strings of a model reach gnuplot as lines of data only, and noenhanced keeps their characters.
if (format eq "png") {
    set terminal pngcairo noenhanced size 2*canvas_width, 2*canvas_height \
        font "Sans,12" fontscale 1.5 linewidth 2 pointscale 2 background "#ffffff"
} else { if (format eq "pdf") {
    set terminal pdfcairo noenhanced size canvas_width/72., canvas_height/72. \
        font "Sans,12" fontscale 0.75 linewidth 2 background "#ffffff"
} else {
    set terminal svg noenhanced size canvas_width, canvas_height \
        font "sans-serif,12" background "#ffffff"
} }
set encoding utf8

# Okabe and Ito's palette without its yellow, which is too pale on white: told apart with any kind
# of colour blindness. Lines also differ by their marks or their labels.
colour(i) = word("#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000", 1 + (int(i) % 7))
mark(i) = int(word("7 5 9 11 13 6 4", 1 + (int(i) % 7)))

set border 3 lw 1 lc rgb "#404040"
set tics out nomirror scale 0.75, 0.4
set grid xtics ytics lt 1 lw 0.6 lc rgb "#e4e4e4"
set logscale xy
set samples 2
set multiplot title $title[1][2:*] font ",14"
