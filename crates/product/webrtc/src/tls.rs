//! TLS of signalling: the host's certificate, and how our client knows it.
//!
//! Browsers give game controllers and locks of pointer and keyboard to pages of secure origins alone, so a host has a certificate
//! of its own where others reach it. No authority vouches for that one: a person compares its fingerprint once, and our client
//! is told it by the link.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | valid for | 825 days | Apple's systems refuse certificates of servers that are valid for longer, whoever made them |
//! | made anew | 30 days before its end | at a start of the host |
//! | key | ECDSA P-256 | all browsers take it |
//! | names and addresses | 64 | those of one machine |

use crate::identity::Fingerprint;
use crate::private_file;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const DAY_S: u64 = 86_400;
const VALID_DAYS: u64 = 825;
const RENEWED_DAYS: u64 = 30;
const MAX_NAMES: usize = 64;
/// The explanation before the certificate, which readers of PEM pass over (RFC 7468 section 5.2).
const UNTIL: &str = "Made by gameway; valid until (seconds since 1970): ";

/// A host's certificate with its key.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
    fingerprint: Fingerprint,
}

impl ServerIdentity {
    /// From files in PEM; the chain begins with the host's own certificate.
    ///
    /// # Errors
    /// If one cannot be read, or they do not belong together; the error names the file.
    pub fn read(chain: &Path, key: &Path) -> io::Result<Self> {
        let wrong = |file: &Path, why: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("\"{}\": {why}", file.display()))
        };
        let certificates = CertificateDer::pem_file_iter(chain)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(chain, error.to_string()))?;
        let Some(own) = certificates.first() else {
            return Err(wrong(chain, "it has no certificate in PEM".to_owned()));
        };
        let (certificate, fingerprint) = (own.clone(), Fingerprint::of(own));
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| wrong(key, format!("no private key: {error}")))?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(certificates, private)
            })
            .map_err(|error| wrong(key, format!("not the key of that certificate: {error}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), certificate, fingerprint })
    }

    /// The machine's own from this file, which is made for these names and addresses if it is not there or near its end.
    ///
    /// # Errors
    /// If it cannot be made, written or read.
    pub fn own(file: &Path, names: &[String]) -> io::Result<Self> {
        let now = since_1970();
        let lock = private_file::lock(file)?;
        let is_good = valid_until(file)?.is_none_or(|until| until > now + RENEWED_DAYS * DAY_S);
        if !file.exists() || !is_good {
            private_file::put(file, &make(names, now).map_err(io::Error::other)?)?;
        }
        drop(lock);
        Self::read(file, file)
    }

    /// SHA-256 of the certificate.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// For which of these names and addresses the certificate is, and for which it is not; what can be no name of a server is
    /// left out.
    #[must_use]
    pub fn split<'a>(&self, names: &'a [String]) -> (Vec<&'a str>, Vec<&'a str>) {
        let own = ParsedCertificate::try_from(&self.certificate);
        let is_for = |name: &ServerName<'_>| {
            own.as_ref().is_ok_and(|own| verify_server_name(own, name).is_ok())
        };
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for text in names {
            match ServerName::try_from(text.as_str()) {
                Ok(name) if is_for(&name) => known.push(text.as_str()),
                Ok(_) => others.push(text.as_str()),
                Err(_) => {}
            }
        }
        (known, others)
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The end of a certificate of ours; `None` of another's, or where there is no file.
fn valid_until(file: &Path) -> io::Result<Option<u64>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(text.lines().next().and_then(|line| line.strip_prefix(UNTIL)?.parse().ok()))
}

