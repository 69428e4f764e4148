/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Hands every frame of an interface to the switch's AF_XDP socket, with the time at which the kernel had it: the eight
 * bytes in front of the frame, by the monotonic clock. Frames of a queue without a socket go on to the kernel.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

enum { BPF_MAP_TYPE_XSKMAP = 17 };
enum { XDP_PASS = 2 };

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
};

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 otherwise) = (void *)51;
static long (*const bpf_xdp_adjust_meta)(struct xdp_md *context, int delta) = (void *)54;

struct {
	int (*type)[BPF_MAP_TYPE_XSKMAP];
	u32 *key;
	u32 *value;
	int (*max_entries)[1];
} sockets SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md *context)
{
	u64 now = bpf_ktime_get_ns();

	/* A driver without room for it leaves the stamp out; the switch then takes its own time. */
	if (bpf_xdp_adjust_meta(context, -(int)sizeof(u64)) == 0) {
		u64 *stamp = (void *)(unsigned long)context->data_meta;

		if ((void *)(stamp + 1) <= (void *)(unsigned long)context->data)
			*stamp = now;
	}
	return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
}

char dual_license[] SEC("license") = "Dual MIT/GPL";
