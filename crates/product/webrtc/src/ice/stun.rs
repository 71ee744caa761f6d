//! Binding requests and responses of STUN (RFC 8489), as far as ICE (RFC 8445) and a STUN server need them.
//!
//! A message is a header of 20 bytes (type, length, magic cookie, transaction), then attributes of a type,
//! a length and a value padded to 4 bytes. MESSAGE-INTEGRITY is HMAC-SHA-1 over what precedes it, as if
//! the message ended with it; FINGERPRINT a CRC-32 over what precedes it.

use aws_lc_rs::{constant_time, hmac};
use crc::{CRC_32_ISO_HDLC, Crc};
use std::net::{IpAddr, SocketAddr};

const MAGIC_COOKIE: u32 = 0x2112_A442;
const HEADER: usize = 20;
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
/// RFC 8489 section 14.7.
const FINGERPRINT_XOR: u32 = 0x5354_554E;

const USERNAME: u16 = 0x0006;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const ERROR_CODE: u16 = 0x0009;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const PRIORITY: u16 = 0x0024;
const USE_CANDIDATE: u16 = 0x0025;
const FINGERPRINT: u16 = 0x8028;
const ICE_CONTROLLED: u16 = 0x8029;
const ICE_CONTROLLING: u16 = 0x802A;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A question whether we are there.
    Request,
    /// A sign of life that wants no answer.
    Indication,
    /// Yes.
    Success,
    /// No.
    Error,
}

/// A transaction number.
pub type Transaction = [u8; 12];

/// A Binding message that was read; attributes that ICE does not use are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub class: Class,
    /// Its transaction number.
    pub transaction: Transaction,
    /// `receiver:sender` of a request.
    pub username: Option<&'a str>,
    /// The sender wants this pair of addresses to be used.
    pub use_candidate: bool,
    /// The sender takes the controlling role.
    pub controlling: bool,
    /// The sender takes the controlled role.
    pub controlled: bool,
    /// The priority that the sender would have as a candidate.
    pub priority: Option<u32>,
    /// The error code of an error response.
    pub error_code: Option<u16>,
    /// Our address as the other side sees it.
    pub mapped_address: Option<SocketAddr>,
    /// Where MESSAGE-INTEGRITY begins, and its value.
    integrity: Option<(usize, [u8; 20])>,
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a Binding message; `None` if it is none or if its fingerprint is wrong or missing.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Self::read(bytes)
            .filter(|(_, has_fingerprint)| *has_fingerprint)
            .map(|(message, _)| message)
    }

    /// Reads a Binding message of a STUN server, which may have no fingerprint; `None` if it is none or if that is wrong.
    #[must_use]
    pub fn parse_of_server(bytes: &'a [u8]) -> Option<Self> {
        Self::read(bytes).map(|(message, _)| message)
    }

    /// The message, and whether it has a fingerprint.
    fn read(bytes: &'a [u8]) -> Option<(Self, bool)> {
        let (class, transaction) = parse_header(bytes)?;
        let mut message = Self {
            class,
            transaction,
            username: None,
            use_candidate: false,
            controlling: false,
            controlled: false,
            priority: None,
            error_code: None,
            mapped_address: None,
            integrity: None,
            bytes,
        };
        let mut at = HEADER;
        let mut has_fingerprint = false;
        while at < bytes.len() {
            let head = bytes.get(at..at + 4)?;
            let kind = u16::from_be_bytes([head[0], head[1]]);
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            let value = bytes.get(at + 4..at + 4 + length)?;
            if kind == FINGERPRINT {
                has_fingerprint = fingerprint_holds(&bytes[..at], value);
                if !has_fingerprint {
                    return None;
                }
                break;
            }
            // RFC 8489 section 14.5: what follows the integrity is not protected, so it is not believed.
            if message.integrity.is_none() {
                message.take(at, kind, value)?;
            }
            at += 4 + length.next_multiple_of(4);
        }
        Some((message, has_fingerprint))
    }

    fn take(&mut self, at: usize, kind: u16, value: &'a [u8]) -> Option<()> {
        match kind {
            USERNAME => self.username = Some(std::str::from_utf8(value).ok()?),
            USE_CANDIDATE => self.use_candidate = true,
            ICE_CONTROLLING => self.controlling = true,
            ICE_CONTROLLED => self.controlled = true,
            MESSAGE_INTEGRITY => self.integrity = Some((at, value.try_into().ok()?)),
            XOR_MAPPED_ADDRESS => self.mapped_address = xor_address(value, &self.transaction),
            PRIORITY => self.priority = Some(u32::from_be_bytes(value.try_into().ok()?)),
            ERROR_CODE => {
                let code = value.get(2..4)?;
                self.error_code = Some(u16::from(code[0] & 7) * 100 + u16::from(code[1]));
            }
            _ => {}
        }
        Some(())
    }

    /// Whether it was made by someone who knows `password`.
    #[must_use]
    pub fn is_from_holder_of(&self, password: &str) -> bool {
        let Some((at, value)) = self.integrity else { return false };
        let digest = integrity(&self.bytes[..at], password);
        constant_time::verify_slices_are_equal(digest.as_ref(), &value).is_ok()
    }
}

