/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * The parts of the kernel's types that are used here, declared by hand: the loader finds where the running kernel has
 * each field (CO-RE), and so one object serves all kernels.
 */
#ifndef HEADWAY_KERNEL_H
#define HEADWAY_KERNEL_H

#include "types.h"

#define SEC(name) __attribute__((section(name), used))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	s32 sysctl_tcp_pacing_ss_ratio;
	s32 sysctl_tcp_pacing_ca_ratio;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	volatile u8 skc_state;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	u64 bytes_acked;
	u32 rcv_nxt;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 mss_cache;
	u32 srtt_us;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 max_packets_out;
	u32 packets_out;
	u32 delivered;
	u32 delivered_ce;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
};

struct ack_sample {
	s32 rtt_us;
};

struct rate_sample;

#pragma clang attribute pop

/* Matched to the kernel's by the names of its members. */
struct tcp_congestion_ops {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
};

enum { TCP_CONG_NON_RESTRICTED = 1, TCP_CONG_NEEDS_ECN = 2 };
enum { CA_EVENT_LOSS = 3, CA_EVENT_ECN_NO_CE = 4, CA_EVENT_ECN_IS_CE = 5 };
enum { TCP_CA_CWR = 2, TCP_CA_RECOVERY = 3 };
enum { TCP_ECN_OK = 1, TCP_ECN_DEMAND_CWR = 4 };
enum { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum { TCP_CLOSE = 7, TCP_LISTEN = 10 };
enum { SOL_TCP = 6, TCP_CONGESTION = 13 };

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_setsockopt)(void *sk, int level, int name, void *value, int bytes) = (void *)49;
static long (*const bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;

/* A field of some bits, wherever the running kernel has it. */
#define BITS(of, field) ({ \
	const void *at = (const void *)(of) + __builtin_preserve_field_info((of)->field, 0); \
	u64 bits = 0; \
	asm volatile("" : "=r"(at) : "0"(at)); \
	switch (__builtin_preserve_field_info((of)->field, 1)) { \
	case 1: bits = *(const u8 *)at; break; \
	case 2: bits = *(const u16 *)at; break; \
	case 4: bits = *(const u32 *)at; break; \
	case 8: bits = *(const u64 *)at; break; \
	} \
	bits <<= __builtin_preserve_field_info((of)->field, 4); \
	bits >> __builtin_preserve_field_info((of)->field, 5); \
})

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

#endif
