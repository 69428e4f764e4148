/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Integers by their width: the same for BPF and for a test on the host. */
#ifndef HEADWAY_TYPES_H
#define HEADWAY_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

#endif
