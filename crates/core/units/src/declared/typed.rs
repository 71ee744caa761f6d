//! Options of a command that stand for keys of a file or settings of a configuration: errors in the words that were typed.

/// An error of a key (`field`: `why`) in the words of the options that stand for keys: pairs of a key and its option without
/// hyphens. Of a key without an option, that of the nearest table around it counts.
#[must_use]
pub fn as_typed(field: &str, why: &str, options: &[(&str, &str)]) -> String {
    let why = options.iter().fold(why.to_owned(), |why, (key, option)| {
        let option = format!("--{option}");
        let why = if key.contains('.') { replaced(&why, key, &option) } else { why };
        // A word of one part is a word.
        let last = key.rsplit('.').next().unwrap_or(key);
        if last.contains('_') { replaced(&why, last, &option) } else { why }
    });
    let mut key = Some(field);
    while let Some(one) = key {
        if let Some((_, option)) = options.iter().find(|(known, _)| *known == one) {
            return format!("--{option}: {why}");
        }
        key = one.rsplit_once('.').map(|(table, _)| table);
    }
    format!("{field}: {why}")
}

/// `text` with another word for a key, wherever it is the whole key.
fn replaced(text: &str, key: &str, word: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let (before, from) = rest.split_at(at);
        let after = &from[key.len()..];
        let mut next = after.chars();
        let goes_on = match next.next() {
            Some('.') => next.next().is_some_and(is_part),
            first => first.is_some_and(is_part),
        };
        let is_whole = !goes_on && !before.ends_with(|last| is_part(last) || last == '.');
        out.push_str(before);
        out.push_str(if is_whole { word } else { key });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_what_was_typed() {
        let options =
            [("path.base_rtt", "rtt"), ("path.queue", "queue"), ("max_bitrate", "max-bitrate")];
        for (field, why, expected) in [
            ("path.base_rtt", "2 h is too much", "--rtt: 2 h is too much"),
            ("path.queue.kind", "is no queue", "--queue: is no queue"),
            ("path.loss", "more than base_rtt.", "path.loss: more than --rtt."),
            ("path.loss", "see path.base_rtt", "path.loss: see --rtt"),
            ("min_bitrate", "above max_bitrate", "min_bitrate: above --max-bitrate"),
            // Other words that hold the key stay.
            ("path.back.queue", "the_base_rtt", "path.back.queue: the_base_rtt"),
            ("flow", "path.queue.size and path.queue_x", "flow: path.queue.size and path.queue_x"),
        ] {
            assert_eq!(as_typed(field, why, &options), expected);
        }
    }
}
