//! The header's lines about the worst-case error of one step.

use crate::bound::{self, Claim, Profile, Seen, Useless, rounded_up};
use crate::core::CoreModel;
use crate::emit::names::Interface;
use crate::free_run::{FreeRun, Gathered};
use crate::numerics::Precisions;
use crate::plan::Plan;
use crate::request::Numerics;

/// The most work, in multiply-adds of [`bound::work`], for which a bound is computed. The
/// computation takes some seconds.
const MOST_WORK: usize = 1 << 30;

/// The worst-case error of one step, for each arithmetic profile in a file.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// The range of inputs and states, in words. Empty if weights are given at run time.
    range: String,
    /// True if the model keeps a state or a variable from step to step.
    continues: bool,
    /// The name of the profile of the last instruction set, whose body is interpreted to measure
    /// errors unless products are integers.
    measured: &'static str,
    profiles: Vec<OfProfile>,
}

#[derive(Clone, Debug)]
struct OfProfile {
    /// Name of the profile: fused or unfused multiply-add.
    name: &'static str,
    claims: Claims,
}

#[derive(Clone, Debug)]
enum Claims {
    /// The bound would take too long to compute.
    NotComputed,
    /// The error depends on run-time weights.
    AtRunTime,
    /// Claims about each result.
    Results(Vec<Claim>),
}

impl Bounds {
    /// Bounds for a model and its plan.
    pub(crate) fn new(
        model: &CoreModel,
        (plan, products): (&Plan, &Precisions),
        numerics: &Numerics,
        interface: &Interface,
    ) -> Self {
        let (x, h) = (numerics.range.x, numerics.range.h);
        let known = !interface.takes_weights();
        let lengths = if model.parameters.iter().any(|p| p.length.is_some()) {
            ", for any lengths"
        } else {
            ""
        };
        let continues = !model.states.is_empty() || !model.variables.is_empty();
        let of_states = if bound::has_states(model) {
            let c = if model.cells().iter().any(|cell| cell.c.is_some()) { ", |c|" } else { "" };
            format!(" and states |h|{c} <= {h}")
        } else {
            String::new()
        };
        let range = if known {
            format!(" for inputs |x| <= {x}{of_states}{lengths}")
        } else {
            String::new()
        };
        let mut fuses: Vec<bool> = plan.isas.iter().map(|planned| planned.fuses).collect();
        fuses.sort_unstable();
        fuses.dedup();
        let of_profile = |fused: bool| {
            let profile = &Profile::new(fused, numerics, products);
            let name = profile_name(fused);
            let claims = match known {
                true if bound::work(model) > MOST_WORK => Claims::NotComputed,
                true => {
                    Claims::Results(bound::over_range(model, profile, f64::from(x), f64::from(h)))
                }
                false => Claims::AtRunTime,
            };
            OfProfile { name, claims }
        };
        let measured = plan.isas.last().map_or("", |planned| profile_name(planned.fuses));
        Self { range, continues, measured, profiles: fuses.into_iter().map(of_profile).collect() }
    }

    /// The lines of the header. `found`: measured errors and values of each result, if steps were
    /// run.
    pub(crate) fn lines(&self, interface: &Interface, found: Option<&FreeRun>) -> Vec<String> {
        let mut lines = vec![format!("Largest possible error of one step{}:", self.range)];
        let names = || interface.outputs.iter().map(|field| &field.name);
        match &self.profiles[..] {
            [OfProfile { claims: Claims::NotComputed, .. }, ..] => {
                lines.push("  not computed for a model of this size".to_owned());
            }
            [OfProfile { claims: Claims::AtRunTime, .. }, ..] => lines.push(
                "  depends on weights that are given at run time: cellc check shows it".to_owned(),
            ),
            profiles => {
                for (i, name) in names().enumerate() {
                    let seen = found.map(|found| found.results[i].seen(found.steps));
                    lines.extend(stated(name, &claims(profiles, i), seen.as_ref()));
                }
            }
        }
        if let Some(found) = found.filter(|found| found.steps > 0) {
            lines.extend(self.measured(names().map(String::as_str), found));
        }
        lines
    }

    /// The lines about the largest errors of a run.
    fn measured<'a>(&self, outputs: impl Iterator<Item = &'a str>, found: &FreeRun) -> [String; 2] {
        let steps = found.steps;
        let continuing = match self.continues {
            true => ", errors of earlier steps included",
            false => "",
        };
        let profile = match &self.profiles[..] {
            [_, _, ..] if found.interpreted => format!(" ({})", self.measured),
            _ => String::new(),
        };
        let error = |(name, result): (&str, &Gathered)| match result.error.is_finite() {
            true => format!("{name} {:.1e}", result.error),
            false => format!("{name} not measured: a value is NaN or infinite"),
        };
        let errors: Vec<_> = outputs.zip(&found.results).map(error).collect();
        [
            format!("Largest error in {steps} random steps{continuing}{profile}:"),
            format!("  {}", errors.join(", ")),
        ]
    }
}

/// The name of the arithmetic with or without fused multiply-adds.
fn profile_name(fused: bool) -> &'static str {
    if fused { "fused" } else { "unfused" }
}

/// The claims of each profile about one result.
fn claims(profiles: &[OfProfile], result: usize) -> Vec<(&'static str, Claim)> {
    let claim = |profile: &OfProfile| match &profile.claims {
        Claims::Results(claims) => Some((profile.name, claims[result])),
        Claims::NotComputed | Claims::AtRunTime => None,
    };
    profiles.iter().filter_map(claim).collect()
}

/// The lines for a result: its bound for each profile, or else the reason why there is no useful
/// bound.
fn stated(name: &str, claims: &[(&str, Claim)], seen: Option<&Seen>) -> Vec<String> {
    let alone = claims.len() == 1;
    let (mut bounds, mut reasons) = (Vec::new(), Vec::new());
    for (profile, claim) in claims {
        match Useless::find(claim.error, [claim.low, claim.high], seen) {
            None if alone => bounds.push(rounded_up(claim.error)),
            None => bounds.push(format!("{} {profile}", rounded_up(claim.error))),
            Some(why) => reasons.push((profile, why)),
        }
    }
    let mut lines = Vec::new();
    if !bounds.is_empty() {
        lines.push(format!("  {name}: {}", bounds.join(", ")));
    }
    let of_all = reasons.split_first().and_then(|((_, first), others)| {
        let joined = others.iter().try_fold(*first, |why, (_, other)| why.joined(*other));
        joined.filter(|_| bounds.is_empty())
    });
    match of_all {
        Some(why) => lines.push(format!("  no useful bound for {name}: {why}")),
        None => lines.extend(
            reasons
                .iter()
                .map(|(profile, why)| format!("  no useful bound for {name} ({profile}): {why}")),
        ),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        for (bound, text) in [
            (1.0, "1.00e0"),
            (1.001, "1.01e0"),
            (1.234e-7, "1.24e-7"),
            (1.236e-7, "1.24e-7"),
            (9.999e-3, "1.00e-2"),
        ] {
            assert_eq!(rounded_up(bound), text);
        }
    }
}
