//! Prints the results as a table of 80 columns.

/// A row of the table: one compared value.
pub struct Row {
    pub what: String,
    pub unit: &'static str,
    pub rust: f64,
    pub go: Option<f64>,
    pub target: Target,
}

/// The target of a row.
#[derive(Clone, Copy)]
pub enum Target {
    /// At least this multiple of Go's value.
    AtLeastOfGo(f64),
    /// At most this multiple of Go's value.
    AtMostOfGo(f64),
    /// Less than this value.
    Below(f64),
    /// 0, for any value of Go.
    Zero,
    /// No target: the row is only information.
    None,
}

/// Prints the table, and returns whether all targets are met.
pub fn print(rows: &[Row]) -> bool {
    println!(
        "\n{:26}{:>13}{:>13}{:>8}{:>10}",
        "", "Rust", "Go", "ratio", "target"
    );
    let mut good = true;
    for row in rows {
        let verdict = match row.is_good() {
            None => "",
            Some(true) => "good",
            Some(false) => {
                good = false;
                "MISSED"
            }
        };
        println!("{} {verdict:>8}", row.cells());
    }
    good
}

impl Row {
    fn cells(&self) -> String {
        let value = |value: f64| format!("{value:.2} {:3}", self.unit);
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}"));
        let target = match self.target {
            Target::AtLeastOfGo(limit) => format!(">= {limit:.2}"),
            Target::AtMostOfGo(limit) => format!("<= {limit:.2}"),
            Target::Below(limit) => format!("< {limit} {}", self.unit),
            Target::Zero => "0".to_owned(),
            Target::None => String::new(),
        };
        format!(
            "{:26}{:>13}{:>13}{:>8}{target:>10}",
            self.what,
            value(self.rust),
            self.go.map(value).unwrap_or_default(),
            ratio.unwrap_or_default(),
        )
    }

    /// Returns Rust's value divided by Go's, rounded to the shown digits; `None` if Go's value is 0 or missing.
    fn ratio(&self) -> Option<f64> {
        let go = self.go.filter(|go| *go > 0.0)?;
        Some((self.rust / go * 100.0).round() / 100.0)
    }

    fn is_good(&self) -> Option<bool> {
        match self.target {
            Target::AtLeastOfGo(limit) => Some(self.ratio().is_some_and(|ratio| ratio >= limit)),
            Target::AtMostOfGo(limit) => Some(self.ratio().is_some_and(|ratio| ratio <= limit)),
            Target::Below(limit) => Some(self.rust < limit),
            Target::Zero => Some(self.rust == 0.0),
            Target::None => None,
        }
    }
}
