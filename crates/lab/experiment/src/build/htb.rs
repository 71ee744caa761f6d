//! From the classes of an experiment file to an HTB.

use super::queues;
use crate::spec::{ClassSpec, HtbSpec, LinkLayerSpec};
use crate::{Registry, RunError, spec_error};
use gameway_path::{
    Classifier, DropTail, Htb, HtbClass, HtbConfig, Limit, LinkLayer, PathPacket, Queue, Rule,
};
use gameway_units::{Duration, QueueSize};

/// The classes of an HTB in their order, checked, and what its parts are made from.
struct Plan<'a> {
    classes: Vec<(&'a str, &'a ClassSpec)>,
    config: HtbConfig,
    classifier: Classifier,
}

/// Whether there can be such an HTB; the queues of its classes are checked elsewhere.
pub fn check(field: &str, spec: &HtbSpec) -> Result<(), RunError> {
    plan(field, spec).map(drop)
}

/// The queue of the bottleneck called `link` in a run of this seed.
pub fn htb<P: PathPacket + 'static>(
    registry: &Registry<P>,
    (spec, class_size): (&HtbSpec, QueueSize),
    (base_rtt, seed): (Duration, u64),
    link: &str,
) -> Result<Htb<P>, RunError> {
    let Plan { classes, config, classifier } = plan(link, spec)?;
    let mut failure = None;
    let made = Htb::new(&config, classifier, |number, class| -> Box<dyn Queue<P>> {
        let (name, own) = classes[number];
        let size = own.queue.as_ref().map_or(class_size, |queue| queues::size(registry, queue));
        let limit = Limit::of(size, class.rate, base_rtt);
        let Some(queue) = &own.queue else { return Box::new(DropTail::new(limit)) };
        let part = format!("{link}/{name}");
        let made = queues::queue(registry, queue, limit, (base_rtt, seed), &part);
        made.unwrap_or_else(|error| {
            failure = Some(error);
            Box::new(DropTail::new(limit))
        })
    });
    match failure {
        Some(error) => Err(error),
        None => made
            .map(|queue| queue.with_link_layer(&link_layer(spec)))
            .map_err(|error| spec_error(link, error.to_string())),
    }
}

fn link_layer(spec: &HtbSpec) -> LinkLayer {
    let default = LinkLayer::default();
    LinkLayer {
        overhead: spec.overhead.unwrap_or(default.overhead),
        min: spec.mpu.unwrap_or(default.min),
        atm: matches!(spec.linklayer, LinkLayerSpec::Atm | LinkLayerSpec::Adsl),
        mtu: spec.mtu.unwrap_or(default.mtu),
        entries: spec.tsize.unwrap_or(default.entries),
    }
}

fn plan<'a>(field: &str, spec: &'a HtbSpec) -> Result<Plan<'a>, RunError> {
    let mut classes: Vec<(&str, &ClassSpec)> =
        spec.class.iter().map(|(name, class)| (name.as_str(), class)).collect();
    classes.sort_by_key(|&(name, class)| (class.order, name));
    let tree = Names { field, classes: &classes };
    let made = classes.iter().map(|&(name, class)| tree.class(name, class));
    let config = HtbConfig { rate: spec.rate, classes: made.collect::<Result<_, _>>()? };
    config.check().map_err(|error| match error.class {
        Some(name) => tree.refuse(&name, error.field, error.why),
        None => spec_error(format!("{field}.{}", error.field), error.why),
    })?;
    let default = tree.default(&spec.default)?;
    let rules = tree.rules(&spec.default)?;
    Ok(Plan { config, classifier: Classifier::new(rules, default), classes })
}

/// The classes by name, and what is refused of them.
struct Names<'a> {
    field: &'a str,
    classes: &'a [(&'a str, &'a ClassSpec)],
}

impl Names<'_> {
    fn refuse(&self, class: &str, part: &str, why: impl Into<String>) -> RunError {
        spec_error(format!("{}.class.{class}.{part}", self.field), why)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|&(other, _)| other == name)
    }

    fn known(&self) -> String {
        self.classes.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ")
    }

    fn has_children(&self, name: &str) -> bool {
        self.classes.iter().any(|(_, class)| class.parent.as_deref() == Some(name))
    }

    fn class(&self, name: &str, spec: &ClassSpec) -> Result<HtbClass, RunError> {
        let parent = match &spec.parent {
            None => None,
            Some(parent) => Some(self.number(parent).ok_or_else(|| {
                let why = format!("\"{parent}\" is no class; known are {}", self.known());
                self.refuse(name, "parent", why)
            })?),
        };
        self.check_inner(name, spec)?;
        let rate = spec.rate;
        let ceil = spec.ceil.unwrap_or(rate);
        Ok(HtbClass {
            parent,
            ceil,
            burst: spec.burst.unwrap_or(HtbClass::default_burst(rate)),
            cburst: spec.cburst.unwrap_or(HtbClass::default_burst(ceil)),
            priority: spec.priority.unwrap_or(0),
            quantum: spec.quantum.unwrap_or(HtbClass::default_quantum(rate)),
            ..HtbClass::new(name, rate)
        })
    }

    /// What an inner class has no use for.
    fn check_inner(&self, name: &str, spec: &ClassSpec) -> Result<(), RunError> {
        if !self.has_children(name) {
            return Ok(());
        }
        let given = [
            ("match", !spec.rules.0.is_empty()),
            ("queue", spec.queue.is_some()),
            ("priority", spec.priority.is_some()),
            ("quantum", spec.quantum.is_some()),
        ];
        match given.into_iter().find(|&(_, is_given)| is_given) {
            Some((part, _)) => {
                let why =
                    format!("has no meaning: \"{name}\" has children, and only they hold packets");
                Err(self.refuse(name, part, why))
            }
            None => Ok(()),
        }
    }

    fn default(&self, name: &str) -> Result<usize, RunError> {
        let field = format!("{}.default", self.field);
        match self.number(name) {
            None => {
                let why = format!("\"{name}\" is no class; known are {}", self.known());
                Err(spec_error(field, why))
            }
            Some(_) if self.has_children(name) => {
                let why = format!("\"{name}\" has children: packets go to a class without");
                Err(spec_error(field, why))
            }
            Some(number) => Ok(number),
        }
    }

    /// All rules in their order; each must match something, and something must lead to each leaf.
    fn rules(&self, default: &str) -> Result<Vec<(Rule, usize)>, RunError> {
        let mut rules: Vec<(Rule, usize)> = Vec::new();
        for (number, &(name, class)) in self.classes.iter().enumerate() {
            if class.rules.0.is_empty() && name != default && !self.has_children(name) {
                let why = "is missing: without a rule no packet comes here";
                return Err(self.refuse(name, "match", why));
            }
            for (rule_name, rule) in &class.rules.0 {
                let dot = if rule_name.is_empty() { "" } else { "." };
                let part = format!("match{dot}{rule_name}");
                let rule = rule.rule();
                if rule == Rule::default() {
                    let why = "says nothing, and would take every packet: that is for the default";
                    return Err(self.refuse(name, &part, why));
                }
                if let Some(why) = rule.contradiction() {
                    return Err(self.refuse(name, &part, format!("can never match: {why}")));
                }
                if let Some((_, other)) = rules.iter().find(|(other, _)| other.covers(&rule)) {
                    let other = self.classes[*other].0;
                    let why = format!(
                        "can never match: a rule of \"{other}\" takes all that it would take, before it"
                    );
                    return Err(self.refuse(name, &part, why));
                }
                rules.push((rule, number));
            }
        }
        Ok(rules)
    }
}
