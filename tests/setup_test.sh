#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests ./setup without installing anything: every command that would look at or change the system
# is a stand-in, and nothing else is on its PATH. Prints TAP.
# shellcheck disable=SC2016,SC2317 # stand-ins are quoted code; ok calls the predicates
set -u

top=$(cd "${CARM_TOP:-.}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

count=0
failed=0

# ok NAME COMMAND... - one test: passes when the command succeeds
ok() {
    local name=$1
    shift
    count=$((count + 1))
    if "$@"; then
        printf 'ok %d - %s\n' "$count" "$name"
    else
        printf 'not ok %d - %s\n' "$count" "$name"
        printf '# status %s; output:\n' "$status"
        sed 's/^/#   /' "$T/out"
        printf '# calls:\n'
        sed 's/^/#   /' "$T/calls"
        failed=1
    fi
}

# stub NAME - makes a stand-in from standard input
stub() {
    { printf '#!/bin/sh\n' && cat; } >"$T/bin/$1"
    chmod +x "$T/bin/$1"
}

# world ID ID_LIKE - a fresh system: files beside its stand-ins are its state.
#   installed    what dpkg-query knows; "all" = everything
#   unknown      packages that apt knows no candidate for
#   uid          what id -u says
#   calls        every call that would change or build something, in order
#   make.status  what make exits with
world() {
    T=$tmp/world.$((++worlds))
    mkdir -p "$T/bin"
    for tool in sh env cat sed tr tail dirname true; do
        ln -s "$(type -P "$tool")" "$T/bin/$tool"
    done
    printf 'NAME="Some system"\nID=%s\nID_LIKE="%s"\n' "$1" "$2" >"$T/os-release"
    : >"$T/installed"
    : >"$T/unknown"
    : >"$T/calls"
    : >"$T/out"
    echo 0 >"$T/uid"
    echo 0 >"$T/make.status"

    stub uname <<'END'
case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac
END
    stub id <<END
cat "$T/uid"
END
    # answers for what is installed, fails if any is not, as the real one does
    stub dpkg-query <<END
rc=0
for p in "\$@"; do
    case \$p in -*|*'\${'*) continue ;; esac
    if grep -qxE "\$p|all" "$T/installed"; then
        echo "installed amd64 \$p"
    elif grep -qx "\$p:i386" "$T/installed"; then
        echo "installed i386 \$p"
    else
        echo "no packages found matching \$p" >&2
        rc=1
    fi
done
exit \$rc
END
    stub apt-cache <<END
if grep -qx "\$2" "$T/unknown"; then exit 0; fi # as for a name that apt never heard of
if grep -qx "\$2:none" "$T/unknown"; then printf '%s:\n  Candidate: (none)\n' "\$2"; exit 0; fi
version=9.0
if grep -qx "\$2:old" "$T/unknown"; then version=3.2.1-1; fi
printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "\$2" "\$version"
END
    # keeps what had been said when it was called
    stub apt-get <<END
echo "apt-get \$*" >>"$T/calls"
cp "$T/out" "$T/said-before-\$1"
printf '%s\n' "\${DEBIAN_FRONTEND-unset}" >"$T/frontend-\$1"
if read -r line; then echo "read \$line" >>"$T/calls"; fi
if [ -f "$T/apt-get-\$1.fails" ]; then cat "$T/apt-get-\$1.fails" >&2; exit 100; fi
if [ -f "$T/apt-get-\$1.warns" ]; then cat "$T/apt-get-\$1.warns" >&2; fi
echo "noise of apt-get \$1"
END
    stub sudo <<END
echo "sudo \$*" >>"$T/calls"
if [ -f "$T/sudo.fails" ]; then echo 'someone is not in the sudoers file.' >&2; exit 1; fi
exec "\$@"
END
    stub make <<END
echo "make \$* in \$PWD" >>"$T/calls"
exit \$(cat "$T/make.status")
END
    for tool in grep cp; do ln -s "$(type -P "$tool")" "$T/bin/$tool"; done
}
worlds=0

# setup WORD... - runs ./setup in the world, from another folder; sets status
setup() {
    (cd "$T" && PATH=$T/bin CARM_OS_RELEASE=$T/os-release exec "$top/setup" "$@") \
        >"$T/out" 2>&1 <<<'an answer that nothing may read'
    status=$?
}

