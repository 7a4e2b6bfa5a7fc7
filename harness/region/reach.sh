#!/bin/sh
# SPDX-License-Identifier: MIT
# reach.sh LIBDIR: after make install, makes programs find libcarm.so.0 in that folder, or prints how.
libdir=$1
PATH=$PATH:/usr/sbin:/sbin
if ldconfig -N -X -v 2>/dev/null | grep -qE "^$libdir/?:"; then
    # the dynamic linker looks into LIBDIR, but only at what its cache has (/etc/ld.so.cache)
    ldconfig 2>/dev/null || echo "libcarm: run as root, once: ldconfig"
else
    cat <<END
libcarm: the dynamic linker does not look into $libdir. Do one of these:
  - build programs with its path:    cc app.c \$(pkg-config --cflags --libs carm) -Wl,-rpath,$libdir
  - for all programs, as root:       echo $libdir >/etc/ld.so.conf.d/carm.conf && ldconfig
  - for this shell:                  export LD_LIBRARY_PATH=$libdir
END
fi
case :$(pkg-config --variable pc_path pkg-config 2>/dev/null):$PKG_CONFIG_PATH: in
*":$libdir/pkgconfig:"*) ;;
*) echo "libcarm: pkg-config finds it after: export PKG_CONFIG_PATH=$libdir/pkgconfig" ;;
esac
