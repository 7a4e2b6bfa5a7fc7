# SPDX-License-Identifier: GPL-3.0-or-later
# Terminal, palette and axes of every picture.
# Set before: format ("svg", "png" or "pdf"), canvas_width and canvas_height (in units of which the
# font takes 12), $title (one line behind a "|").
# May be set before: theme ("light", "dark" or "print"), font_name, zoom (pixels of a unit), density
# (dots of a pixel in a PNG). Fonts and line widths are the same share of the canvas in every format.
# Strings of a model reach gnuplot as lines of data only, and noenhanced keeps their characters.
if (!exists("theme")) theme = "light"
if (!exists("font_name")) font_name = ""
if (!exists("zoom")) zoom = 1.0
if (!exists("density")) density = 2
# paper, text and roof, lesser text and axes, grid
paper = theme eq "dark" ? "#14171c" : "#ffffff"
ink = theme eq "dark" ? "#f2f2f2" : "#000000"
soft = theme eq "dark" ? "#b8bcc4" : "#404040"
faint = theme eq "dark" ? "#30353d" : "#e4e4e4"
dim = theme eq "dark" ? "#8a909a" : "#606060"
font_of(default) = font_name eq "" ? default : font_name
if (format eq "png") {
    set terminal pngcairo noenhanced size int(density*zoom*canvas_width + 0.5), \
        int(density*zoom*canvas_height + 0.5) font font_of("Sans").",12" \
        fontscale 0.75*density*zoom linewidth density*zoom dashlength 0.6 \
        pointscale density*zoom background paper
} else { if (format eq "pdf") {
    set terminal pdfcairo noenhanced size zoom*canvas_width/72., zoom*canvas_height/72. \
        font font_of("Sans").",12" fontscale 0.75*zoom linewidth 2*zoom dashlength 0.6 background paper
} else {
    set terminal svg noenhanced size zoom*canvas_width, zoom*canvas_height linewidth zoom dashlength 0.6 \
        font font_of("sans-serif").sprintf(",%g", 12*zoom) background paper
} }
set encoding utf8

# Okabe and Ito's palette without its yellow, which is too pale on white: told apart with any kind
# of colour blindness. Lines also differ by their marks, their dashes or their labels; in print
# by these alone.
light_palette = "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000"
palette_of = theme eq "dark" ? "#4FA8E0 #F0803C #2DC597 #E29AC2 #F0B43C #8CD0F5 #F2F2F2" : \
             theme eq "print" ? "#000000 #585858 #303030 #707070 #181818 #505050 #000000" : \
             light_palette
colour(i) = word(palette_of, 1 + (int(i) % 7))
mark(i) = int(word("7 5 9 11 13 6 4", 1 + (int(i) % 7)))
# What a colour of the data, a number that belongs to the light theme, is in this one.
rgb(s) = int(("0x".s[2:7]) + 0)
place_of(c) = sum [i=1:7] (c == rgb(word(light_palette, i)) ? i : 0)
tone(c) = theme eq "light" ? c : c == 0 ? rgb(ink) : place_of(c) ? rgb(colour(place_of(c) - 1)) : \
          int(c)/65536 == int(c)%256 ? rgb(soft) : \
          theme eq "print" ? rgb("#303030") : rgb("#F0A070")

set border 3 lw 1 lc rgb soft
set tics out nomirror scale 0.75, 0.4 textcolor rgb soft
set grid xtics ytics lt 1 lw 0.6 lc rgb faint
set xlabel textcolor rgb ink
set ylabel textcolor rgb ink
set title textcolor rgb ink
set key textcolor rgb ink
set logscale xy
set samples 2
set multiplot title $title[1][2:*] font font_name.sprintf(",%g", format eq "svg" ? 14*zoom : 14) \
    textcolor rgb ink
