//! The records of the parts of a live run. Each part writes its own folder; they are joined afterwards into
//! the tables of a run. A *session* is a client's stay: a client that comes back begins another one, and
//! frames are numbered from zero in each.

use crate::Name;

record! {
    /// One frame as the host knows it, written when its last packet left or it was given up.
    HostFrameRecord in "host_frames" {
        /// The stream.
        stream: Name,
        /// The client's stay, from zero.
        session: u32,
        /// Its number in the session, from zero.
        frame: u32,
        /// When it was captured.
        captured_ns: i64,
        /// The controller's target with which it was encoded, on the wire.
        target_bps: u64,
        /// What of it was left for the encoder.
        encoder_target_bps: u64,
        /// Its encoded size, as cut into packets.
        payload_bytes: u32,
        /// All its packets, with headers and repair.
        wire_bytes: u32,
        /// Of that, repair packets that left with it.
        repair_bytes: u32,
        /// How many packets, with repair.
        packets: u16,
        /// Whether it refers to no other.
        key_frame: bool,
        /// From its capture until it was encoded.
        encode_ns: i64,
        /// When its first packet left the sender; null if none did.
        first_sent_ns: Option<i64>,
        /// When its last packet left the sender.
        last_sent_ns: Option<i64>,
    }
}

record! {
    /// One frame as the client knows it, written when its fate is known.
    ClientFrameRecord in "client_frames" {
        /// The stream.
        stream: Name,
        /// The client's stay, from zero.
        session: u32,
        /// Its number in the session, from zero.
        frame: u32,
        /// Different packets of it that arrived, repair included.
        received_packets: u16,
        /// Media packets that repair brought back.
        recovered_packets: u16,
        /// When enough of its packets had arrived; null if they never had.
        complete_ns: Option<i64>,
        /// When its picture was decoded; null if it never was.
        decoded_ns: Option<i64>,
        /// The frame counter in the picture; null if it could not be read.
        picture_frame: Option<i64>,
        /// The capture time in the picture; null if it could not be read.
        picture_captured_ns: Option<i64>,
    }
}

record! {
    /// One input of the player.
    InputRecord in "inputs" {
        /// The stream.
        stream: Name,
        /// The client's stay, from zero.
        session: u32,
        /// Its number, from one.
        input: u32,
        /// When it left the client.
        sent_ns: i64,
        /// When the first picture that shows its effect was decoded; null if none was.
        picture_ns: Option<i64>,
    }
}

record! {
    /// One packet of sound as the client heard it.
    SoundRecord in "sound" {
        /// The stream.
        stream: Name,
        /// The client's stay, from zero.
        session: u32,
        /// When its first sample played, on the host's clock; null for what was concealed.
        captured_ns: Option<i64>,
        /// When it arrived; null for what was concealed.
        arrived_ns: Option<i64>,
        /// When its samples were there.
        decoded_ns: i64,
        /// How much later than the picture its beep is, if one begins in it.
        offset_to_picture_ns: Option<i64>,
    }
}

record! {
    /// The processor time of one thread of a part.
    CpuRecord in "cpu" {
        /// "host", "client" or "link", and the stream where it has one: "host/game".
        part: Name,
        /// What the thread does.
        thread: Name,
        /// Processor time that it took.
        cpu_ns: i64,
        /// Time that it was there.
        wall_ns: i64,
    }
}

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
        /// Those of them that were the first after a wake-up: what made them late made those behind them late, too.
        wake_ups: u64,
    }
}
