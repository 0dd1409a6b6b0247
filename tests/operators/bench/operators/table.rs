//! The result, as a table of 80 columns.

/// What is compared.
pub struct Row {
    pub what: String,
    pub unit: &'static str,
    pub rust: f64,
    pub go: Option<f64>,
    pub target: Target,
}

/// What it shall be.
#[derive(Clone, Copy)]
pub enum Target {
    /// At least this multiple of what it is for Go.
    AtLeastOfGo(f64),
    /// At most this multiple of what it is for Go.
    AtMostOfGo(f64),
    /// Less than this.
    Below(f64),
    /// 0, whatever it is for Go.
    Zero,
    /// It is there to be seen.
    None,
}

/// Prints the table, and says whether all targets are met.
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

    /// Rust's multiple of Go's, rounded to what is shown. There is none of nothing.
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
