//! How a stream answers losses: the word that experiments, sessions and hosts share.

use std::fmt;
use std::str::FromStr;

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

impl FromStr for Repair {
    type Err = String;

    /// Parses "none" and "nack".
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "nack" => Ok(Self::Nack),
            _ => Err(format!("{text:?} is no repair; write none or nack")),
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Nack => "nack",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_is_read_as_it_is_written() {
        for repair in [Repair::None, Repair::Nack] {
            assert_eq!(repair.to_string().parse(), Ok(repair));
        }
        let error = "arq".parse::<Repair>().unwrap_err();
        assert!(error.contains("\"arq\"") && error.contains("nack"), "{error}");
    }
}
