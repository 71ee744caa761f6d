//! What is pushed is what is read back, from every table; and rows leave memory as they come.

use gameway_events::{
    BinRecord, ControllerRecord, CpuRecord, EventRecord, Files, FrameRecord, FurtherTables,
    LatenessRecord, LinkRecord, Name, PacketRecord, PingRecord, QueueDelayRecord, ResultTables,
    RunEvent, SegmentRecord, Sink, SummaryRecord, Table,
};
use parquet::basic::{ConvertedType, Encoding, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::path::{Path, PathBuf};

const ALL: FurtherTables =
    FurtherTables { packets: true, segments: true, lateness: true, files: Files::Whole };

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The table as text: one line for the columns with their types, one for each row.
fn dump(folder: &Path, table: &str) -> Vec<String> {
    let reader = reader(folder, table);
    let columns = reader.metadata().file_metadata().schema_descr().columns().iter();
    let columns = columns.map(|column| format!("{} {}", column.name(), kind(column)));
    let mut lines = vec![columns.collect::<Vec<_>>().join(", ")];
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let cells = row.get_column_iter().map(|(_, field)| text(field));
        lines.push(cells.collect::<Vec<_>>().join(" "));
    }
    lines
}

fn reader(folder: &Path, table: &str) -> SerializedFileReader<File> {
    let file = File::open(folder.join(table).with_extension("parquet")).unwrap();
    SerializedFileReader::new(file).unwrap()
}

fn kind(column: &ColumnDescriptor) -> &'static str {
    match (column.physical_type(), column.converted_type()) {
        (Type::INT64, ConvertedType::NONE) => "i64",
        (Type::INT64, ConvertedType::UINT_64) => "u64",
        (Type::INT32, ConvertedType::UINT_32) => "u32",
        (Type::INT32, ConvertedType::UINT_16) => "u16",
        (Type::DOUBLE, ConvertedType::NONE) => "f64",
        (Type::BOOLEAN, ConvertedType::NONE) => "bool",
        (Type::BYTE_ARRAY, ConvertedType::UTF8) => "name",
        _ => "?",
    }
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => "null".to_owned(),
        Field::Long(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Bool(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        other => panic!("no column has {other:?}"),
    }
}

fn frame(number: u32, name: &str, known: Option<i64>) -> FrameRecord {
    FrameRecord {
        stream: name.into(),
        frame: number,
        captured_ns: -5,
        target_bps: u64::MAX,
        payload_bytes: u32::MAX,
        wire_bytes: 7,
        packets: u16::MAX,
        key_frame: known.is_none(),
        first_sent_ns: known,
        last_sent_ns: None,
        complete_ns: known,
        shown_ns: None,
        lost_packets: 3,
        first_packet_queue_delay_ns: Some(i64::MIN),
    }
}

#[test]
fn frames_come_back_with_nulls_names_and_extremes() {
    let folder = folder("frames");
    let mut table: Table<FrameRecord> = Table::create(&folder, Files::Whole).unwrap();
    table.push(&frame(0, "game", None)).unwrap();
    table.push(&frame(u32::MAX, "zweites Spiel \u{1f3ae}", Some(i64::MAX))).unwrap();
    table.finish().unwrap();
    let columns = "stream name, frame u32, captured_ns i64, target_bps u64, payload_bytes u32, \
                   wire_bytes u32, packets u16, key_frame bool, first_sent_ns i64, last_sent_ns i64, \
                   complete_ns i64, shown_ns i64, lost_packets u16, first_packet_queue_delay_ns i64";
    let first = "game 0 -5 18446744073709551615 4294967295 7 65535 true null null null null 3 \
                 -9223372036854775808";
    let second = "zweites Spiel \u{1f3ae} 4294967295 -5 18446744073709551615 4294967295 7 65535 false \
                  9223372036854775807 null 9223372036854775807 null 3 -9223372036854775808";
    assert_eq!(dump(&folder, "frames"), [columns, first, second]);
}

