//! The player page, put together from its parts: it comes as one document, so that nothing else is to be served.

use gameway_input::KEYS;

const PAGE: &str = include_str!("page.html");
/// Where a script stands in the page, and the script: who is let in, what the player does, and what is shown of the stream.
const PAIR: (&str, &str) = ("// page/pair.js", include_str!("page/pair.js"));
const INPUT: (&str, &str) = ("// page/input.js", include_str!("page/input.js"));
const FIGURES: (&str, &str) = ("// page/figures.js", include_str!("page/figures.js"));
/// Where the script has the table of keys, which is [`KEYS`].
const USAGES: &str = "/* usages */";

/// The page, whose own script and style bear this word, and no other runs (Content Security Policy, `nonce`).
pub(crate) fn page(own: &str) -> String {
    let usage = |known: &gameway_input::KnownKey| format!("{}:{}", known.code, known.key.usage());
    let usages: Vec<String> = KEYS.iter().map(usage).collect();
    let script = INPUT.1.replacen(USAGES, &usages.join(","), 1);
    let scripts = [PAIR, (INPUT.0, &script), FIGURES];
    let page = scripts
        .iter()
        .fold(PAGE.to_owned(), |page, (place, script)| page.replacen(place, script, 1));
    ["script", "style"].into_iter().fold(page, |page, element| {
        page.replace(&format!("<{element}>"), &format!("<{element} nonce=\"{own}\">"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place() {
        let page = page("word");
        assert!(page.contains("KeyA:4,KeyB:5,"), "the table of keys");
        assert!(page.contains("class Player"));
        for place in [PAIR.0, INPUT.0, FIGURES.0, USAGES, "<script>", "<style>"] {
            assert!(!page.contains(place), "{place}");
        }
        assert!(page.contains("<script nonce=\"word\">"));
    }
}
