//! Links that a table chooses, and the form in which that is written out.

use crate::text::{Item, Problem, ScenarioError, Value, names};
use headway_network::LinkChoice;
use serde_json::{Value as Json, json};

type Read<T> = Result<T, ScenarioError>;

/// Names that a table may use, made when they are wanted.
pub struct Known<'a> {
    /// Names of all links, from which messages take the nearest.
    pub links: &'a dyn Fn() -> Vec<String>,
    /// Names of all switches, from which messages take the nearest.
    pub switches: &'a dyn Fn() -> Vec<String>,
}

/// Choice of links: all, or a list of names, of which `a<->b` is both directions.
pub(crate) fn choice(item: &Item<'_>, known: &Known<'_>) -> Read<LinkChoice> {
    match item.value() {
        Value::List(nodes) if nodes.is_empty() => Err(item.range("at least one link", "an empty list")),
        Value::List(_) => Ok(LinkChoice::Some(directed(item, &(known.links)())?)),
        Value::Text(_) => item.choice(&["all"]).map(|_| LinkChoice::All),
        _ => Err(item.wrong("\"all\" or a list of links")),
    }
}

/// True if a name is a pattern's, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    // The end of the name, too: the last `*` may stand for the rest of it.
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(rest, &name[at..]))
}

/// Names of the links that a pattern means, both directions if it has `<->`.
fn matching<'n>(item: &Item<'_>, written: &str, names: &'n [String]) -> Read<Vec<&'n String>> {
    let patterns = match written.split_once("<->") {
        Some((a, b)) => vec![format!("{a}->{b}"), format!("{b}->{a}")],
        None => vec![written.to_string()],
    };
    let found: Vec<&String> =
        names.iter().filter(|name| patterns.iter().any(|pattern| fits(pattern, name))).collect();
    if found.is_empty() {
        let problem = Problem::NoSuchName { what: "link like", name: written.into() };
        let nearest = names::nearest_name(&patterns[0], names.iter().map(String::as_str));
        let help =
            nearest.map(|nearest| format!("`*` stands for any characters; the nearest link is `{nearest}`"));
        return Err(item.fail(problem).maybe_help(help));
    }
    Ok(found)
}

/// A list of names, of which `a<->b` is both directions, and in which `*` stands for any characters.
pub(crate) fn directed(list: &Item<'_>, names: &[String]) -> Read<Vec<String>> {
    let mut chosen: Vec<String> = Vec::new();
    for item in list.list()? {
        let written = item.text()?;
        if written.contains('*') {
            for name in matching(&item, written, names)? {
                // Parallel links have one name.
                if !chosen.contains(name) {
                    chosen.push(name.clone());
                }
            }
            continue;
        }
        let directions = match written.split_once("<->") {
            Some((a, b)) => vec![format!("{a}->{b}"), format!("{b}->{a}")],
            None => vec![written.to_string()],
        };
        for name in directions {
            check_link(&item, written, &name, names)?;
            if chosen.contains(&name) {
                return Err(item.fail(Problem::Contradiction(format!("link `{name}` is listed twice"))));
            }
            chosen.push(name);
        }
    }
    Ok(chosen)
}

/// A list of names of switches.
pub(crate) fn switches(item: &Item<'_>, known: &dyn Fn() -> Vec<String>) -> Read<Vec<String>> {
    let all = known();
    let mut chosen: Vec<String> = Vec::new();
    for item in item.list()? {
        let name = item.text()?;
        if !all.iter().any(|n| n == name) {
            let problem = Problem::NoSuchName { what: "switch", name: name.into() };
            let help = names::name_suggestion(name, all.iter().map(String::as_str));
            return Err(item.fail(problem).maybe_help(help));
        }
        if chosen.iter().any(|c| c == name) {
            return Err(item.fail(Problem::Contradiction(format!("switch `{name}` is listed twice"))));
        }
        chosen.push(name.to_string());
    }
    if chosen.is_empty() {
        return Err(item.range("at least one switch", "an empty list"));
    }
    Ok(chosen)
}

pub(crate) fn links_json(links: &LinkChoice) -> Json {
    match links {
        LinkChoice::Some(names) => json!(names),
        LinkChoice::None => json!([]),
        LinkChoice::All => json!("all"),
    }
}

/// Refuses a link that does not exist; `written` is how `item` names it.
pub(crate) fn check_link(
    item: &Item<'_>,
    written: &str,
    name: &str,
    names: &[String],
) -> Result<(), ScenarioError> {
    if names.iter().any(|n| n == name) {
        return Ok(());
    }
    let problem = Problem::NoSuchName { what: "link", name: written.into() };
    let both = written != name;
    let help = match names::nearest_name(name, names.iter().map(String::as_str)) {
        Some(nearest) if both => format!("did you mean `{}`?", nearest.replace("->", "<->")),
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "links are named from->to, as in \"s0->s1\" or \"leaf2->spine1\"".into(),
    };
    Err(item.fail(problem).help(help))
}
