//! What files can name: queue disciplines, gateways, controllers, congestion controls. All are described, listed and
//! refused alike.

use super::{Declared, OptionError, Options, list, read_as, schema};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// The options of something that files can name, and what it is.
pub trait Configuration: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Its name in files.
    const NAME: &'static str;
    /// What it is, in one line.
    const SUMMARY: &'static str;
    /// Where it comes from.
    const SOURCE: &'static str;

    /// Whether the options go together.
    ///
    /// # Errors
    /// The first option that does not go with the others, and why.
    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }
}

/// What is known of something that files can name, without building it.
#[derive(Debug, Clone)]
pub struct Description {
    /// Its name in files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Makes the schema of its options, and perhaps of some that are for somebody else. It is not kept: of all that can be named, a
    /// run names a few.
    pub schema: fn() -> Schema,
}

impl Description {
    /// That of a configuration.
    #[must_use]
    pub fn of<C: Configuration>() -> Self {
        Self { name: C::NAME, summary: C::SUMMARY, source: C::SOURCE, schema: schema::<C> }
    }

    /// That of something whose options nobody declares: it takes any.
    #[must_use]
    pub fn open(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self { name, summary, source, schema: Schema::default }
    }

    /// Its configuration with these options.
    ///
    /// # Errors
    /// The first option that is unknown, of the wrong type, out of bounds, or does not go with the others.
    pub fn read<C: Configuration>(&self, options: &Options) -> Result<C, OptionError> {
        let configuration: C = read_as(&(self.schema)(), options)?;
        configuration.check()?;
        Ok(configuration)
    }

    /// Its options by name.
    #[must_use]
    pub fn options(&self) -> Vec<Declared> {
        list(&(self.schema)())
    }
}

/// One of a [`Catalogue`].
#[derive(Debug, Clone)]
pub struct Entry<F> {
    /// What is known of it.
    pub description: Description,
    /// What makes it of its options.
    pub functions: F,
}

/// What files can name in one place, in alphabetical order.
#[derive(Debug, Clone)]
pub struct Catalogue<F>(Vec<Entry<F>>);

impl<F> Default for Catalogue<F> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F> Catalogue<F> {
    /// This and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, description: Description, functions: F) -> Self {
        let name = description.name;
        let entry = Entry { description, functions };
        match self.0.binary_search_by_key(&name, |one| one.description.name) {
            Ok(place) => self.0[place] = entry,
            Err(place) => self.0.insert(place, entry),
        }
        self
    }

    /// That of this name, which is of `sort`: "queue", "gateway".
    ///
    /// # Errors
    /// If there is none; which there are.
    pub fn get(&self, sort: &str, name: &str) -> Result<&Entry<F>, OptionError> {
        let found = self.0.binary_search_by_key(&name, |one| one.description.name);
        found.map(|place| &self.0[place]).map_err(|_| unknown(sort, name, self.names()))
    }

    /// What is known of each.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.0.iter().map(|one| &one.description)
    }

    /// The name of each.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.descriptions().map(|one| one.name)
    }

    /// The same with other functions.
    #[must_use]
    pub fn map<G>(&self, functions: impl Fn(&F) -> G) -> Catalogue<G> {
        let of = |one: &Entry<F>| Entry {
            description: one.description.clone(),
            functions: functions(&one.functions),
        };
        Catalogue(self.0.iter().map(of).collect())
    }
}

/// The error of a name that is none.
pub fn unknown<'a>(
    sort: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> OptionError {
    let known: Vec<&str> = known.into_iter().collect();
    let why = format!("unknown {sort} \"{name}\"; known are {}", known.join(", "));
    OptionError { option: Some("kind".to_owned()), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Band {
        /// from here
        #[schemars(range(min = 0, max = 9))]
        low: u32,
        /// to here
        high: u32,
    }

    impl Configuration for Band {
        const NAME: &'static str = "band";
        const SUMMARY: &'static str = "from low to high";
        const SOURCE: &'static str = "ours";

        fn check(&self) -> Result<(), OptionError> {
            if self.low <= self.high {
                return Ok(());
            }
            Err(OptionError { option: Some("low".to_owned()), why: "is above high".to_owned() })
        }
    }

    fn named(name: &'static str) -> Description {
        Description { name, ..Description::of::<Band>() }
    }

    #[test]
    fn a_configuration_is_read_and_checked_as_a_whole() {
        let read = |options: serde_json::Value| {
            let options = options.as_object().cloned().unwrap();
            let read: Result<Band, _> = Description::of::<Band>().read(&options);
            read.map_err(|error| error.to_string())
        };
        assert_eq!(read(json!({ "low": 1, "high": 2 })), Ok(Band { low: 1, high: 2 }));
        assert_eq!(read(json!({ "low": 3 })), Err("low: is above high".to_owned()));
        assert_eq!(read(json!({ "low": 10 })), Err("low: 10 is not between 0 and 9".to_owned()));
    }

    #[test]
    fn a_catalogue_is_sorted_and_has_one_of_each_name() {
        let catalogue = Catalogue::default().with(named("cut"), 1).with(named("add"), 2);
        let catalogue = catalogue.with(named("cut"), 3).with(named("bar"), 4);
        assert_eq!(catalogue.names().collect::<Vec<_>>(), ["add", "bar", "cut"]);
        assert_eq!(catalogue.get("band", "cut").unwrap().functions, 3);
        assert_eq!(
            catalogue.get("band", "dip").unwrap_err().to_string(),
            "kind: unknown band \"dip\"; known are add, bar, cut"
        );
    }
}
