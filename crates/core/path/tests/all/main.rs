//! All tests in one program: what they use is linked once, and they run side by side.

mod airtime;
mod bottleneck_changes;
mod cake;
mod cake_options;
mod closed_loop;
mod codel;
mod disciplines;
mod dual_pi2;
mod fq_codel;
mod htb;
mod htb_link_layer;
mod link_changes;
mod link_closed_forms;
mod meters;
mod network;
mod network_changes;
mod network_flows;
mod path_properties;
mod pie;
mod shaper_rates;
mod support;
mod throughput;
mod wifi;
