// What the data path counts, by processor.
#pragma once

#include "kernel.h"
#include "shared.h"

struct map_definition counters SECTION("maps") = {
    .type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = 8, .max_entries = COUNTERS,
};

INLINE void count(__u32 what) {
    __u64 *counter = map_lookup(&counters, &what);
    if (counter) *counter += 1;
}
