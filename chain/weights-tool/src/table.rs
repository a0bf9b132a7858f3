//! From measurements to the text of a pallet's weights.

use frame_benchmarking::{Analysis, BenchmarkMetadata, BenchmarkResult, BenchmarkSelector};
use std::{collections::BTreeMap, fmt};

/// A constant part and one for each unit of each component.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linear {
    base: u128,
    slopes: Vec<u128>,
}

impl Linear {
    fn of(results: &Vec<BenchmarkResult>, selector: BenchmarkSelector) -> Result<Self, String> {
        let found = Analysis::min_squares_iqr(results, selector).map_err(|error| error.to_string())?;
        Ok(Self { base: found.base, slopes: found.slopes })
    }

    /// As Rust over the components' names, zero parts left out.
    fn render(&self, names: &[String]) -> String {
        let mut parts = Vec::new();
        if self.base > 0 || self.slopes.iter().all(|slope| *slope == 0) {
            parts.push(grouped(self.base));
        }
        for (slope, name) in self.slopes.iter().zip(names) {
            match slope {
                0 => (),
                1 => parts.push(name.clone()),
                _ => parts.push(format!("{} * {name}", grouped(*slope))),
            }
        }
        parts.join(" + ")
    }
}

/// What a call costs.
pub struct Measured {
    name: String,
    components: Vec<String>,
    /// Picoseconds.
    time: Linear,
    /// Bytes of proof.
    proof: Linear,
    reads: Linear,
    writes: Linear,
}

impl Measured {
    /// From runs that took the time and runs that counted.
    pub fn new(
        benchmark: &BenchmarkMetadata,
        timed: &Vec<BenchmarkResult>,
        counted: &Vec<BenchmarkResult>,
    ) -> Result<Self, String> {
        Ok(Self {
            name: String::from_utf8_lossy(&benchmark.name).into_owned(),
            components: benchmark.components.iter().map(|(name, ..)| name.to_string()).collect(),
            time: Linear::of(timed, BenchmarkSelector::ExtrinsicTime)?.rounded(),
            proof: Linear::of(counted, BenchmarkSelector::ProofSize)?,
            reads: Linear::of(counted, BenchmarkSelector::Reads)?,
            writes: Linear::of(counted, BenchmarkSelector::Writes)?,
        })
    }

    fn line(&self) -> String {
        let part = |linear: &Linear| linear.render(&self.components);
        format!(
            "{}({}) = {}, {}, {}, {};",
            self.name,
            self.components.join(", "),
            part(&self.time),
            part(&self.proof),
            part(&self.reads),
            part(&self.writes)
        )
    }
}

impl Linear {
    /// Whole nanoseconds, of picoseconds: what is below says nothing, and would change with each run.
    fn rounded(self) -> Self {
        let up = |picos: u128| picos.div_ceil(1_000) * 1_000;
        Self { base: up(self.base), slopes: self.slopes.into_iter().map(up).collect() }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.line().trim_end_matches(';'))
    }
}

/// A number as Rust code of this project writes it.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// The whole file of a pallet's weights. Calls that were not measured keep the lines that they have in `before`.
pub fn render(pallet: &str, measured: &[Measured], before: &str) -> String {
    let mut lines: BTreeMap<String, String> = kept_lines(before).collect();
    lines.extend(measured.iter().map(|call| (call.name.clone(), call.line())));
    let lines: String = lines.into_values().map(|line| format!("    {line}\n")).collect();
    include_str!("weights.rs.txt").replace("{pallet}", pallet).replace("{lines}", &lines)
}

/// The lines of such a file that tell of calls, by the calls' names.
fn kept_lines(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let calls = text.lines().map(str::trim).filter(|line| line.contains(") = ") && line.ends_with(';'));
    calls.filter_map(|line| line.split_once('(').map(|(name, _)| (name.to_owned(), line.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, picos: u128) -> Measured {
        let flat = |base| Linear { base, slopes: vec![] };
        let (time, proof, reads, writes) = (flat(picos).rounded(), flat(7), flat(1), flat(2));
        Measured { name: name.into(), components: vec![], time, proof, reads, writes }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            ["0", "999", "1_000", "12_345_678"],
            [0, 999, 1_000, 12_345_678].map(grouped).each_ref().map(String::as_str)
        );
    }

    #[test]
    fn zero_parts_are_left_out_but_something_is_always_said() {
        let names = ["v".to_string(), "w".to_string()];
        let text = |base, slopes: [u128; 2]| Linear { base, slopes: slopes.to_vec() }.render(&names);
        assert_eq!(text(0, [0, 0]), "0");
        assert_eq!(text(5, [0, 2_000]), "5 + 2_000 * w");
        assert_eq!(text(0, [1, 0]), "v");
    }

    #[test]
    fn the_file_lists_the_calls_by_name() {
        let text = render("hosts", &[call("two", 1_500), call("one", 1_500)], "");
        let table = "gantry_primitives::weights! {\n    one() = 2_000, 7, 1, 2;\n    two() = 2_000, 7, 1, 2;\n}\n";
        assert!(text.ends_with(table), "{text}");
        assert!(text.starts_with("//! What each call of the hosts pallet costs."));
    }

    #[test]
    fn a_call_that_was_not_measured_keeps_its_line() {
        let before = render("hosts", &[call("two", 1_500), call("one", 1_500)], "");
        let after = render("hosts", &[call("one", 3_000), call("six", 5_000)], &before);
        let table = "{\n    one() = 3_000, 7, 1, 2;\n    six() = 5_000, 7, 1, 2;\n    two() = 2_000, 7, 1, 2;\n}\n";
        assert!(after.ends_with(table), "{after}");
    }
}