exited() { [ "$status" -eq "$1" ]; }
said() { grep -qF -- "$1" "$T/out"; }
silent_on() { ! grep -qF -- "$1" "$T/out"; }
called() { grep -qxF -- "$1" "$T/calls"; }
never_called() { ! grep -q "^$1" "$T/calls"; }
all() { # all CMD ARG -- CMD ARG -- ...
    local part=()
    for w in "$@" --; do
        if [ "$w" = -- ]; then
            "${part[@]}" || return 1
            part=()
        else
            part+=("$w")
        fi
    done
}
calls_are() { [ "$(printf '%s\n' "$@")" = "$(cat "$T/calls")" ]; }
installs() { # the packages of the apt-get install call, in order, are these
    [ "$(sed -n 's/.*apt-get install .*Timeout=120 //p' "$T/calls" | tail -n 1)" = "$*" ]
}
said_before() { # what was on the screen when apt-get $1 ran contains $2
    grep -qF -- "$2" "$T/said-before-$1"
}

build_list='gcc libc6-dev make nasm pkg-config libhwloc-dev libgsl-dev libzydis-dev libjansson-dev libyaml-dev'
build_list="$build_list libpapi-dev libdw-dev libzstd-dev libjs-d3"
demo_list="$build_list gnuplot-nox fonts-dejavu-core"
check_list="$demo_list libcmocka-dev python3-jsonschema python3-yaml mandoc binutils zsh"
check_list="$check_list likwid libpfm4-dev libopenblas0-pthread libfftw3-double3 libdnnl-dev g++ gfortran cmake"
check_list="$check_list valgrind openmpi-bin libopenmpi-dev slurmctld slurmd slurm-client munge procps"
check_list="$check_list bzip2 xz-utils zstd openssl sqlite3 gawk git nodejs luajit ripgrep fd-find flac lame age"
check_list="$check_list python3-pandas python3-matplotlib python3-nbclient python3-ipykernel"
check_list="$check_list python3-pip python3-setuptools python3-wheel"
check_list="$check_list python3-venv python3-setuptools-whl python3-wheel-whl"
ubuntu_check_list=$check_list
check_list="$check_list chromium chromium-driver"
apt_install='apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120'

# A bare Debian as root
world debian ''
setup demo
ok 'bare Debian: demo succeeds' exited 0
ok 'bare Debian: update, install, make, in this order and nothing else' calls_are \
    'apt-get update' "$apt_install $demo_list" "make demo in $top"
ok 'packages are announced before anything runs' said_before update "missing: $demo_list"
ok 'the exact commands are announced before anything runs' all \
    said_before update '  apt-get update' -- \
    said_before update "  env DEBIAN_FRONTEND=noninteractive $apt_install $demo_list"
ok 'apt-get install asks no questions' grep -qx noninteractive "$T/frontend-install"
ok "apt's own output stays out of the way" silent_on noise

world debian ''
setup check
ok 'check installs its own packages as well' all \
    exited 0 -- installs "$check_list" -- called "make check in $top"

world debian ''
setup bench
ok 'bench installs likwid as well' all \
    exited 0 -- installs "$demo_list likwid" -- called "make bench in $top"

world debian ''
setup lint
ok 'lint installs the linters as well' all \
    exited 0 -- installs "$check_list clang-tidy clang-format cppcheck shellcheck abigail-tools mypy pylint" -- \
    called "make lint in $top"

world debian ''
setup ci
ok 'ci installs what check needs, and clang' all \
    exited 0 -- installs "$check_list clang libclang-rt-dev" -- called "make ci in $top"

world debian ''
setup fuzz
ok 'fuzz installs clang and its libraries as well' all \
    exited 0 -- installs "$demo_list clang libclang-rt-dev" -- called "make fuzz in $top"

world debian ''
setup deps
ok 'deps installs what check needs and makes nothing' all \
    exited 0 -- installs "$check_list" -- never_called make

world debian ''
setup deps demo
ok 'deps demo installs what demo needs and makes nothing' all \
    exited 0 -- installs "$demo_list" -- never_called make

# Other ways to be Debian
world linuxmint 'ubuntu debian'
setup deps demo
ok 'a system like Ubuntu counts as Ubuntu' installs "$demo_list"
world '"debian"' ''
setup deps demo
ok 'a quoted ID is understood' installs "$demo_list"

world ubuntu debian
setup deps check
ok 'Ubuntu: no browser, which is a snap there' installs "$ubuntu_check_list"

# Who becomes root, and how
world debian ''
echo 1000 >"$T/uid"
setup demo
ok 'not root: apt-get runs through sudo, make does not' calls_are \
    'sudo true' \
    'sudo apt-get update' 'apt-get update' \
    "sudo env DEBIAN_FRONTEND=noninteractive $apt_install $demo_list" "$apt_install $demo_list" \
    "make demo in $top"
