//! Virtual-time driver: one event queue, seeded, bit-identical
