//! What commands show to a person.

/// Those of a terminal that nobody has made wider.
const COLUMNS: usize = 80;

/// Words in lines that begin behind a margin, of which the first is there already. A word that is too long stays whole, so that
/// it can be copied.
#[must_use]
pub fn wrapped(text: &str, margin: usize) -> String {
    let mut lines = String::new();
    let mut column = margin;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > margin {
            if column + 1 + length > COLUMNS {
                lines.push('\n');
                lines += &" ".repeat(margin);
                column = margin;
            } else {
                lines.push(' ');
                column += 1;
            }
        }
        lines += word;
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_lines_of_80_columns_and_stay_whole() {
        let long = "x".repeat(90);
        let line = wrapped(&format!("a {long} b"), 4);
        assert_eq!(line, format!("a\n    {long}\n    b\n"));
        let edge = |length: usize| wrapped(&format!("aa {}", "b".repeat(length)), 70);
        assert_eq!(edge(7), "aa bbbbbbb\n");
        assert_eq!(edge(8), format!("aa\n{}bbbbbbbb\n", " ".repeat(70)));
    }
}
