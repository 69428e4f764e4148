//! Groups: the ranks that take part in a collective.
//!
//! A node names its group (`pg_name`, or `comm_group` and `communicator_id` of older converters). The group's ranks are in the metadata
//! node of PyTorch at the same rank, or in a file in JSON next to the traces, `{"1": [0, 1], "2": [2, 3]}`, as
//! ASTRA-sim and STAGE have it. No name, and ASTRA-sim's name `0`, are all ranks.

use super::schema::{Node, Value};
use crate::import::trace::{Collective, Trace, What, shown};
use crate::text::error::counted;
use crate::text::{Origin, Problem, ScenarioError, Source};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attributes that name a group.
const NAMES: [&str; 3] = ["pg_name", "comm_group", "communicator_id"];
/// Attributes with the size of a group.
const SIZES: [&str; 2] = ["pg_size", "group_size"];
/// Attributes of collectives that name the root.
pub(super) const ROOTS: [&str; 3] = ["root", "root_rank", "comm_root"];
/// The group of all ranks in ASTRA-sim.
const ALL: &str = "0";
/// Parts of names of attributes that name the members.
const ABOUT_WHO: [&str; 9] =
    ["group", "communicator", "rank", "member", "participant", "involve", "npu", "peer", "pg_"];

/// An attribute of a node that communicates which names the members, and that is not read.
pub(super) fn not_understood(node: &Node, rank: u32) -> Option<String> {
    node.attributes.iter().find_map(|(name, value)| {
        let lower = name.to_lowercase();
        let known = NAMES.contains(&name.as_str())
            || SIZES.contains(&name.as_str())
            || ROOTS.contains(&name.as_str())
            // Words for people, and the dimensions that are checked elsewhere.
            || ["pg_desc", "group_desc", "involved_dim"].contains(&name.as_str())
            || (lower == "rank" && *value == Value::Whole(i128::from(rank)));
        let is_about = lower == "pg" || ABOUT_WHO.iter().any(|part| lower.contains(part));
        (is_about && !known).then(|| name.clone())
    })
}

/// The name of the group of a node; empty for all ranks.
pub(super) fn name_of(node: &Node) -> Result<String, String> {
    let mut found: Option<(&str, String)> = None;
    for attribute in NAMES {
        let name = match node.attribute(attribute) {
            None => continue,
            Some(Value::Text(text)) => plain(text),
            Some(Value::Whole(number)) => number.to_string(),
            Some(Value::Booleans(_) | Value::Other) => {
                return Err(format!("`{attribute}` is neither a name nor a number"));
            }
        };
        if let Some((other, before)) = found.as_ref().filter(|(_, before)| *before != name) {
            return Err(format!("`{other}` says group `{before}`, and `{attribute}` says `{name}`"));
        }
        found = Some((attribute, name));
    }
    Ok(found.map_or_else(String::new, |(_, name)| name))
}

/// A name that is a number without zeros before it.
fn plain(name: &str) -> String {
    let name = name.trim();
    name.parse::<i128>().map_or_else(|_| name.into(), |number| number.to_string())
}

/// Ranks of a group, and where they are listed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    ranks: Vec<u32>,
    by: String,
}

/// Groups that are listed somewhere, and the collectives that name groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Groups by the rank whose metadata lists them, and by name.
    own: BTreeMap<(u32, String), Listed>,
    /// Groups by name, from the file next to the traces.
    beside: BTreeMap<String, Listed>,
    used: Vec<Used>,
}

/// A collective, and its statement about its group.
#[derive(Debug)]
struct Used {
    operation: u32,
    name: String,
    size: Option<i128>,
    root: Option<i128>,
}

