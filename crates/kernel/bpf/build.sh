#!/usr/bin/env bash
# Compiles the programs for the kernel: build.sh DIRECTORY. The same compiler makes the same bytes wherever it runs.
set -euo pipefail
out=$(realpath -- "$1")
cd "$(dirname "$0")"
for source in *.bpf.c; do
	object=$out/${source%.c}.o
	clang -target bpf -mcpu=v3 -O2 -g -fdebug-compilation-dir=. -Wall -Wextra -Wno-unused-parameter -Werror \
		-c "$source" -o "$object"
	llvm-strip -g "$object"
done
clang -dumpversion >"$out/clang-version"
