//! From the specification of a gateway to the gateway.

use crate::spec::{
    FairnessSpec, GatewaySpec, LeftoverSpec, SapLawSpec, StepSpec, Switch, Text, VoapSpec,
};
use gameway_gateway::{Fairness, Gateway, Leftover, SapLaw, SapLawConfig, Step, Voap, VoapConfig};

/// The gateway, if there is one that does more than forward.
#[must_use]
pub fn gateway(spec: &GatewaySpec) -> Option<Box<dyn Gateway>> {
    match spec {
        GatewaySpec::None(_) => None,
        GatewaySpec::Voap(spec) => Some(Box::new(Voap::new(voap(spec)))),
        GatewaySpec::SapLaw(spec) => Some(Box::new(SapLaw::new(sap_law(spec)))),
    }
}

/// What is given, or `otherwise`.
fn or<T: Copy>(given: Option<Text<T>>, otherwise: T) -> T {
    given.map_or(otherwise, |text| text.0)
}

/// See [`VoapSpec`].
#[must_use]
pub fn voap(spec: &VoapSpec) -> VoapConfig {
    let default = VoapConfig::default();
    VoapConfig {
        alpha: or(spec.alpha, default.alpha),
        beta: or(spec.beta, default.beta),
        period: or(spec.period, default.period),
        memory: or(spec.memory, default.memory),
        step: match spec.step {
            None | Some(StepSpec::Segment) => Step::Segment,
            Some(StepSpec::Backlog) => Step::Backlog,
        },
        fairness: match spec.fairness {
            None | Some(FairnessSpec::Windows) => Fairness::Windows,
            Some(FairnessSpec::Rates) => Fairness::Rates,
        },
        redistribution: spec.redistribution != Some(Switch::Off),
        leftover: match spec.leftover {
            None | Some(LeftoverSpec::HandedOn) => Leftover::HandedOn,
            Some(LeftoverSpec::Lost) => Leftover::Lost,
        },
    }
}

/// See [`SapLawSpec`].
#[must_use]
pub fn sap_law(spec: &SapLawSpec) -> SapLawConfig {
    let default = SapLawConfig::new(spec.capacity.0);
    SapLawConfig {
        rtt: spec.rtt.map(|text| text.0),
        period: or(spec.period, default.period),
        ..default
    }
}