/// One event for each table, two pings and two packets.
fn one_each() -> Vec<RunEvent> {
    let name = |text: &str| Name::from(text);
    let bin = BinRecord {
        bin_start_ns: 1,
        flow: name("ping"),
        sent_bytes: 2,
        received_bytes: 3,
        received_payload_bytes: 4,
        sent_packets: 5,
        received_packets: 6,
        dropped_packets: 7,
        overflow_dropped_packets: 8,
        aqm_dropped_packets: 9,
        retry_limit_dropped_packets: 10,
        lost_packets: 11,
        duplicated_packets: 12,
        marked_packets: 13,
        frames_shown: 14,
        feedback_bytes: 15,
    };
    let link = LinkRecord {
        bin_start_ns: 1,
        link: name("path"),
        capacity_bytes: 2,
        transmitted_bytes: 3,
        busy_ns: 4,
        queue_max_bytes: 5,
        queue_mean_bytes: 6.25,
    };
    let delay = QueueDelayRecord {
        window_start_ns: 1,
        flow: name("download"),
        delay_low_ns: 2,
        delay_high_ns: i64::MAX,
        packets: 4,
        sum_ns: 5,
    };
    let (stream, variable) = (name("game"), name("target_bps"));
    let state = ControllerRecord { stream, time_ns: 1, variable, value: f64::INFINITY };
    let event = EventRecord { time_ns: 1, flow: name("game"), event: name("stall"), value: 0.5 };
    let packet = PacketRecord {
        flow: name("game"),
        kind: name("media"),
        number: 2,
        size_bytes: 1248,
        fate: name("lost"),
        drop_reason: None,
        came_ns: 5,
        queue_delay_ns: Some(6),
        departed_ns: Some(7),
        arrived_ns: None,
    };
    let dropped = PacketRecord {
        number: 3,
        fate: name("dropped"),
        drop_reason: Some(name("aqm")),
        queue_delay_ns: None,
        departed_ns: None,
        ..packet.clone()
    };
    let segment = SegmentRecord {
        flow: name("video"),
        segment: 1,
        level: 2,
        bitrate_bps: 3,
        size_bytes: 4,
        received_bytes: 5,
        requested_ns: Some(6),
        first_byte_ns: Some(7),
        complete_ns: Some(8),
        displayed_ns: None,
        fate: name("replaced"),
    };
    let summary = SummaryRecord {
        duration_ns: 1,
        seed: u64::MAX,
        arrived_packets: 3,
        forwarded_packets: 4,
        dropped_packets: 5,
        queued_packets: 6,
        lost_packets: 7,
        duplicated_packets: 8,
        delivered_packets: 9,
        under_way_packets: 10,
        events_processed: 11,
    };
    let ping = |sent_ns, rtt_ns| RunEvent::Ping(PingRecord { sent_ns, rtt_ns });
    vec![
        RunEvent::Frame(frame(1, "game", Some(2))),
        RunEvent::Bin(bin),
        RunEvent::Link(link),
        RunEvent::QueueDelay(delay),
        ping(1, None),
        ping(2, Some(16_026_880)),
        RunEvent::Controller(state),
        RunEvent::Flow(event),
        RunEvent::Packet(packet),
        RunEvent::Packet(dropped),
        RunEvent::Segment(segment),
        RunEvent::Summary(summary),
    ]
}

