//! DTLS 1.2 (RFC 6347) as WebRTC uses it: certificates are checked by fingerprint (RFC 8122), and give the
//! keys of SRTP (RFC 5764).
//!
//! DTLS 1.3 is left out: browsers still offer 1.2, and one version has half the states.

use crate::clock::TimeBase;
use crate::identity::{Fingerprint, Identity};
use crate::srtp::SrtpKeys;
use dimpl::{Config, Dtls, Output};
use gameway_units::{Duration, Instant};
use std::sync::Arc;

/// First retransmission (RFC 6347 section 4.2.4.1 allows less than 1 s for media); doubled each time.
const RETRANSMISSION: Duration = Duration::from_millis(100);
const BUFFER: usize = 4_096;

/// What DTLS has to say.
pub(super) enum DtlsEvent {
    Packet(Vec<u8>),
    Keys(SrtpKeys),
    Connected,
    Data(Vec<u8>),
    WrongFingerprint,
    Closed,
    Failed,
}

/// DTLS of one session.
pub(super) struct DtlsLayer {
    base: TimeBase,
    dtls: Dtls,
    expected: Option<Fingerprint>,
    is_client: bool,
    /// The client begins when it knows where to.
    reachable: bool,
    verified: bool,
    failed: bool,
    deadline: Option<Instant>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for DtlsLayer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "DtlsLayer(verified: {})", self.verified)
    }
}

impl DtlsLayer {
    pub(super) fn new(
        base: TimeBase,
        now: Instant,
        identity: &Identity,
        expected: Option<Fingerprint>,
        is_client: bool,
    ) -> Self {
        let retransmission = RETRANSMISSION.as_nanos().unsigned_abs();
        let config = Config::builder()
            .mtu(1_150)
            .flight_start_rto(std::time::Duration::from_nanos(retransmission))
            .flight_retries(12)
            .build()
            .unwrap_or_default();
        let mut dtls =
            Dtls::new_12(Arc::new(config), identity.certificate.clone(), base.standard(now));
        dtls.set_active(is_client);
        Self {
            base,
            dtls,
            expected,
            is_client,
            reachable: false,
            verified: false,
            failed: false,
            deadline: None,
            buffer: vec![0; BUFFER],
        }
    }

    /// The fingerprint that the other side's description named.
    pub(super) fn expect(&mut self, fingerprint: Option<Fingerprint>) {
        self.expected = fingerprint;
    }

    /// An address is known: the client begins.
    pub(super) fn set_reachable(&mut self, now: Instant) {
        if !self.reachable {
            self.reachable = true;
            if self.is_client {
                self.failed |= self.dtls.handle_timeout(self.base.standard(now)).is_err();
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| self.reachable && !self.failed)
    }

    pub(super) fn handle(&mut self, now: Instant, bytes: &[u8]) {
        let now = self.base.standard(now);
        let result = self.dtls.handle_timeout(now).and_then(|()| self.dtls.handle_packet(bytes));
        self.failed |= result.is_err();
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.failed |= self.dtls.handle_timeout(self.base.standard(now)).is_err();
        }
    }

    /// Encrypts this and takes out what there is: DTLS keeps ten datagrams and fails at one more, and SCTP sends whole windows at once.
    pub(super) fn send(&mut self, bytes: &[u8], events: &mut Vec<DtlsEvent>) {
        if self.verified && !self.failed {
            self.failed |= self.dtls.send_application_data(bytes).is_err();
            self.poll(events);
        }
    }

    pub(super) fn close(&mut self) {
        if !self.failed {
            self.failed |= self.dtls.close().is_err();
        }
    }

    /// Takes out what there is.
    pub(super) fn poll(&mut self, events: &mut Vec<DtlsEvent>) {
        if self.is_client && !self.reachable {
            return;
        }
        loop {
            match self.dtls.poll_output(&mut self.buffer) {
                Output::Packet(bytes) => events.push(DtlsEvent::Packet(bytes.to_vec())),
                Output::BufferTooSmall { needed } if needed <= 1 << 16 => {
                    self.buffer.resize(needed, 0);
                }
                Output::Timeout(when) => {
                    self.deadline = self.base.ours(when);
                    break;
                }
                Output::PeerCert(certificate) => {
                    self.verified = self.expected == Some(Fingerprint::of(certificate));
                    if !self.verified {
                        self.failed = true;
                        events.push(DtlsEvent::WrongFingerprint);
                        return;
                    }
                }
                Output::KeyingMaterial(material, profile) if self.verified => {
                    match SrtpKeys::divide(&material, profile, self.is_client) {
                        Ok(keys) => events.push(DtlsEvent::Keys(keys)),
                        Err(_) => self.failed = true,
                    }
                }
                Output::Connected if self.verified => events.push(DtlsEvent::Connected),
                Output::ApplicationData(bytes) if self.verified => {
                    events.push(DtlsEvent::Data(bytes.to_vec()));
                }
                Output::CloseNotify => events.push(DtlsEvent::Closed),
                _ => self.failed = true,
            }
            if self.failed {
                break;
            }
        }
        if self.failed {
            events.push(DtlsEvent::Failed);
        }
    }
}
