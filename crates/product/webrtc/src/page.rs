//! The player page: one document, so that nothing else is to be served. `make page` builds it from `web/page`.

const PAGE: &str = include_str!("page.html");

/// The page, whose own script and style bear this word, and no other runs (Content Security Policy, `nonce`).
pub(crate) fn page(own: &str) -> String {
    ["style", "script"].into_iter().fold(PAGE.to_owned(), |page, element| {
        page.replacen(&format!("<{element}>"), &format!("<{element} nonce=\"{own}\">"), 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_script_and_style_bear_the_word_and_nothing_else_could_run() {
        let page = page("word");
        for element in ["script", "style"] {
            assert_eq!(page.matches(&format!("<{element}")).count(), 1, "{element}");
            assert!(page.contains(&format!("<{element} nonce=\"word\">")), "{element}");
        }
        for refused in [" src=", " href=", " style=\"", "eval(", "new Function"] {
            assert!(!page.contains(refused), "{refused}");
        }
    }

    #[test]
    fn licences_of_what_it_contains_travel_with_it() {
        let comment = PAGE.split("-->").next().unwrap_or_default();
        for wanted in
            ["preact", "Jason Miller", "uplot", "Leon Sorokin", "Permission is hereby granted"]
        {
            assert!(comment.contains(wanted), "{wanted}");
        }
    }
}