#[test]
fn every_other_table_comes_back() {
    let folder = folder("all");
    let mut tables = Box::new(ResultTables::of_run(&folder, ALL).unwrap());
    for event in one_each() {
        tables.take(event);
    }
    assert!(!tables.has_failed());
    tables.finish().unwrap();
    assert_eq!(dump(&folder, "frames").len(), 2);
    let expected = [
        (
            "bins",
            "bin_start_ns i64, flow name, sent_bytes u64, received_bytes u64, \
             received_payload_bytes u64, sent_packets u32, received_packets u32, dropped_packets u32, \
             overflow_dropped_packets u32, aqm_dropped_packets u32, retry_limit_dropped_packets u32, lost_packets u32, duplicated_packets u32, marked_packets u32, frames_shown u32, \
             feedback_bytes u64",
            vec!["1 ping 2 3 4 5 6 7 8 9 10 11 12 13 14 15"],
        ),
        (
            "link",
            "bin_start_ns i64, link name, capacity_bytes u64, transmitted_bytes u64, busy_ns i64, \
             queue_max_bytes u64, queue_mean_bytes f64",
            vec!["1 path 2 3 4 5 6.25"],
        ),
        (
            "queue_delay",
            "window_start_ns i64, flow name, delay_low_ns i64, delay_high_ns i64, packets u64, sum_ns i64",
            vec!["1 download 2 9223372036854775807 4 5"],
        ),
        ("pings", "sent_ns i64, rtt_ns i64", vec!["1 null", "2 16026880"]),
        (
            "controller",
            "stream name, time_ns i64, variable name, value f64",
            vec!["game 1 target_bps inf"],
        ),
        ("events", "time_ns i64, flow name, event name, value f64", vec!["1 game stall 0.5"]),
        (
            "packets",
            "flow name, kind name, number u64, size_bytes u32, fate name, drop_reason name, came_ns i64, \
             queue_delay_ns i64, departed_ns i64, arrived_ns i64",
            vec![
                "game media 2 1248 lost null 5 6 7 null",
                "game media 3 1248 dropped aqm 5 null null null",
            ],
        ),
        (
            "segments",
            "flow name, segment u32, level u16, bitrate_bps u64, size_bytes u64, received_bytes u64, \
             requested_ns i64, first_byte_ns i64, complete_ns i64, displayed_ns i64, fate name",
            vec!["video 1 2 3 4 5 6 7 8 null replaced"],
        ),
        (
            "summary",
            "duration_ns i64, seed u64, arrived_packets u64, forwarded_packets u64, \
             dropped_packets u64, queued_packets u64, lost_packets u64, duplicated_packets u64, \
             delivered_packets u64, under_way_packets u64, events_processed u64",
            vec!["1 18446744073709551615 3 4 5 6 7 8 9 10 11"],
        ),
    ];
    for (table, columns, rows) in expected {
        let mut lines = vec![columns];
        lines.extend(rows);
        assert_eq!(dump(&folder, table), lines, "{table}");
    }
}

#[test]
fn a_table_without_rows_can_be_read() {
    let folder = folder("empty");
    Box::new(ResultTables::of_run(&folder, FurtherTables::default()).unwrap()).finish().unwrap();
    assert_eq!(dump(&folder, "pings"), ["sent_ns i64, rtt_ns i64"]);
    assert!(!folder.join("packets.parquet").exists(), "nobody asked for packets");
    assert!(!folder.join("segments.parquet").exists(), "there is no video");
}

#[test]
fn rows_leave_memory_in_groups_while_the_run_goes_on() {
    let folder = folder("groups");
    let mut table: Table<ControllerRecord> = Table::create(&folder, Files::Whole).unwrap();
    let names: Vec<Name> = (0..7).map(|number| format!("variable {number}").into()).collect();
    let stream = Name::from("game");
    for number in 0..100_000_i64 {
        let variable = names[number as usize % names.len()].clone();
        let (stream, value) = (stream.clone(), number as f64);
        table.push(&ControllerRecord { stream, time_ns: number, variable, value }).unwrap();
    }
    let path = folder.join("controller.parquet");
    let on_disk = std::fs::metadata(&path).unwrap().len();
    table.finish().unwrap();
    let reader = reader(&folder, "controller");
    let groups = reader.metadata().row_groups();
    let rows: Vec<i64> = groups.iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [32_768, 32_768, 32_768, 1_696]);
    // Whole groups were on disk before the table was finished, so what waits is less than a group.
    let whole: i64 = groups[..3].iter().map(|group| group.compressed_size()).sum();
    assert!(on_disk >= whole as u64, "{on_disk} of {whole}");
    let lines = dump(&folder, "controller");
    assert_eq!(lines.len(), 100_001);
    for number in [0, 32_767, 32_768, 99_999] {
        let expected = format!("game {number} variable {} {number}", number % 7);
        assert_eq!(lines[number + 1], expected);
    }
}

/// The numbers of a column of pings, of each piece that is there.
fn pieces(folder: &Path) -> Vec<Vec<String>> {
    (0..)
        .map(|number| format!("pings.{number:05}"))
        .take_while(|name| folder.join(format!("{name}.parquet")).exists())
        .map(|name| dump(folder, &format!("{name}.")).split_off(1))
        .collect()
}

