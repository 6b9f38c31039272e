//! The header's lines about the worst-case error of one step.

use super::rounded_up;
use crate::bound::{self, Claim, Profile, Seen, Useless};
use crate::core::CoreModel;
use crate::emit::names::Interface;
use crate::numerics::Precisions;
use crate::plan::Plan;
use crate::request::Numerics;

/// Maximum number of products of a step for which the bound is computed. Computing it takes some
/// seconds.
const MOST_WORK: usize = 1 << 30;

/// The worst-case error of one step, for each arithmetic profile in a file.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// The range of inputs and states, in words. Empty if weights are given at run time.
    range: String,
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
    /// The model has too many products.
    NotComputed,
    /// The error depends on run-time weights.
    AtRunTime,
    /// A bound for each result.
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
        let known = interface.weights.is_empty();
        let lengths = if model.parameters.iter().any(|p| p.length.is_some()) {
            ", for any lengths"
        } else {
            ""
        };
        let of_states =
            if bound::has_states(model) { format!(" and |h| <= {h}") } else { String::new() };
        let range =
            if known { format!(" for |x| <= {x}{of_states}{lengths}") } else { String::new() };
        let mut fuses: Vec<bool> = plan.isas.iter().map(|(_, fused)| *fused).collect();
        fuses.sort_unstable();
        fuses.dedup();
        let of_profile = |fused: bool| {
            let profile = &Profile::new(fused, numerics, products);
            let name = if fused { "fused" } else { "unfused" };
            let claims = match known {
                true if bound::work(model) > MOST_WORK => Claims::NotComputed,
                true => {
                    Claims::Results(bound::over_range(model, profile, f64::from(x), f64::from(h)))
                }
                false => Claims::AtRunTime,
            };
            OfProfile { name, claims }
        };
        Self { range, profiles: fuses.into_iter().map(of_profile).collect() }
    }

    /// The lines of the header. `seen`: measured errors and values of each result, if steps were
    /// run.
    pub(crate) fn lines(&self, interface: &Interface, seen: Option<&[Seen]>) -> Vec<String> {
        let mut lines = vec![format!("Largest possible error of one step{}:", self.range)];
        let of_all = self.profiles.len() == 1;
        for OfProfile { name, claims } in &self.profiles {
            let of = if of_all { String::new() } else { format!(" ({name})") };
            match claims {
                Claims::NotComputed => {
                    lines.push(format!("  not computed for a model of this size{of}"))
                }
                // one line for all profiles
                Claims::AtRunTime if lines.len() > 1 => {}
                Claims::AtRunTime => {
                    lines.push(
                        "  depends on weights that are given at run time: cellc check shows it"
                            .to_owned(),
                    );
                }
                Claims::Results(claims) => {
                    for (i, (field, claim)) in interface.outputs.iter().zip(claims).enumerate() {
                        lines.push(format!(
                            "  {}{of}",
                            stated(&field.name, claim, seen.map(|seen| &seen[i]))
                        ));
                    }
                }
            }
        }
        lines
    }
}

fn useless(claim: &Claim, seen: Option<&Seen>) -> Option<Useless> {
    Useless::of(claim.error, [claim.low, claim.high], seen)
}

/// The line for a result: its bound, or else the reason why there is no useful bound and the
/// measured error.
fn stated(name: &str, claim: &Claim, seen: Option<&Seen>) -> String {
    match useless(claim, seen) {
        None => format!("{name}: {}", rounded_up(claim.error)),
        Some(why) => {
            let error = seen.and_then(|seen| seen.error).filter(|error| error.is_finite());
            let measured = error.map_or(String::new(), |error| format!("; measured: {error:.1e}"));
            format!("no useful bound for {name}: {why}{measured}")
        }
    }
}