impl Groups {
    /// Reads the file next to the traces; `None` if it is something else.
    pub(super) fn file(source: &Arc<Source>, ranks: u32) -> Result<Option<Groups>, ScenarioError> {
        let Some(table) = table(&source.text) else { return Ok(None) };
        if table.is_empty() {
            return Ok(None);
        }
        let mut groups = Groups::default();
        let at = |name: &str| {
            let quoted = format!("\"{name}\"");
            let start = source.text.find(&quoted).unwrap_or(0);
            Origin::new(source, start..start + quoted.len())
        };
        for (written, list) in table {
            let fail = |text: String| ScenarioError::new(Problem::Syntax(text), &at(&written));
            let name = plain(&written);
            let mut members = Vec::with_capacity(list.len());
            for rank in list {
                let there = u32::try_from(rank).ok().filter(|rank| *rank < ranks);
                let there = there.ok_or_else(|| {
                    let files = counted(u64::from(ranks), "file");
                    fail(format!(
                        "group `{written}` has rank {rank}, and there are {files}, one for each rank"
                    ))
                })?;
                if members.contains(&there) {
                    return Err(fail(format!("group `{written}` has rank {rank} twice")));
                }
                members.push(there);
            }
            if members.is_empty() {
                return Err(fail(format!("group `{written}` has no rank")));
            }
            // ASTRA-sim sorts them, too.
            members.sort_unstable();
            let listed = Listed { ranks: members, by: source.name.clone() };
            // The reader of JSON keeps the last of two equal keys without a word.
            let is_twice = source.text.matches(&format!("\"{written}\"")).count() > 1;
            if groups.beside.insert(name, listed).is_some() || is_twice {
                return Err(fail(format!("group `{written}` is there twice")));
            }
        }
        Ok(Some(groups))
    }

    /// A group that the metadata of a rank lists.
    pub(super) fn list(&mut self, rank: u32, name: &str, ranks: Vec<u32>) -> Result<(), String> {
        let (name, by) = (plain(name), format!("the metadata of rank {rank}"));
        let key = (rank, name);
        if let Some(before) = self.own.get(&key).filter(|before| before.ranks != ranks) {
            return Err(format!(
                "process group `{}` is of {} here, and of {} in a node before",
                key.1,
                shown(&ranks),
                shown(&before.ranks)
            ));
        }
        self.own.insert(key, Listed { ranks, by });
        Ok(())
    }

    /// A collective is of a group.
    pub(super) fn used(&mut self, operation: u32, node: &Node) -> Result<(), String> {
        let first = |names: &[&str]| names.iter().find_map(|name| node.whole(name));
        self.used.push(Used { operation, name: name_of(node)?, size: first(&SIZES), root: first(&ROOTS) });
        Ok(())
    }

    /// Entry of the group of this name, for a rank.
    fn find(&self, rank: u32, name: &str) -> Result<Option<&Listed>, String> {
        let own = self.own.get(&(rank, name.to_string()));
        let beside = self.beside.get(name);
        match (own, beside) {
            (Some(own), Some(beside)) if own.ranks != beside.ranks => Err(format!(
                "group `{name}` is of {} in {}, and of {} in {}",
                shown(&own.ranks),
                own.by,
                shown(&beside.ranks),
                beside.by
            )),
            (Some(own), _) => Ok(Some(own)),
            (None, Some(beside)) => Ok(Some(beside)),
            // Another rank may be the only one that lists it, as long as it is of that group.
            (None, None) => {
                let mut others =
                    self.own.iter().filter(|((_, other), _)| other == name).map(|(_, listed)| listed);
                let with = others.clone().find(|listed| listed.ranks.contains(&rank));
                Ok(with.or_else(|| others.next()))
            }
        }
    }

