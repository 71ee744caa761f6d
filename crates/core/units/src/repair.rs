//! How a stream answers losses: the word that experiments, sessions and hosts share.

/// How losses of a stream are repaired, beside the share of repair packets that its frames may have anyway.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repair {
    /// Nothing is sent again.
    #[default]
    None,
    /// The receiver asks for what is missing, and the sender sends it again while that is in time.
    Nack,
}
