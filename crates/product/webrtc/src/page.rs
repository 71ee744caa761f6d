//! The player page, which `make page` builds from `web/page`.

use gameway_serving::page::Page;
use std::sync::LazyLock;

const PAGE: &str = include_str!("page.html");

/// It talks to this host alone. Of images it may show those that it makes itself, as addresses with all their data: the pointer's
/// shape, for which styles take nothing else.
pub(crate) static OWN: LazyLock<Page> = LazyLock::new(|| {
    Page::new(PAGE, "; worker-src blob:; connect-src 'self'; img-src data:; media-src blob:")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_document_with_the_licences_of_what_it_contains() {
        gameway_serving::page::check(PAGE, &["preact", "Jason Miller", "uplot", "Leon Sorokin"]);
    }
}
