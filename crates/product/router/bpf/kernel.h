// What the kernel offers to programs on tc, as far as it is used here: helpers by their numbers in linux/bpf.h,
// which are fixed for good. No header of libbpf is needed, and no BTF.
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

// As loaders read it from the section "maps".
struct map_definition {
    __u32 type;
    __u32 key_size;
    __u32 value_size;
    __u32 max_entries;
    __u32 map_flags;
    __u32 id;
    __u32 pinning;
};

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*map_update)(void *map, const void *key, const void *value, __u64 flags) = (void *)BPF_FUNC_map_update_elem;
static __u64 (*monotonic_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*load_bytes)(const struct __sk_buff *skb, __u32 offset, void *to, __u32 length) = (void *)BPF_FUNC_skb_load_bytes;
static long (*store_bytes)(struct __sk_buff *skb, __u32 offset, const void *from, __u32 length, __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*mend_checksum)(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 flags) = (void *)BPF_FUNC_l4_csum_replace;
static long (*mend_header_checksum)(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 flags) = (void *)BPF_FUNC_l3_csum_replace;
static void *(*ring_reserve)(void *ring, __u64 size, __u64 flags) = (void *)BPF_FUNC_ringbuf_reserve;
static void (*ring_submit)(void *data, __u64 flags) = (void *)BPF_FUNC_ringbuf_submit;

// The order of bytes on the wire, on machines of either order.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WIRE16(value) __builtin_bswap16(value)
#define WIRE32(value) __builtin_bswap32(value)
#else
#define WIRE16(value) (value)
#define WIRE32(value) (value)
#endif

// Keeps a number within a mask in the eyes of the verifier, whatever the compiler knows of it: the state at the head of
// a loop is then the same in each round, and is looked at once.
#define WITHIN(value, mask)                        \
    do {                                           \
        asm volatile("" : "+r"(value));            \
        (value) &= (mask);                         \
    } while (0)
