//! `gameway._core`: what Python needs of the Rust crates, as text and integers. No logic lives here.
//!
//! Every error is a `ValueError` whose text is meant for the user.

mod catalogue;
mod controller;
mod controller_values;
#[cfg(feature = "stream")]
mod download;
#[cfg(feature = "stream")]
mod host_config;
mod link;
mod namespaces;
mod simulator;
#[cfg(feature = "stream")]
mod stream;
#[cfg(not(feature = "stream"))]
#[path = "no_stream.rs"]
mod stream;
#[cfg(not(feature = "stream"))]
use stream as download;
mod toml;
mod units;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::catalogue::{
        catalogue, check_congestion_control, check_controller, check_frame_table, check_gateway,
        check_queue, check_queue_table, check_segment_sizes, check_trace, check_wifi,
        declared_keys, default_ladder, parse_word, run_schema,
    };
    #[pymodule_export]
    use crate::controller_values::{Cluster, Frame, Limits, Packet, Received, Report, Wanted};
    #[pymodule_export]
    use crate::download::{live_quic_client, live_quic_server};
    #[pymodule_export]
    use crate::link::{check_link, link_command, link_options, live_link};
    #[pymodule_export]
    use crate::namespaces::{Namespaces, clean_namespaces, require_namespaces, start_of_process};
    #[pymodule_export]
    use crate::simulator::{check_spec, run};
    #[pymodule_export]
    use crate::stream::{
        client_command, devices_command, doctor_command, encoders, has_opus, has_wayland,
        host_command, live_client, live_host, play_command, screen_shows, stream_options,
    };
    #[pymodule_export]
    use crate::toml::parse_toml;
    #[pymodule_export]
    use crate::units::{
        check_queue_size, format_bytes, format_duration, format_rate, parse_bytes, parse_duration,
        parse_rate, parse_ratio, queue_bytes, receive_buffer,
    };

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const SCHEMA_VERSION: u32 = gameway_events::SCHEMA_VERSION;
    #[pymodule_export]
    const BIN_NS: i64 = gameway_events::BIN.as_nanos();
    #[pymodule_export]
    const MAX_LIVE_FLOWS: usize = gameway_link::link::MAX_FLOWS;
    #[pymodule_export]
    const LATENESS_BOUND_NS: i64 = gameway_runtime::lateness::BOUND.as_nanos();
}