    /// Gives each collective its group, and notes the assumptions.
    pub(super) fn finish(self, trace: &mut Trace) -> Result<(), ScenarioError> {
        let all: Vec<u32> = (0..trace.ranks).collect();
        // Those that nothing lists, by name with the ranks that name them.
        let mut unlisted: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        let mut found: Vec<Option<(String, Vec<u32>, String)>> = Vec::with_capacity(self.used.len());
        for Used { operation, name, .. } in &self.used {
            let rank = trace.operations[*operation as usize].rank;
            let listed = self.find(rank, name).map_err(|text| trace.fail(*operation, text))?;
            let is_all = name.is_empty() || name == ALL;
            found.push(match listed {
                Some(listed) if is_all && listed.ranks != all => {
                    let text = format!(
                        "group `{name}` is all {} in ASTRA-sim, and {} says {}",
                        counted(u64::from(trace.ranks), "rank"),
                        listed.by,
                        shown(&listed.ranks)
                    );
                    return Err(trace
                        .fail(*operation, text)
                        .help("give a group of some ranks another name than `0`"));
                }
                _ if is_all => Some((String::new(), all.clone(), String::new())),
                Some(listed) => {
                    if !listed.ranks.contains(&rank) {
                        let text = format!(
                            "rank {rank} takes part in a collective of group `{name}`, which is of {} ({})",
                            shown(&listed.ranks),
                            listed.by
                        );
                        return Err(trace.fail(*operation, text));
                    }
                    Some((name.clone(), listed.ranks.clone(), listed.by.clone()))
                }
                None => {
                    let ranks = unlisted.entry(name).or_default();
                    if !ranks.contains(&rank) {
                        ranks.push(rank);
                    }
                    None
                }
            });
        }
        // Sorted by name and members, so that groups are numbered alike whatever rank names them first.
        let mut numbers: BTreeMap<(String, Vec<u32>), Vec<&Used>> = BTreeMap::new();
        for (used, group) in self.used.iter().zip(found) {
            let (name, ranks, by) = match group {
                Some(group) => group,
                None => (used.name.clone(), sorted(&unlisted[used.name.as_str()]), String::new()),
            };
            if let Some(size) = used.size.filter(|size| *size != ranks.len() as i128) {
                let by = if by.is_empty() { String::new() } else { format!(" ({by})") };
                let of = if name.is_empty() { "all".into() } else { shown(&ranks) };
                let text = format!("its group should have {size} ranks, and it is of {of}{by}");
                return Err(trace.fail(used.operation, text));
            }
            numbers.entry((name, ranks)).or_default().push(used);
        }
        for ((name, ranks), uses) in numbers {
            for used in uses {
                self::join(trace, used, &ranks)?;
            }
            trace.groups.push(ranks);
            trace.group_names.push(name);
        }
        for (name, ranks) in unlisted {
            let ranks = shown(&sorted(&ranks));
            trace.notes.push(format!(
                "group `{name}` is listed nowhere: taken to be {ranks}, which have collectives of it"
            ));
        }
        Ok(())
    }
}

/// Makes a collective one of the group that is added next.
fn join(trace: &mut Trace, used: &Used, ranks: &[u32]) -> Result<(), ScenarioError> {
    let number = trace.groups.len() as u32;
    let place = used.root.map(|root| ranks.iter().position(|rank| i128::from(*rank) == root));
    if let (Some(None), Some(root)) = (place, used.root) {
        let text = format!("its root is rank {root}, and its group is of {}", shown(ranks));
        return Err(trace.fail(used.operation, text));
    }
    if let What::Collective { collective, bytes, group, root } =
        &mut trace.operations[used.operation as usize].what
    {
        (*group, *root) = (number, place.flatten().unwrap_or(0) as u32);
        // ASTRA-sim's size of what a rank has before; that of all is counted here.
        if matches!(collective, Collective::AllGather | Collective::Gather) {
            *bytes = bytes.saturating_mul(ranks.len() as u64);
        }
    }
    Ok(())
}

fn sorted(ranks: &[u32]) -> Vec<u32> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks
}

/// Groups of a text in JSON by name, unless it is something else.
fn table(text: &str) -> Option<Vec<(String, Vec<i64>)>> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let list = |value: &serde_json::Value| {
        value.as_array()?.iter().map(serde_json::Value::as_i64).collect::<Option<Vec<i64>>>()
    };
    object.iter().map(|(name, value)| Some((name.clone(), list(value)?))).collect()
}