#[test]
fn what_is_kept_in_pieces_can_be_read_while_the_run_goes_on() {
    let folder = folder("pieces");
    let further = FurtherTables { files: Files::Pieces, ..FurtherTables::default() };
    let mut tables = Box::new(ResultTables::of_run(&folder, further).unwrap());
    let take = |tables: &mut ResultTables, numbers: std::ops::Range<i64>| {
        for sent_ns in numbers {
            tables.take(RunEvent::Ping(PingRecord { sent_ns, rtt_ns: None }));
        }
    };
    take(&mut tables, 0..3);
    // The twin: what nobody has asked to keep is not there, and a table without rows has no piece.
    assert_eq!(pieces(&folder).len(), 0);
    tables.keep();
    assert_eq!(pieces(&folder), [["0 null", "1 null", "2 null"]]);
    take(&mut tables, 3..4);
    tables.keep();
    assert_eq!(pieces(&folder)[0].len(), 4);
    // A full piece is there at once, and is not touched again.
    take(&mut tables, 4..5_000);
    let first = folder.join("pings.00000.parquet");
    let written = std::fs::metadata(&first).unwrap().modified().unwrap();
    assert_eq!(pieces(&folder).iter().map(Vec::len).collect::<Vec<_>>(), [4_096]);
    tables.keep();
    tables.finish().unwrap();
    let found = pieces(&folder);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [4_096, 904]);
    assert_eq!(found.concat(), (0..5_000).map(|at| format!("{at} null")).collect::<Vec<_>>());
    assert_eq!(std::fs::metadata(&first).unwrap().modified().unwrap(), written);
    let others = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(others, 2, "neither whole tables nor halves of a piece");
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let missing = folder("missing-parent").join("nowhere");
    let error = ResultTables::of_run(&missing, ALL).err().map(|error| error.to_string());
    assert!(error.is_some_and(|text| text.contains("nowhere/frames.parquet")));
}

#[test]
fn the_first_table_that_cannot_be_written_is_named_at_the_end() {
    let folder = folder("full");
    std::os::unix::fs::symlink("/dev/full", folder.join("pings.parquet")).unwrap();
    let mut tables = Box::new(ResultTables::of_run(&folder, FurtherTables::default()).unwrap());
    let ping =
        |sent_ns| RunEvent::Ping(PingRecord { sent_ns, rtt_ns: Some(sent_ns * 7919 % 65_537) });
    let mut pushed = 0;
    while !tables.has_failed() && pushed < 1_000_000 {
        tables.take(ping(pushed));
        pushed += 1;
    }
    // Rows wait in memory until there are enough for a row group.
    assert!((10_000..1_000_000).contains(&pushed), "{pushed}");
    let error = tables.finish().unwrap_err().to_string();
    assert!(error.contains("pings.parquet: ") && error.contains("No space left"), "{error}");
}

