//! The certificate by which the other side knows us: self-signed, its fingerprint is in the session
//! description (RFC 8122 section 5).

use crate::error::WebrtcError;
use dimpl::DtlsCertificate;
use std::fmt;

/// A certificate with its key. One may serve many sessions.
#[derive(Clone)]
pub struct Identity {
    pub(crate) certificate: DtlsCertificate,
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({})", self.fingerprint().as_text())
    }
}

impl Identity {
    /// Makes one (ECDSA P-256, a year valid). Reads the system's clock and random numbers: for drivers.
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn generate() -> Result<Self, WebrtcError> {
        let certificate = dimpl::certificate::generate_self_signed_certificate()
            .map_err(|error| WebrtcError::layer("certificate", error))?;
        Ok(Self { certificate })
    }

    /// The fingerprint of the certificate.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate.certificate)
    }
}

/// SHA-256 of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a certificate in DER.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }

    /// From "AB:CD:...", in any case of letters; `None` if it is not 32 bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| {
                part.len() == 2 && part.bytes().all(|letter| letter.is_ascii_hexdigit())
            })?;
            *byte = u8::from_str_radix(part, 16).ok()?;
        }
        parts.next().is_none().then_some(Self(bytes))
    }

    /// From 64 hexadecimal digits, as a link has it.
    #[must_use]
    pub fn parse_word(word: &str) -> Option<Self> {
        let pairs: Vec<&str> =
            word.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect();
        Self::parse(&pairs.join(":"))
    }

    /// As a link has it.
    #[must_use]
    pub fn as_word(&self) -> String {
        self.0.map(|byte| format!("{byte:02x}")).concat()
    }

    /// As in a session description.
    #[must_use]
    pub fn as_text(&self) -> String {
        self.0.map(|byte| format!("{byte:02X}")).join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_reads_what_it_writes_and_nothing_else() {
        let print = Fingerprint::of(b"certificate");
        let text = print.as_text();
        assert_eq!(Fingerprint::parse(&text), Some(print));
        assert_eq!(Fingerprint::parse(&text.to_lowercase()), Some(print));
        assert_eq!(Fingerprint::parse_word(&print.as_word()), Some(print));
        assert_eq!(Fingerprint::parse_word(&print.as_word()[1..]), None);
        assert_eq!(Fingerprint::parse_word("ä"), None);
        assert_eq!(Fingerprint::parse(&text[3..]), None);
        assert_eq!(Fingerprint::parse(&format!("{text}:00")), None);
        assert_eq!(Fingerprint::parse(&text.replace(':', "")), None);
        assert_eq!(Fingerprint::parse(&format!("+A{}", &text[2..])), None);
    }
}
