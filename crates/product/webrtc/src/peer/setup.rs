//! How a peer begins: a host answers an offer, a client makes one and takes the answer.

use super::Peer;
use super::dtls::DtlsLayer;
use crate::clock::TimeBase;
use crate::data::DataChannels;
use crate::error::WebrtcError;
use crate::ice::{Credentials, Ice, LocalCandidate};
use crate::identity::Identity;
use crate::sdp::{self, Abilities, AnswerTerms, Description, Negotiated, OfferTerms};
use crate::secrets::Secrets;
use gameway_units::{Instant, VideoCodec};
use std::collections::VecDeque;

/// How a host answers.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Our certificate.
    pub identity: Identity,
    /// Where we listen, as clients reach it; the best of each kind first.
    pub candidates: Vec<LocalCandidate>,
    /// Whether we have sound to send.
    pub audio: bool,
    /// Whether we can send H.265, too.
    pub h265: bool,
    /// Whether we send packets again that are asked for.
    pub nack: bool,
    /// Whether we send parity packets to a browser that takes them.
    pub parity: bool,
    /// Whether our frames may refer to others than the one before, which a browser is then told of each.
    pub references: bool,
    /// Lets [`Peer::exported_keys`] tell the keys. For debugging only.
    pub export_keys: bool,
}

/// How a native client offers.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Our certificate.
    pub identity: Identity,
    /// How the video is to be coded.
    pub codec: VideoCodec,
    /// Ask for leave to report arrival times in microseconds.
    pub arrival_times: bool,
    /// Lets [`Peer::exported_keys`] tell the keys. For debugging only.
    pub export_keys: bool,
}

impl Peer {
    /// A host's peer for a client's offer, and the answer to give.
    ///
    /// # Errors
    /// If the offer is not readable, has neither video that we can send nor data, or its `setup` leaves us no role.
    pub fn answer(
        now: Instant,
        config: &HostConfig,
        mut secrets: Secrets,
        offer: &str,
    ) -> Result<(Self, String), WebrtcError> {
        let offer = Description::parse(offer)?;
        if offer.setup == "passive" {
            return Err(WebrtcError::description(
                "a=setup:passive in the offer: the client must be able to begin DTLS (actpass)",
            ));
        }
        let numbers = std::array::from_fn(|_| secrets.number());
        let negotiated = Negotiated::from_offer(
            &offer,
            numbers,
            Abilities {
                h265: config.h265,
                nack: config.nack,
                parity: config.parity,
                references: config.references,
            },
        );
        if negotiated.video.is_none() && !negotiated.data {
            return Err(WebrtcError::description(
                "neither video in H264/90000 with packetization-mode=1 nor a data channel offered",
            ));
        }
        let credentials = Credentials::draw(&mut secrets);
        let text = sdp::answer(
            &offer,
            &AnswerTerms {
                credentials: &credentials,
                fingerprint: config.identity.fingerprint(),
                session: secrets.number(),
                candidates: &config.candidates,
                audio: config.audio,
                negotiated: &negotiated,
            },
        );
        let base = TimeBase::new();
        let dtls = DtlsLayer::new(base, now, &config.identity, offer.fingerprint, false);
        let ice = Ice::controlled(credentials, offer.credentials, &offer.candidates, now, secrets);
        let mut peer = Self::assemble(base, now, ice, dtls, config.export_keys, false);
        peer.negotiated = negotiated;
        Ok((peer, text))
    }

    /// A client's peer, and the offer to send. It sleeps until [`Peer::accept_answer`].
    #[must_use]
    pub fn offer(now: Instant, config: &ClientConfig, mut secrets: Secrets) -> (Self, String) {
        let credentials = Credentials::draw(&mut secrets);
        let text = sdp::offer(&OfferTerms {
            credentials: &credentials,
            fingerprint: config.identity.fingerprint(),
            session: secrets.number(),
            codec: config.codec,
            arrival_times: config.arrival_times,
        });
        let base = TimeBase::new();
        let dtls = DtlsLayer::new(base, now, &config.identity, None, true);
        let ice = Ice::waiting(credentials);
        let mut peer = Self::assemble(base, now, ice, dtls, config.export_keys, true);
        peer.pending = Some((config.identity.clone(), secrets));
        (peer, text)
    }

    /// The client takes the host's answer and begins to connect.
    ///
    /// # Errors
    /// If the answer is not readable, has no address, or does not leave DTLS's client role to us; or if
    /// there was one already.
    pub fn accept_answer(&mut self, now: Instant, answer: &str) -> Result<(), WebrtcError> {
        let answer = Description::parse(answer)?;
        if answer.candidates.is_empty() {
            return Err(WebrtcError::description("no a=candidate with an address in the answer"));
        }
        if answer.setup != "passive" {
            return Err(WebrtcError::description("a=setup:passive missing in the answer"));
        }
        let Some((_, secrets)) = self.pending.take() else {
            return Err(WebrtcError::description("this peer has an answer already"));
        };
        self.negotiated = Negotiated::from_answer(&answer);
        self.dtls.expect(answer.fingerprint);
        let local = self.ice.local.clone();
        self.ice = Ice::controlling(local, answer.credentials, &answer.candidates, now, secrets);
        self.began = now;
        self.handle_timeout(now);
        Ok(())
    }

    fn assemble(
        base: TimeBase,
        now: Instant,
        ice: Ice,
        dtls: DtlsLayer,
        exports_keys: bool,
        is_client: bool,
    ) -> Self {
        Self {
            ice,
            dtls,
            srtp: None,
            data: DataChannels::new(base, is_client),
            negotiated: Negotiated::default(),
            pending: None,
            exports_keys,
            began: now,
            latest: now,
            handshake_done: false,
            connected: false,
            closed: false,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            plain: Vec::with_capacity(1_500),
            refused: 0,
        }
    }
}