#[test]
fn an_event_as_text_has_its_table_and_its_row() {
    for event in one_each() {
        let text = serde_json::to_value(&event).unwrap();
        assert_eq!(text["table"], event.table());
        assert!(text["row"].is_object(), "{text}");
    }
    let ping = serde_json::to_string(&one_each()[5]).unwrap();
    assert_eq!(ping, r#"{"table":"pings","row":{"sent_ns":2,"rtt_ns":16026880}}"#);
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_part_of_a_run_has_the_tables_that_it_fills() {
    type Create = fn(&Path) -> Result<ResultTables, gameway_events::SinkError>;
    let every_run = "bins controller events frames link pings queue_delay summary";
    let asked_for =
        "bins controller events frames lateness link packets pings queue_delay segments summary";
    let parts: [(&str, Create, &str); 5] = [
        ("run", |folder| ResultTables::of_run(folder, FurtherTables::default()), every_run),
        ("further", |folder| ResultTables::of_run(folder, ALL), asked_for),
        (
            "host",
            |folder| ResultTables::of_host(folder, Files::Whole),
            "client_frames controller cpu events host_frames lateness",
        ),
        ("client", ResultTables::of_client, "client_frames cpu events inputs sound"),
        ("download", ResultTables::of_download, "controller events"),
    ];
    for (part, create, tables) in parts {
        let folder = folder(&format!("part-{part}"));
        Box::new(create(&folder).unwrap()).finish().unwrap();
        let expected: Vec<_> = tables.split(' ').map(|table| format!("{table}.parquet")).collect();
        assert_eq!(names(&folder), expected, "{part}");
    }
}

#[test]
fn an_event_of_a_table_that_a_sink_does_not_keep_is_no_failure() {
    let folder = folder("others");
    let mut tables = Box::new(ResultTables::of_host(&folder, Files::Pieces).unwrap());
    one_each().into_iter().for_each(|event| tables.take(event));
    tables.take(RunEvent::Cpu(CpuRecord { cpu_ns: 1, wall_ns: 2, ..CpuRecord::default() }));
    tables.take(RunEvent::Lateness(LatenessRecord::default()));
    tables.finish().unwrap();
    let pieces = ["controller", "cpu", "events", "lateness"];
    assert_eq!(names(&folder), pieces.map(|table| format!("{table}.00000.parquet")));
    assert_eq!(dump(&folder, "cpu.00000.")[1], "  1 2");
}

#[test]
fn a_piece_that_lacks_no_row_is_not_written_again() {
    let folder = folder("unchanged");
    let mut table: Table<PingRecord> = Table::create(&folder, Files::Pieces).unwrap();
    table.push(&PingRecord { sent_ns: 1, rtt_ns: None }).unwrap();
    table.keep().unwrap();
    // Whoever takes the piece away meanwhile finds none: nothing has come since.
    std::fs::remove_file(folder.join("pings.00000.parquet")).unwrap();
    table.keep().unwrap();
    assert_eq!(names(&folder).len(), 0);
    table.push(&PingRecord { sent_ns: 2, rtt_ns: None }).unwrap();
    table.keep().unwrap();
    assert_eq!(pieces(&folder), [["1 null", "2 null"]]);
}

#[test]
fn a_piece_that_could_not_be_written_is_written_when_it_can_be() {
    let folder = folder("again");
    let mut table: Table<PingRecord> = Table::create(&folder, Files::Pieces).unwrap();
    table.push(&PingRecord { sent_ns: 1, rtt_ns: None }).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    table.keep().unwrap_err();
    std::fs::create_dir(&folder).unwrap();
    table.keep().unwrap();
    assert_eq!(pieces(&folder), [["1 null"]]);
}

#[test]
fn the_first_piece_that_cannot_be_written_ends_the_others() {
    let folder = folder("no-pieces");
    let further = FurtherTables { files: Files::Pieces, ..FurtherTables::default() };
    let mut tables = Box::new(ResultTables::of_run(&folder, further).unwrap());
    let ping = |sent_ns| RunEvent::Ping(PingRecord { sent_ns, rtt_ns: None });
    tables.take(ping(1));
    std::fs::remove_dir(&folder).unwrap();
    tables.keep();
    assert!(tables.has_failed());
    // The folder is there again, and what comes now is ignored.
    std::fs::create_dir(&folder).unwrap();
    tables.take(ping(2));
    tables.keep();
    let error = tables.finish().unwrap_err().to_string();
    assert!(error.contains("pings.00000.parquet.partial: "), "{error}");
    assert_eq!(names(&folder).len(), 0);
}

#[test]
fn a_channel_hears_each_event_and_never_fails() {
    let (mut sink, events) = std::sync::mpsc::channel();
    one_each().into_iter().for_each(|event| sink.take(event));
    assert_eq!(events.try_iter().collect::<Vec<_>>(), one_each());
    // A receiver that has hung up does not end the run.
    drop(events);
    one_each().into_iter().for_each(|event| sink.take(event));
    assert!(!sink.has_failed());
    Box::new(sink).finish().unwrap();
}

#[test]
fn names_are_stored_as_a_dictionary_and_whole_numbers_as_differences() {
    let folder = folder("encodings");
    let mut tables = Box::new(ResultTables::of_run(&folder, ALL).unwrap());
    one_each().into_iter().for_each(|event| tables.take(event));
    tables.finish().unwrap();
    for table in ["frames", "link"] {
        for column in reader(&folder, table).metadata().row_group(0).columns() {
            let kind = kind(column.column_descr());
            let has = |encoding| column.encodings().any(|one| one == encoding);
            let stored = (has(Encoding::RLE_DICTIONARY), has(Encoding::DELTA_BINARY_PACKED));
            let is_whole_number = !["name", "f64", "bool"].contains(&kind);
            assert_eq!(
                stored,
                (kind == "name", is_whole_number),
                "{} of {table}",
                column.column_path()
            );
        }
    }
}
