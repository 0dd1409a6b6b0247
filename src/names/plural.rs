//! The English plural of a word, for the usual names of kinds. `--plural` sets any other plural.

/// Irregular endings: the singular, then the plural.
const IRREGULAR: [(&str, &str); 36] = [
    ("appendix", "appendices"),
    ("bacterium", "bacteria"),
    ("calf", "calves"),
    ("child", "children"),
    ("criterion", "criteria"),
    ("datum", "data"),
    ("echo", "echoes"),
    ("epoch", "epochs"),
    ("foot", "feet"),
    ("goose", "geese"),
    ("half", "halves"),
    ("hero", "heroes"),
    ("human", "humans"),
    ("index", "indices"),
    ("knife", "knives"),
    ("leaf", "leaves"),
    ("lens", "lenses"),
    ("life", "lives"),
    ("loaf", "loaves"),
    ("matrix", "matrices"),
    ("medium", "media"),
    ("monarch", "monarchs"),
    ("mouse", "mice"),
    ("person", "people"),
    ("phenomenon", "phenomena"),
    ("potato", "potatoes"),
    ("quiz", "quizzes"),
    ("shelf", "shelves"),
    ("stomach", "stomachs"),
    ("thief", "thieves"),
    ("tomato", "tomatoes"),
    ("tooth", "teeth"),
    ("vertex", "vertices"),
    ("wife", "wives"),
    ("wolf", "wolves"),
    ("woman", "women"),
];

/// Endings of words whose singular and plural are the same.
const ALIKE: [&str; 13] = [
    "data",
    "deer",
    "equipment",
    "feedback",
    "firmware",
    "hardware",
    "information",
    "knowledge",
    "media",
    "people",
    "sheep",
    "software",
    "traffic",
];

/// The plural of a lower-case word, or of the last of several words: `policies` for `policy`. A word that ends in `s`
/// like a plural, such as `endpoints`, counts as a plural.
pub fn plural(word: &str) -> String {
    if ALIKE.iter().any(|ending| word.ends_with(ending)) {
        return word.to_owned();
    }
    for (one, many) in IRREGULAR {
        if let Some(start) = word.strip_suffix(one) {
            return format!("{start}{many}");
        }
    }
    if let Some(start) = word.strip_suffix("sis").or(word.strip_suffix("xis")) {
        // `analysis`, `axis`
        return format!("{start}{}es", &word[start.len()..=start.len()]);
    }
    if let Some(start) = word.strip_suffix('y').filter(|start| !ends_in_vowel(start)) {
        return format!("{start}ies");
    }
    let hisses = ["as", "ch", "is", "sh", "ss", "us", "x", "z"];
    if hisses.iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    if word.ends_with('s') {
        return word.to_owned();
    }
    format!("{word}s")
}

/// The `u` of `qu`, as in `query`, is not a vowel.
fn ends_in_vowel(start: &str) -> bool {
    start.ends_with(['a', 'e', 'i', 'o', 'u']) && !start.ends_with("qu")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::builtin;

    #[test]
    fn built_in_kinds_have_their_plurals() {
        for builtin in builtin::all() {
            assert_eq!(plural(&builtin.kind.to_lowercase()), builtin.plural);
        }
    }

    #[test]
    fn plurals_of_common_words() {
        let cases = [
            ("alias", "aliases"),
            ("analysis", "analyses"),
            ("axis", "axes"),
            ("basis", "bases"),
            ("branch", "branches"),
            ("bus", "buses"),
            ("canary", "canaries"),
            ("cluster", "clusters"),
            ("database", "databases"),
            ("dns", "dns"),
            ("gateway", "gateways"),
            ("guestbook", "guestbooks"),
            ("mutex", "mutexes"),
            ("proxy", "proxies"),
            ("query", "queries"),
            ("redis", "redises"),
            ("salesperson", "salespeople"),
            ("settings", "settings"),
            ("soliloquy", "soliloquies"),
            ("status", "statuses"),
            ("topology", "topologies"),
            ("volumeindex", "volumeindices"),
        ];
        for (one, many) in cases {
            assert_eq!(plural(one), many);
        }
    }
}
