//! Protection of RTP and RTCP (RFC 3711, RFC 7714) under the keys that DTLS agreed on (RFC 5764).
//!
//! Replayed packets are refused within a window of [`WINDOW`] packets; older ones are refused as well.
//! The library keeps a state for each stream number that it sees, also of forgeries. So a number that has not
//! yet proved itself is tried under a separate context, which is thrown away after [`TRIALS`] failures.

use crate::error::WebrtcError;
use bytes::BytesMut;
use dimpl::{KeyingMaterial, SrtpProfile};
use rtc_srtp::context::Context;
use rtc_srtp::crypto::providers::AwsLcRsCrypto;
use rtc_srtp::option::{srtcp_replay_protection, srtp_replay_protection};
use rtc_srtp::protection_profile::ProtectionProfile;

/// Packets within which order is free and repetition is noticed (RFC 3711 section 3.3.2: at least 64).
pub const WINDOW: usize = 2048;
/// Failures after which the state of forged numbers is forgotten.
const TRIALS: u32 = 64;
/// How many streams of the other side may be.
const MAX_STREAMS: usize = 16;

/// Master keys of both directions; for debugging only: who has them reads the whole session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SrtpKeys {
    /// The profile's name as in RFC 5764 and RFC 7714.
    pub profile: &'static str,
    /// Key and salt of what we send.
    pub local: (Vec<u8>, Vec<u8>),
    /// Key and salt of what the other side sends.
    pub remote: (Vec<u8>, Vec<u8>),
    /// Bytes of the tag on RTP.
    pub tag: usize,
}

impl SrtpKeys {
    /// Divides what DTLS exported (RFC 5764 section 4.2: keys, then salts, the client's first).
    pub(crate) fn divide(
        material: &KeyingMaterial,
        profile: SrtpProfile,
        is_client: bool,
    ) -> Result<Self, WebrtcError> {
        let (name, key, salt, tag) = match profile {
            SrtpProfile::AES128_CM_SHA1_80 => ("SRTP_AES128_CM_HMAC_SHA1_80", 16, 14, 10),
            SrtpProfile::AEAD_AES_128_GCM => ("SRTP_AEAD_AES_128_GCM", 16, 12, 16),
            SrtpProfile::AEAD_AES_256_GCM => ("SRTP_AEAD_AES_256_GCM", 32, 12, 16),
            _ => return Err(WebrtcError::layer("SRTP", "unknown protection profile")),
        };
        if material.len() != 2 * (key + salt) {
            return Err(WebrtcError::layer("SRTP", "keying material of a wrong length"));
        }
        let (keys, salts) = material.split_at(2 * key);
        let client = (keys[..key].to_vec(), salts[..salt].to_vec());
        let server = (keys[key..].to_vec(), salts[salt..].to_vec());
        let (local, remote) = if is_client { (client, server) } else { (server, client) };
        Ok(Self { profile: name, local, remote, tag })
    }

    fn context(&self, (key, salt): &(Vec<u8>, Vec<u8>)) -> Result<Context, WebrtcError> {
        let profile = match self.profile {
            "SRTP_AES128_CM_HMAC_SHA1_80" => ProtectionProfile::Aes128CmHmacSha1_80,
            "SRTP_AEAD_AES_128_GCM" => ProtectionProfile::AeadAes128Gcm,
            _ => ProtectionProfile::AeadAes256Gcm,
        };
        let (rtp, rtcp) = (srtp_replay_protection(WINDOW), srtcp_replay_protection(WINDOW));
        Context::new(key, salt, profile, Some(rtp), Some(rtcp), &AwsLcRsCrypto)
            .map_err(|error| WebrtcError::layer("SRTP", error))
    }
}

/// Which of both a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rtp,
    Rtcp,
}

/// Both directions of a session.
pub(crate) struct Srtp {
    keys: SrtpKeys,
    outbound: Context,
    inbound: Context,
    trial: Context,
    failures: u32,
    /// Streams that have proved themselves.
    known: Vec<(Kind, u32)>,
}

impl std::fmt::Debug for Srtp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Srtp({})", self.keys.profile)
    }
}

impl Srtp {
    pub(crate) fn new(keys: SrtpKeys) -> Result<Self, WebrtcError> {
        Ok(Self {
            outbound: keys.context(&keys.local)?,
            inbound: keys.context(&keys.remote)?,
            trial: keys.context(&keys.remote)?,
            failures: 0,
            known: Vec::new(),
            keys,
        })
    }

    pub(crate) fn keys(&self) -> &SrtpKeys {
        &self.keys
    }

    pub(crate) fn protect_rtp(&mut self, plain: &[u8]) -> Result<Vec<u8>, WebrtcError> {
        self.outbound
            .encrypt_rtp(plain)
            .map(Into::into)
            .map_err(|error| WebrtcError::layer("SRTP", error))
    }

    pub(crate) fn protect_rtcp(&mut self, plain: &[u8]) -> Result<Vec<u8>, WebrtcError> {
        self.outbound
            .encrypt_rtcp(plain)
            .map(Into::into)
            .map_err(|error| WebrtcError::layer("SRTCP", error))
    }

    /// The plain packet; `None` if it is forged, damaged or replayed.
    pub(crate) fn unprotect_rtp(&mut self, protected: &[u8]) -> Option<BytesMut> {
        self.unprotect(Kind::Rtp, ssrc(protected, 8)?, protected)
    }

    /// The plain compound packet; `None` if it is forged, damaged or replayed.
    pub(crate) fn unprotect_rtcp(&mut self, protected: &[u8]) -> Option<BytesMut> {
        self.unprotect(Kind::Rtcp, ssrc(protected, 4)?, protected)
    }

    fn unprotect(&mut self, kind: Kind, ssrc: u32, protected: &[u8]) -> Option<BytesMut> {
        if !self.known.contains(&(kind, ssrc)) {
            if self.known.len() >= MAX_STREAMS {
                return None;
            }
            if decrypt(&mut self.trial, kind, protected).is_none() {
                self.failures += 1;
                if self.failures >= TRIALS {
                    self.failures = 0;
                    self.trial = self.keys.context(&self.keys.remote).ok()?;
                }
                return None;
            }
            self.known.push((kind, ssrc));
        }
        decrypt(&mut self.inbound, kind, protected)
    }
}

fn decrypt(context: &mut Context, kind: Kind, protected: &[u8]) -> Option<BytesMut> {
    match kind {
        Kind::Rtp => context.decrypt_rtp(protected).ok(),
        Kind::Rtcp => context.decrypt_rtcp(protected).ok(),
    }
}

fn ssrc(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