fn parse_header(bytes: &[u8]) -> Option<(Class, Transaction)> {
    let header = bytes.get(..HEADER)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let cookie = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    if cookie != MAGIC_COOKIE || length != bytes.len() - HEADER || !length.is_multiple_of(4) {
        return None;
    }
    let class = match u16::from_be_bytes([header[0], header[1]]) {
        0x0001 => Class::Request,
        0x0011 => Class::Indication,
        0x0101 => Class::Success,
        0x0111 => Class::Error,
        _ => return None,
    };
    Some((class, header[8..20].try_into().ok()?))
}

fn fingerprint_holds(before: &[u8], value: &[u8]) -> bool {
    value == (CRC.checksum(before) ^ FINGERPRINT_XOR).to_be_bytes()
}

/// HMAC over `before` with the length field as if the message ended with the integrity.
fn integrity(before: &[u8], password: &str) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let length = (before.len() - HEADER + 24) as u16;
    let mut context = hmac::Context::with_key(&key);
    context.update(&before[..2]);
    context.update(&length.to_be_bytes());
    context.update(&before[4..]);
    context.sign()
}

/// Undoes or does the exclusive-or of an address (RFC 8489 section 14.2).
fn xor_address(value: &[u8], transaction: &Transaction) -> Option<SocketAddr> {
    let port = u16::from_be_bytes([*value.get(2)?, *value.get(3)?]) ^ (MAGIC_COOKIE >> 16) as u16;
    let mut mask = [0; 16];
    mask[..4].copy_from_slice(&MAGIC_COOKIE.to_be_bytes());
    mask[4..].copy_from_slice(transaction);
    let ip = match (value[1], &value[4..]) {
        (1, address) => {
            let mut bytes: [u8; 4] = address.try_into().ok()?;
            bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
            IpAddr::from(bytes)
        }
        (2, address) => {
            let mut bytes: [u8; 16] = address.try_into().ok()?;
            bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Writes a message.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn new(kind: u16, transaction: &Transaction) -> Self {
        let mut bytes = Vec::with_capacity(160);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(MAGIC_COOKIE.to_be_bytes());
        bytes.extend(transaction);
        Self { bytes }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend(kind.to_be_bytes());
        self.bytes.extend((value.len() as u16).to_be_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn set_length(&mut self, length: usize) {
        self.bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    }

    fn finish(mut self, password: &str) -> Vec<u8> {
        let digest = integrity(&self.bytes, password);
        self.attribute(MESSAGE_INTEGRITY, digest.as_ref());
        self.finish_with_fingerprint()
    }

    fn finish_with_fingerprint(mut self) -> Vec<u8> {
        self.set_length(self.bytes.len() - HEADER + 8);
        let check = CRC.checksum(&self.bytes) ^ FINGERPRINT_XOR;
        self.attribute(FINGERPRINT, &check.to_be_bytes());
        self.bytes
    }
}

/// The role of who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It nominates, this time or another.
    Controlling {
        /// Its number, for a conflict of roles.
        tie_breaker: u64,
        /// Whether it wants the way that the check goes.
        nominates: bool,
    },
    /// It follows.
    Controlled {
        /// Its number, for a conflict of roles.
        tie_breaker: u64,
    },
}

/// A question to a STUN server: which address it sees.
#[must_use]
pub fn question(transaction: &Transaction) -> Vec<u8> {
    Writer::new(0x0001, transaction).finish_with_fingerprint()
}

/// A connectivity check (RFC 8445 section 7.1), which may nominate the way that it goes.
#[must_use]
pub fn request(
    transaction: &Transaction,
    username: &str,
    password: &str,
    priority: u32,
    role: Role,
) -> Vec<u8> {
    let mut writer = Writer::new(0x0001, transaction);
    writer.attribute(USERNAME, username.as_bytes());
    match role {
        Role::Controlling { tie_breaker, nominates } => {
            writer.attribute(ICE_CONTROLLING, &tie_breaker.to_be_bytes());
            if nominates {
                writer.attribute(USE_CANDIDATE, &[]);
            }
        }
        Role::Controlled { tie_breaker } => {
            writer.attribute(ICE_CONTROLLED, &tie_breaker.to_be_bytes());
        }
    }
    writer.attribute(PRIORITY, &priority.to_be_bytes());
    writer.finish(password)
}

/// The answer to a check: the address that it came from.
#[must_use]
pub fn success(transaction: &Transaction, from: SocketAddr, password: &str) -> Vec<u8> {
    let mut value = vec![0, if from.is_ipv4() { 1 } else { 2 }];
    value.extend(from.port().to_be_bytes());
    match from.ip() {
        IpAddr::V4(ip) => value.extend(ip.octets()),
        IpAddr::V6(ip) => value.extend(ip.octets()),
    }
    // Exclusive-or is its own inverse: reading the plain address gives the hidden one.
    let hidden = xor_address(&value, transaction);
    if let Some(hidden) = hidden {
        value.truncate(2);
        value.extend(hidden.port().to_be_bytes());
        match hidden.ip() {
            IpAddr::V4(ip) => value.extend(ip.octets()),
            IpAddr::V6(ip) => value.extend(ip.octets()),
        }
    }
    let mut writer = Writer::new(0x0101, transaction);
    writer.attribute(XOR_MAPPED_ADDRESS, &value);
    writer.finish(password)
}

/// The answer to a check of someone who takes the role that only we can have (RFC 8445 section 7.3.1.1).
#[must_use]
pub fn role_conflict(transaction: &Transaction, password: &str) -> Vec<u8> {
    let mut writer = Writer::new(0x0111, transaction);
    writer.attribute(ERROR_CODE, b"\0\0\x04\x57Role Conflict");
    writer.finish(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5769 section 2.1: a sample request, made by others.
    const SAMPLE_REQUEST: &str = "000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74\
        002400046e0001ff80290008932ff9b151263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5\
        b2d3f249c1b571a280280004e57a3bcf";
    /// RFC 5769 section 2.2 and 2.3: sample responses with 192.0.2.1 and 2001:db8:1234:5678:11:2233:4455:6677.
    const SAMPLE_IPV4: &str = "0101003c2112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220\
        002000080001a147e112a643000800142b91f599fd9e90c38c7489f92af9ba53f06be7d780280004c07d4c96";
    const SAMPLE_IPV6: &str = "010100482112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220\
        002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d900080014a382954e4be67bf11784c97c8292c275bfe3ed4180280004\
        c8fb0b4c";
    const PASSWORD: &str = "VOkJxbRl1RmTxUk/WvJxBt";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    #[test]
    fn samples_of_the_standard_are_read() {
        let sample = bytes(SAMPLE_REQUEST);
        let request = Message::parse(&sample).unwrap();
        assert_eq!((request.class, request.username), (Class::Request, Some("evtj:h6vY")));
        assert!(request.controlled && !request.controlling && !request.use_candidate);
        assert!(request.is_from_holder_of(PASSWORD));
        assert!(!request.is_from_holder_of("another"));
        let (four, six) = (bytes(SAMPLE_IPV4), bytes(SAMPLE_IPV6));
        for (sample, address) in
            [(&four, "192.0.2.1:32853"), (&six, "[2001:db8:1234:5678:11:2233:4455:6677]:32853")]
        {
            let response = Message::parse(sample).unwrap();
            assert_eq!(response.class, Class::Success);
            assert_eq!(response.mapped_address, Some(address.parse().unwrap()));
            assert!(response.is_from_holder_of(PASSWORD));
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let role = Role::Controlling { tie_breaker: 2, nominates: true };
        let request = request(&[3; 12], "host:client", PASSWORD, 1, role);
        assert!(Message::parse(&request).unwrap().is_from_holder_of(PASSWORD));
        for at in 0..request.len() {
            let mut changed = request.clone();
            changed[at] ^= 1;
            let believed =
                Message::parse(&changed).is_some_and(|message| message.is_from_holder_of(PASSWORD));
            assert!(!believed, "byte {at}");
        }
    }

    #[test]
    fn answers_are_read_as_written() {
        for address in ["10.1.2.3:4000", "[fe80::1]:5"] {
            let address: SocketAddr = address.parse().unwrap();
            let response = success(&[9; 12], address, PASSWORD);
            let read = Message::parse(&response).unwrap();
            assert_eq!((read.class, read.mapped_address), (Class::Success, Some(address)));
        }
        let refusal = role_conflict(&[9; 12], PASSWORD);
        assert_eq!(Message::parse(&refusal).unwrap().error_code, Some(487));
    }
}
