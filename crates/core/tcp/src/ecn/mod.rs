//! ECN of a connection: what is agreed on in the handshake.
//!
//! Source: RFC 3168 section 6.1.1, RFC 9768 section 3.1 (its draft -34 was at hand).
//! Model: three flags of the TCP header, AE, CWR and ECE, read as a number. The client asks with the
//! best feedback that it can give; the server answers with the best that both can, and with accurate
//! ECN also tells how the SYN arrived. [`EcnReceiver`] feeds back, [`EcnSender`] reads it.
//!
//! | Flags | SYN | SYN-ACK | Origin |
//! |---|---|---|---|
//! | 000 | no ECN | no ECN | RFC 3168 section 6.1.1 |
//! | 011 | classic ECN | the SYN arrived with ECT(1) | RFC 3168 section 6.1.1; RFC 9768 table 2 |
//! | 001 | | classic ECN | RFC 3168 section 6.1.1 |
//! | 111 | accurate ECN | broken: no ECN | RFC 9768 sections 3.1.1 and 3.1.2 |
//! | 010, 100, 110 | accurate ECN | the SYN arrived without ECT, with ECT(0), with CE | RFC 9768 table 2 |
//!
//! | Deviation | Why |
//! |---|---|
//! | a repeated SYN asks for the same again (RFC 9768 section 3.1.4 lets it give up ECN) | no path here drops a packet for its flags |

mod accurate;
mod receiver;
mod sender;

pub(crate) use accurate::Marks;
pub(crate) use receiver::EcnReceiver;
pub(crate) use sender::EcnSender;

use gameway_units::Ecn;

/// How marks are fed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// Not at all: data is not ECN-capable.
    #[default]
    Off,
    /// That there was a mark, until the sender says that it has answered (RFC 3168).
    Classic,
    /// How many marks there were (RFC 9768).
    Accurate,
}

impl EcnMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Classic, Self::Accurate];

    /// The name in experiment files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The flags of a SYN that asks for this.
    const fn syn_flags(self) -> u8 {
        match self {
            Self::Off => 0b000,
            Self::Classic => 0b011,
            Self::Accurate => 0b111,
        }
    }

    /// What a server that can do this agrees to.
    const fn of_syn(self, flags: u8) -> Self {
        match (self, flags) {
            (Self::Off, _) | (_, 0b000) => Self::Off,
            (Self::Classic | Self::Accurate, 0b011) | (Self::Classic, 0b111) => Self::Classic,
            (Self::Classic, _) => Self::Off,
            (Self::Accurate, _) => Self::Accurate,
        }
    }

    /// What a client that asked for this has got.
    const fn of_syn_ack(self, flags: u8) -> Self {
        match (self, flags) {
            (Self::Off, _) | (_, 0b000 | 0b111) => Self::Off,
            (Self::Classic | Self::Accurate, 0b001) | (Self::Accurate, 0b101) => Self::Classic,
            (Self::Classic, _) => Self::Off,
            (Self::Accurate, _) => Self::Accurate,
        }
    }
}

/// How the ECN field of a SYN or SYN-ACK is fed back (RFC 9768 tables 2 and 3).
const fn handshake_code(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EcnMode::{Accurate, Classic, Off};

    /// Table 2 of RFC 9768, each kind of client with each kind of server.
    #[test]
    fn both_ends_agree_on_the_best_that_both_can() {
        for (client, server, agreed) in [
            (Accurate, Accurate, Accurate),
            (Accurate, Classic, Classic),
            (Accurate, Off, Off),
            (Classic, Accurate, Classic),
            (Classic, Classic, Classic),
            (Classic, Off, Off),
            (Off, Accurate, Off),
            (Off, Classic, Off),
        ] {
            let at_server = server.of_syn(client.syn_flags());
            let answer = match at_server {
                Off => 0b000,
                Classic => 0b001,
                Accurate => handshake_code(Ecn::NotEct),
            };
            assert_eq!((at_server, client.of_syn_ack(answer)), (agreed, agreed));
        }
    }

    #[test]
    fn a_name_is_that_of_its_mode_alone() {
        assert_eq!([Off, Classic, Accurate].map(EcnMode::name), ["off", "classic", "accurate"]);
        assert!(EcnMode::ALL.iter().all(|mode| EcnMode::from_name(mode.name()) == Some(*mode)));
        assert_eq!(EcnMode::from_name("on"), None);
    }

    #[test]
    fn unused_flags_mean_what_the_tables_say() {
        // Section 3.1.2: whatever is neither 000 nor 011 asks for accurate ECN.
        for flags in [0b001, 0b010, 0b100, 0b101, 0b110, 0b111] {
            assert_eq!(Accurate.of_syn(flags), Accurate);
        }
        // A SYN-ACK that mirrors the SYN comes from a broken server.
        assert_eq!(Accurate.of_syn_ack(0b111), Off);
        assert_eq!(Classic.of_syn_ack(0b011), Off);
        for arrived in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(Accurate.of_syn_ack(handshake_code(arrived)), Accurate);
        }
    }
}
