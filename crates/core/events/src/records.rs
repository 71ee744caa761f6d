//! The records of a run: one struct a table, one field a column.

use crate::Name;

record! {
    /// One frame of a game stream, written when its fate is known.
    FrameRecord in "frames" {
        /// The stream.
        stream: Name,
        /// Its number, from zero.
        frame: u32,
        /// When it was captured and encoded.
        captured_ns: i64,
        /// The controller's target with which it was encoded, on the wire.
        target_bps: u64,
        /// Its encoded size.
        payload_bytes: u32,
        /// All its packets, with headers and repair.
        wire_bytes: u32,
        /// How many packets, with repair.
        packets: u16,
        /// Whether it refers to no other.
        key_frame: bool,
        /// When its first packet left the sender; null if none did.
        first_sent_ns: Option<i64>,
        /// When its last packet left the sender.
        last_sent_ns: Option<i64>,
        /// When the last packet that it needed arrived; null if it never became whole.
        complete_ns: Option<i64>,
        /// When it was shown; null if never: it or what it refers to was not whole.
        shown_ns: Option<i64>,
        /// Packets of it that were lost on the way.
        lost_packets: u16,
        /// The queueing delay at the bottleneck that its first packet to get through met.
        first_packet_queue_delay_ns: Option<i64>,
    }
}

record! {
    /// What a flow did in one bin of 0.5 s.
    BinRecord in "bins" {
        /// Start of the bin.
        bin_start_ns: i64,
        /// The flow.
        flow: Name,
        /// Wire bytes that entered the path towards the receiver.
        sent_bytes: u64,
        /// Wire bytes that reached the receiver.
        received_bytes: u64,
        /// New payload that reached the client: video, or TCP's stream without what came twice.
        received_payload_bytes: u64,
        /// Packets that entered the path towards the client.
        sent_packets: u32,
        /// Packets that reached the client.
        received_packets: u32,
        /// Packets that a queue or a medium dropped, for whatever reason.
        dropped_packets: u32,
        /// Of these: the queue had no room.
        overflow_dropped_packets: u32,
        /// Of these: the queue's discipline dropped them before it was full (AQM).
        aqm_dropped_packets: u32,
        /// Of these: the Wi-Fi medium sent them as often as it may, in vain.
        retry_limit_dropped_packets: u32,
        /// Packets lost otherwise.
        lost_packets: u32,
        /// Packets of which a copy was made behind the queue.
        duplicated_packets: u32,
        /// Packets that the queue marked.
        marked_packets: u32,
        /// Frames shown, of a game stream.
        frames_shown: u32,
        /// Wire bytes that its receiver sent back: reports, acknowledgements, ping requests.
        feedback_bytes: u64,
    }
}

record! {
    /// What a bottleneck did in one bin of 0.5 s.
    LinkRecord in "link" {
        /// Start of the bin.
        bin_start_ns: i64,
        /// Which: "path", a further hop's name, or "back".
        link: Name,
        /// What it could have carried.
        capacity_bytes: u64,
        /// What it carried; a packet that crosses the edge of a bin is split there.
        transmitted_bytes: u64,
        /// Time in which it was sending.
        busy_ns: i64,
        /// Most bytes waiting.
        queue_max_bytes: u64,
        /// Mean bytes waiting over time.
        queue_mean_bytes: f64,
    }
}

record! {
    /// One bucket of the histogram of queueing delays of a flow in a window: 5 s unless a run says otherwise.
    QueueDelayRecord in "queue_delay" {
        /// Start of the window.
        window_start_ns: i64,
        /// The flow.
        flow: Name,
        /// Least delay of the bucket.
        delay_low_ns: i64,
        /// Delays of the bucket are below this.
        delay_high_ns: i64,
        /// Packets in the bucket.
        packets: u64,
        /// Sum of their delays.
        sum_ns: i64,
    }
}

record! {
    /// One ping.
    PingRecord in "pings" {
        /// When the request left the client.
        sent_ns: i64,
        /// Until the reply came; null if it never did.
        rtt_ns: Option<i64>,
    }
}

record! {
    /// The value of one variable of a controller at one time.
    ControllerRecord in "controller" {
        /// The stream (or the TCP flow) that it controls.
        stream: Name,
        /// When.
        time_ns: i64,
        /// Its name, with unit.
        variable: Name,
        /// Its value.
        value: f64,
    }
}

record! {
    /// Something that happened to a flow.
    EventRecord in "events" {
        /// When.
        time_ns: i64,
        /// To which flow.
        flow: Name,
        /// What.
        event: Name,
        /// A number that belongs to it: a frame, a count; 0 where there is none.
        value: f64,
    }
}

record! {
    /// One packet at the bottleneck, written when its fate there is known; only on request.
    PacketRecord in "packets" {
        /// Its flow.
        flow: Name,
        /// What it carries: "media", "repair", "probe", "padding", "retransmission", "tcp", "quic", "udp" or "ping"; on a
        /// way back with a bottleneck also "report", "ack", "quic-return" or "request".
        kind: Name,
        /// Its transport-wide number (stream), first offset (TCP) or number (ping).
        number: u64,
        /// Its size on the wire.
        size_bytes: u32,
        /// "delivered", "dropped" by the queue, "lost" behind it, or "copied": a second row of one that comes twice.
        fate: Name,
        /// Why it was dropped: "overflow", "aqm", "ack-filter" or "retry-limit"; null if it was not.
        drop_reason: Option<Name>,
        /// When it came to the queue.
        came_ns: i64,
        /// How long it waited until its transmission began; null if it was dropped.
        queue_delay_ns: Option<i64>,
        /// When its last bit left the bottleneck; null if it was dropped.
        departed_ns: Option<i64>,
        /// When it reaches the client; null if it never does.
        arrived_ns: Option<i64>,
    }
}

record! {
    /// One request for a segment of a video, written when its fate is known; only with a video.
    SegmentRecord in "segments" {
        /// The video's flow.
        flow: Name,
        /// The segment's place in the video, from zero.
        segment: u32,
        /// Its quality level, from 1, the lowest.
        level: u16,
        /// The level's mean bitrate.
        bitrate_bps: u64,
        /// The segment's size.
        size_bytes: u64,
        /// How much of it came.
        received_bytes: u64,
        /// When it was asked for; null if the end came before.
        requested_ns: Option<i64>,
        /// When the answer began to come; null if it never did.
        first_byte_ns: Option<i64>,
        /// When all was there; null if never.
        complete_ns: Option<i64>,
        /// When it came on the screen; null if never.
        displayed_ns: Option<i64>,
        /// "displayed"; "replaced" by another level, or "too late" to replace one itself; "abandoned" or
        /// "timed out" on the way; at the end "buffered" or "unfinished".
        fate: Name,
    }
}

record! {
    /// The totals of a run, from which conservation can be checked.
    SummaryRecord in "summary" {
        /// Length of the run.
        duration_ns: i64,
        /// Its seed.
        seed: u64,
        /// Packets that came to the bottleneck.
        arrived_packets: u64,
        /// Packets that left it.
        forwarded_packets: u64,
        /// Packets that its queue dropped.
        dropped_packets: u64,
        /// Packets inside it at the end.
        queued_packets: u64,
        /// Packets lost behind it.
        lost_packets: u64,
        /// Copies made behind it.
        duplicated_packets: u64,
        /// Packets that reached the client.
        delivered_packets: u64,
        /// Packets under way to the client at the end.
        under_way_packets: u64,
        /// Events that the simulator processed.
        events_processed: u64,
    }
}