/// A certificate and its key, in PEM.
fn make(names: &[String], now: u64) -> Result<String, rcgen::Error> {
    let is_plain = |name: &&String| name.is_ascii() && !name.is_empty();
    let names: Vec<String> = names.iter().filter(is_plain).take(MAX_NAMES).cloned().collect();
    let until = now + VALID_DAYS * DAY_S;
    let mut params = CertificateParams::new(names)?;
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    // A device's clock may be behind by a day.
    params.not_before = epoch + Duration::from_secs(now.saturating_sub(DAY_S));
    params.not_after = epoch + Duration::from_secs(until - DAY_S);
    params.distinguished_name.push(DnType::CommonName, "Gameway host");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(format!("{UNTIL}{until}\n{}{}", certificate.pem(), key.serialize_pem()))
}

#[expect(clippy::disallowed_methods, reason = "a certificate is valid by the calendar")]
fn since_1970() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// How a client knows the host: by its certificate's fingerprint, or else by the authorities that the system trusts.
pub(crate) fn connector(pinned: Option<Fingerprint>) -> io::Result<TlsConnector> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match pinned {
        Some(certificate) => {
            let algorithms = provider().signature_verification_algorithms;
            let verifier = Arc::new(PinnedVerifier { certificate, algorithms });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        None => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Takes one certificate and no other. That the host has its key is checked as always.
#[derive(Debug)]
struct PinnedVerifier {
    certificate: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Fingerprint::of(own) == self.certificate {
            return Ok(ServerCertVerified::assertion());
        }
        let why = "the host's certificate is not that of the link: it has a new one, or somebody stands between";
        Err(rustls::Error::General(why.to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, own, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, own, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("gameway-tls-{name}-{}", std::process::id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_certificate_is_made_once_and_again_before_its_end() {
        let folder = Folder::new("once");
        let file = folder.0.join("certificate.pem");
        let names = ["game-box", "192.0.2.7", "2001:db8::7", "gäme", ""].map(str::to_owned);
        let own = || ServerIdentity::own(&file, &names).expect("a certificate").fingerprint();
        let first = own();
        assert_eq!(own(), first);
        assert_eq!(file.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        let identity = ServerIdentity::own(&file, &names).expect("a certificate");
        let others = ["192.0.2.8", "2001:db8::8", "box"].map(str::to_owned);
        let known = vec!["game-box", "192.0.2.7", "2001:db8::7"];
        assert_eq!(identity.split(&names), (known, vec![]));
        assert_eq!(identity.split(&others), (vec![], vec!["192.0.2.8", "2001:db8::8", "box"]));
        let soon = since_1970() + RENEWED_DAYS * DAY_S - 1;
        let text = std::fs::read_to_string(&file).expect("text");
        let (_, rest) = text.split_once('\n').expect("lines");
        std::fs::write(&file, format!("{UNTIL}{soon}\n{rest}")).expect("written");
        assert_ne!(own(), first);
        // What somebody else put there stays.
        std::fs::write(&file, rest).expect("written");
        assert_eq!(own(), first);
        std::fs::write(&file, "broken").expect("written");
        let told = ServerIdentity::own(&file, &names).expect_err("broken").to_string();
        assert!(told.contains("certificate.pem\": "), "{told}");
        assert_eq!(std::fs::read_to_string(&file).expect("text"), "broken");
    }

    #[test]
    fn files_that_do_not_belong_together_are_named() {
        let folder = Folder::new("pairs");
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let [one, two, empty] = ["one", "two", "empty"].map(|name| folder.0.join(name));
        for file in [&one, &two] {
            std::fs::write(file, make(&["localhost".to_owned()], 0).expect("made"))
                .expect("written");
        }
        std::fs::write(&empty, "").expect("written");
        let read = |chain: &Path, key: &Path| {
            ServerIdentity::read(chain, key).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(read(&one, &one), Ok(()));
        for (chain, key, named, why) in [
            (&one, &two, "two", "not the key of that certificate"),
            (&empty, &one, "empty", "no certificate"),
            (&one, &empty, "empty", "no private key"),
        ] {
            let told = read(chain, key).expect_err(why);
            assert!(told.contains(&format!("/{named}\": ")) && told.contains(why), "{told}");
        }
    }
}