ok 'not root: the commands are announced with sudo' all \
    said_before update '  sudo apt-get update' -- \
    said_before update "  sudo env DEBIAN_FRONTEND=noninteractive $apt_install $demo_list"

world debian ''
echo 1000 >"$T/uid"
rm "$T/bin/sudo"
setup demo
ok 'neither root nor sudo: prints the commands and exits 1' all \
    exited 1 -- said '  apt-get update' -- said "  $apt_install $demo_list" -- said 'As root, run'
ok 'neither root nor sudo: runs nothing' calls_are

world debian ''
echo 1000 >"$T/uid"
: >"$T/sudo.fails"
setup demo
ok 'sudo refuses: says so, exits 1, makes nothing' all \
    exited 1 -- said 'sudo does not let you become root' -- never_called apt-get -- \
    never_called make

# What is there already
world debian ''
echo all >"$T/installed"
echo 1000 >"$T/uid"
setup demo
ok 'all there: installs nothing, needs no root, goes to make' all \
    exited 0 -- calls_are "make demo in $top"

world debian ''
tr ' ' '\n' <<<"$demo_list" | grep -vx nasm >"$T/installed"
setup demo
ok 'one missing: only that one is installed' all exited 0 -- installs nasm

world debian ''
tr ' ' '\n' <<<"$demo_list" | sed 's/^libc6-dev$/libc6-dev:i386/' >"$T/installed"
setup demo
ok "another architecture's package does not count" installs libc6-dev

world debian ''
tr ' ' '\n' <<<"$demo_list" | sed 's/^gnuplot-nox$/gnuplot-qt/; s/^pkg-config$/pkgconf/' \
    >"$T/installed"
setup demo
ok 'another gnuplot or pkgconf will do' calls_are "make demo in $top"

# Packages that apt does not know
world debian ''
echo libzydis-dev >"$T/unknown"
setup demo
ok 'no candidate on Debian: names package and remedy, exits 1' all \
    exited 1 -- said 'apt knows no package libzydis-dev: carm needs Debian 12 or newer' -- \
    never_called 'apt-get install' -- never_called make

world ubuntu debian
printf '%s\n' libzydis-dev:none nasm >"$T/unknown"
setup demo
ok 'no candidate on Ubuntu: says to enable universe' all \
    exited 1 -- said 'no package nasm libzydis-dev' -- said 'add-apt-repository universe' -- \
    never_called 'apt-get install' -- never_called make

world ubuntu debian
printf '%s\n' libzydis-dev:old nasm:old >"$T/unknown"
setup demo
ok 'Zydis 3 will not do: says which Ubuntu has Zydis 4' all \
    exited 1 -- said 'no package libzydis-dev: carm needs Ubuntu 24.04' -- \
    never_called 'apt-get install' -- never_called make

world debian ''
echo pkg-config:none >"$T/unknown"
setup demo
ok 'a package under another name: says the command anew and runs that' all \
    exited 0 -- said_before install "$apt_install ${demo_list/pkg-config/pkgconf}" -- \
    installs "${demo_list/pkg-config/pkgconf}"

# apt-get fails
world debian ''
echo 'E: Some broken source' >"$T/apt-get-update.fails"
setup demo
ok 'update fails: says so and goes on' all \
    exited 0 -- said 'E: Some broken source' -- said 'apt-get update failed' -- \
    installs "$demo_list"

world debian ''
echo 'W: Failed to fetch a list' >"$T/apt-get-update.warns"
tr ' ' '\n' <<<"$demo_list" >"$T/unknown"
setup demo
ok 'no network, no lists: points at the network, not at the release' all \
    exited 1 -- said 'check the network' -- silent_on 'Debian 12' -- \
    never_called 'apt-get install'

world debian ''
echo 'E: Could not get lock /var/lib/apt/lists/lock.' >"$T/apt-get-update.fails"
stub sleep <<END
echo "sleep \$1" >>"$T/calls"
rm "$T/apt-get-update.fails"
END
ln -s "$(type -P rm)" "$T/bin/rm"
setup deps demo
ok 'lists locked: waits and tries again' all \
    exited 0 -- said 'another package manager is at work' -- silent_on 'update failed' -- \
    calls_are 'apt-get update' 'sleep 5' 'apt-get update' "$apt_install $demo_list"

