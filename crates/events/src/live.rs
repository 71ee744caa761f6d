//! The records of a live run that a simulated one has not.

use crate::column::{Column, Name};
use crate::records::record;
use crate::table::Record;
use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};

record! {
    /// One bucket of the histogram of lateness of a part in a window of 5 s: how long after its due time a
    /// packet was handed to the kernel.
    LatenessRecord in "lateness" {
        /// Start of the window.
        window_start_ns: i64,
        /// Which part of the live run.
        part: Name,
        /// Least lateness of the bucket.
        lateness_low_ns: i64,
        /// Lateness of the bucket is below this.
        lateness_high_ns: i64,
        /// Packets in the bucket.
        packets: u64,
        /// Sum of their lateness.
        sum_ns: i64,
    }
}
