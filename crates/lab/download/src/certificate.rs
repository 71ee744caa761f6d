//! The certificate of a server: self-signed, for one run, which its client trusts alone.

use crate::DownloadError;
use rcgen::{CertifiedKey, generate_simple_self_signed};

/// The name that a client expects in it.
pub const SERVER_NAME: &str = "gameway";

/// A certificate and its key, in DER.
pub struct Identity {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

impl Identity {
    /// A new one.
    pub fn new() -> Result<Self, DownloadError> {
        let names = vec![SERVER_NAME.to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).map_err(DownloadError::quic)?;
        Ok(Self { certificate: cert.der().to_vec(), key: signing_key.serialize_der() })
    }
}