world debian ''
echo 'E: Unable to correct problems' >"$T/apt-get-install.fails"
setup demo
ok "install fails: shows apt's reason, exits 1, makes nothing" all \
    exited 1 -- said 'E: Unable to correct problems' -- said 'could not install' -- \
    never_called make

# make's status
world debian ''
echo all >"$T/installed"
echo 2 >"$T/make.status"
setup check
ok "make's exit status is passed on" all exited 2 -- called "make check in $top"

# Other systems
world fedora ''
for tool in cc make nasm pkg-config gnuplot; do stub "$tool" <<<'exit 1'; done
setup demo
ok 'elsewhere: prints tools and libraries' all \
    said 'tools:     cc make nasm pkg-config gnuplot' -- \
    said 'libraries: hwloc gsl zydis jansson yaml-0.1 libdw libzstd'
ok 'elsewhere, missing libraries: names them, exits 1, installs nothing' all \
    exited 1 -- said 'not found: hwloc gsl zydis jansson yaml-0.1 libdw libzstd.' -- \
    said 'then run ./setup demo again' -- never_called apt-get -- never_called sudo
ok 'Fedora: names the packages by which they come' all \
    said '  sudo dnf install hwloc-devel gsl-devel zydis-devel jansson-devel libyaml-devel elfutils-devel libzstd-devel' -- \
    silent_on 'no package of this system'

# bare ID ID_LIKE - a system of that name on which nothing is found
bare() {
    world "$1" "$2"
    stub pkg-config <<<'exit 1'
    rm "$T/bin/make"
}
bare rocky 'rhel centos fedora'
setup demo
ok 'a system like Fedora counts as Fedora' said \
    '  sudo dnf install gcc make nasm gnuplot hwloc-devel gsl-devel zydis-devel jansson-devel'
setup lint
ok 'a package of two tools is named once; no name is missing' all \
    said ' python3 mandoc binutils clang-tools-extra cppcheck ShellCheck hwloc-devel' -- \
    silent_on 'no package of this system'
bare opensuse-tumbleweed 'opensuse suse'
setup demo
ok 'openSUSE: its own names, and what it has no package of' all exited 1 -- \
    said '  sudo zypper install gcc make nasm gnuplot hwloc-devel gsl-devel libjansson-devel libyaml-devel libdw-devel' -- \
    said 'no package of this system is known for: zydis.'
setup deps check
ok 'openSUSE: what only the tests need, too' all \
    said ' gnuplot python3 mandoc-bin binutils ' -- said ' libzstd-devel libcmocka-devel python3-jsonschema' -- \
    said 'then run ./setup deps check again'
bare manjaro arch
setup demo
ok 'Arch and its likes: their own names' all exited 1 -- \
    said '  sudo pacman -S --needed gcc make nasm gnuplot hwloc gsl zydis jansson libyaml libelf zstd' -- \
    silent_on 'no package of this system'
bare alpine ''
setup demo
ok 'a system of unknown names: no command, but what is missing' all \
    exited 1 -- said 'not found: cc make nasm gnuplot hwloc' -- silent_on sudo -- said 'with your package manager'

world fedora ''
stub pkg-config <<<'[ "$2" != zydis ]'
stub cc <<<'exec grep -q Zydis/Zydis.h'
for tool in nasm gnuplot; do stub "$tool" <<<''; done
setup demo
ok 'elsewhere, all there: goes to make' all exited 0 -- calls_are "make demo in $top"
setup check
ok 'elsewhere, check: names what only the tests need' all \
    exited 1 -- said 'tools:     cc make nasm pkg-config gnuplot python3 mandoc objdump' -- \
    said 'not found: python3 mandoc objdump python-jsonschema.'

world debian ''
stub uname <<<'case $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac'
setup demo
ok 'another processor: says so, exits 1' all \
    exited 1 -- said 'this one is Linux aarch64' -- calls_are

# Misuse
world debian ''
setup everything
ok 'unknown word: exit 2 with usage' all \
    exited 2 -- said "unknown word 'everything'" -- said 'usage: ./setup demo' -- calls_are
setup
ok 'no word: exit 2 with usage' all exited 2 -- said 'usage: ./setup demo' -- calls_are
setup demo now
ok 'a word too many: exit 2 with usage' all exited 2 -- said "got 'now'" -- calls_are
setup deps everything
ok 'deps of nothing known: exit 2 with usage' all \
    exited 2 -- said "deps knows no 'everything'" -- calls_are
setup help
ok 'help: exit 0' all exited 0 -- said 'usage: ./setup demo' -- calls_are

printf '1..%d\n' "$count"
exit $failed
