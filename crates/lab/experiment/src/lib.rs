//! What a run is, whoever drives it: its specification ([`spec`]), what that must satisfy ([`check`]), the parts
//! of the path that are built from it ([`build`]), and the tables of what they do ([`Recorder`]).
//!
//! The simulator and the live link are its users; neither clock nor network is here.
//!
//! # Examples
//! A driver has packets of its own. It checks a specification, and builds the network of its path:
//! ```
//! use gameway_experiment::build::{self, FlowWay, NetworkParts, Routes};
//! use gameway_experiment::{Registry, RunSpec, check};
//! use gameway_path::{FlowId, Header, Journey, NetworkPacket, PathPacket};
//! use gameway_units::{Bytes, Ecn, Instant, Rate};
//!
//! struct Packet {
//!     ecn: Ecn,
//!     journey: Journey,
//! }
//!
//! impl PathPacket for Packet {
//!     fn wire_size(&self) -> Bytes {
//!         Bytes::new(1200)
//!     }
//!     fn flow(&self) -> FlowId {
//!         FlowId(0)
//!     }
//!     fn header(&self) -> Header {
//!         Header::numbered(0)
//!     }
//!     fn ecn(&self) -> Ecn {
//!         self.ecn
//!     }
//!     fn set_ecn(&mut self, ecn: Ecn) {
//!         self.ecn = ecn;
//!     }
//! }
//!
//! impl NetworkPacket for Packet {
//!     fn journey(&self) -> &Journey {
//!         &self.journey
//!     }
//!     fn journey_mut(&mut self) -> &mut Journey {
//!         &mut self.journey
//!     }
//! }
//!
//! let text = r#"{
//!     "seed": 1, "duration": "10 s", "ping": { "interval": "100 ms" },
//!     "path": { "capacity": "25 Mb/s", "base_rtt": "16 ms", "queue": { "kind": "codel", "size": "2 bdp" } }
//! }"#;
//! let registry = Registry::<Packet>::standard();
//! let spec: RunSpec = text.parse()?;
//! check::check(registry.known(), &spec)?;
//!
//! let names = build::flow_names(&spec);
//! let flows: Vec<FlowWay<'_>> = build::ways(&spec)
//!     .zip(&names)
//!     .map(|(way, name)| FlowWay { name, way, station: 1 })
//!     .collect();
//! let (path, seed) = (&spec.path, spec.seed);
//! let parts = NetworkParts { registry: &registry, path, seed, stalls: None, flows: &flows };
//! let network = parts.network(&Routes::new(path), build::links(path)?)?;
//! assert_eq!(network.link(0).nominal_capacity(Instant::ZERO), Rate::from_mbps(25));
//!
//! // What cannot be run is refused by its field, with what is allowed.
//! let wrong: RunSpec = text.replace("codel", "coddle").parse()?;
//! let refused = check::check(registry.known(), &wrong).unwrap_err().to_string();
//! assert!(refused.starts_with("path.queue.kind: unknown queue \"coddle\"; known are "), "{refused}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attached;
pub mod build;
pub mod check;
mod error;
mod gateway;
pub mod random;
mod recognition;
mod recorder;
mod registry;
pub mod spec;

pub use attached::Attached;
pub use error::{RunError, read, spec_error};
pub use gateway::{FlowOf, HomeGateway};
pub use recognition::Recognition;
pub use recorder::{FlowTotals, Recorded, Recorder, Totals, intern};
pub use registry::{Known, Registry};
pub use spec::RunSpec;
