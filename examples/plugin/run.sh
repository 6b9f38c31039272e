#!/bin/sh
# Builds and runs the example with every compiler that is installed: g++, clang++, and mingw-w64's g++ (run by Wine).
# CELLC=path takes a cellc that is not on the PATH, BUILD=folder another folder than build/.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/build}
cellc=${CELLC:-$(command -v cellc || true)}
[ -n "$cellc" ] || { echo "cellc is not on the PATH: CELLC=path ./run.sh" >&2; exit 1; }

# name, then options of CMake
with() {
    name=$1
    shift
    cmake -S "$here" -B "$build/$name" "-DCELLC_EXECUTABLE=$cellc" "$@" >"$build/$name.log" 2>&1 \
        && cmake --build "$build/$name" >>"$build/$name.log" 2>&1 || { cat "$build/$name.log" >&2; exit 1; }
    echo "== $name"
}

mkdir -p "$build"
if command -v g++ >/dev/null; then
    with g++ -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
    "$build/g++/plugin"
else
    echo "skipped: no g++"
fi
if command -v clang++ >/dev/null; then
    with clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
    "$build/clang++/plugin"
else
    echo "skipped: no clang++"
fi
# the variant with threads of POSIX has std::thread
mingw=x86_64-w64-mingw32
if command -v $mingw-g++-posix >/dev/null; then
    with mingw -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=$mingw-gcc-posix -DCMAKE_CXX_COMPILER=$mingw-g++-posix
    if command -v wine >/dev/null; then
        WINEDEBUG=-all wine "$build/mingw/plugin.exe"
    else
        echo "skipped: no wine"
    fi
else
    echo "skipped: no $mingw-g++-posix"
fi
