#!/usr/bin/env bash
# Compiles the program for the kernel: build.sh DIRECTORY. The same compiler makes the same bytes wherever it runs.
set -euo pipefail
out=$(realpath -- "$1")
cd "$(dirname "$0")"
clang -target bpf -mcpu=v2 -O2 -g -fdebug-compilation-dir=. -Wall -Wextra -Werror -c redirect.bpf.c -o "$out/redirect.bpf.o"
llvm-strip -g "$out/redirect.bpf.o"
clang -dumpversion >"$out/clang-version"
