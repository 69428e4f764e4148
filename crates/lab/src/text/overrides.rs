//! Setting one value of a document by its path: `traffic.0.load`.

use super::error::{Problem, ScenarioError};
use super::parse;
use super::source::{Origin, Source};
use super::tree::{Entry, Node, Table, Value};

/// One value to set, and the place where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Keys and list indices, joined by dots.
    pub path: String,
    /// Place where the path is written.
    pub path_at: Origin,
    /// Value to set.
    pub node: Node,
}

/// Reads an argument `key=value`; the value is TOML, or else text.
pub fn argument(text: &str) -> Result<Override, ScenarioError> {
    let source = Source::new("--set", text);
    // The first one, since values may hold others.
    let Some(split) = text.find('=') else {
        let at = Origin::new(&source, 0..text.len());
        let problem = Problem::Syntax("an override looks like key=value".into());
        return Err(ScenarioError::new(problem, &at).help("for example `--set traffic.0.load=0.5`"));
    };
    let path = text[..split].trim();
    let given = text[split + 1..].trim();
    if given.is_empty() {
        let problem = Problem::Syntax(format!("`{path}` is given no value"));
        let at = Origin::new(&source, 0..text.len());
        return Err(ScenarioError::new(problem, &at).help(format!("an empty text is `--set '{path}=\"\"'`")));
    }
    let path_at = Origin::new(&source, 0..split);
    let span = split + 1..text.len();
    // A word that is not TOML is a text, so that `name=amrt` needs no quotes.
    let node = match parse::value(&source, span.clone(), path)? {
        Some(node) => node,
        None if is_broken_toml(given) => return Err(parse::no_value(&source, span)),
        None => Node { value: Value::Text(text[span.clone()].trim().into()), at: Origin::new(&source, span) },
    };
    Ok(Override { path: path.into(), path_at, node })
}

/// True if a text that is not TOML was meant to be: it begins like a text, a list or a table, or leaves a quote open.
fn is_broken_toml(given: &str) -> bool {
    // An odd single quote may be an apostrophe, and so does not count.
    given.starts_with(['"', '\'', '[', '{']) || !given.matches('"').count().is_multiple_of(2)
}

/// The overrides that a table such as `[variants.NAME]` lists. A dotted key is a path, with quotes or without them: `fabric.routing`
/// and `"fabric.routing"` set one key, where TOML reads the former as a table of its own. A whole table, as in `fabric = { ... }` or under
/// a head of its own, takes the place of the one before.
pub fn listed(table: &Table) -> Vec<Override> {
    let mut found = Vec::new();
    table.entries.iter().for_each(|entry| list(entry, "", &mut found));
    found
}

fn list(entry: &Entry, above: &str, found: &mut Vec<Override>) {
    let path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
    match &entry.node.value {
        Value::Table(table) if is_dotted(entry) => {
            table.entries.iter().for_each(|inner| list(inner, &path, found));
        }
        _ => found.push(Override { path, path_at: entry.key_at.clone(), node: entry.node.clone() }),
    }
}

/// True if a dot follows the key where it is written, and so more of the path.
fn is_dotted(entry: &Entry) -> bool {
    let at = &entry.key_at;
    at.source
        .text
        .get(at.span.end..)
        .is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with('.'))
}

/// Sets values in order, but names of transports first: naming another transport starts from its defaults,
/// so the parameters of the one before go, and those set together with the name stay.
pub fn apply_all(root: &mut Table, changes: &[Override]) -> Result<(), ScenarioError> {
    // TOML allows spaces around the dots of a key.
    let names = |change: &&Override| change.path.replace(' ', "") == "transport.name";
    for change in changes.iter().filter(names) {
        if let Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) = root.get_mut("transport") {
            // The same transport named again keeps its parameters.
            let same = table.get("name").is_some_and(|e| e.node.value == change.node.value);
            table.entries.retain(|e| same || e.key == "name");
        }
        apply(root, change)?;
    }
    changes.iter().filter(|c| !names(c)).try_for_each(|change| apply(root, change))
}

/// Sets one value. Tables on the way are made when they are not there, list entries must be there.
pub fn apply(root: &mut Table, change: &Override) -> Result<(), ScenarioError> {
    let steps = steps(&change.path);
    let fail = |depth: usize, reason: String| {
        let path = if change.path.is_empty() { "an empty key".into() } else { change.path.clone() };
        let help = match depth {
            0 => "write it as table.key, list entries by number from 0".to_string(),
            _ => format!("`{}` is where it stops", steps[..depth].join(".")),
        };
        Err(ScenarioError::new(Problem::Path { path, reason }, &change.path_at).help(help))
    };
    if steps.iter().any(|s| s.is_empty()) {
        return fail(0, "a part of it is empty".into());
    }
    let mut here = Slot::Table(root);
    for (depth, step) in steps.iter().enumerate() {
        let last = depth + 1 == steps.len();
        let next = match here {
            Slot::Table(table) => child(table, step, change, last),
            Slot::List(items) => match item(items, step) {
                Ok(node) => node,
                Err(reason) => return fail(depth, reason),
            },
        };
        if last {
            *next = change.node.clone();
            return Ok(());
        }
        here = match &mut next.value {
            Value::Table(table) => Slot::Table(table),
            Value::List(items) => Slot::List(items),
            other => {
                let reason = format!("that is {}, which holds no keys", other.found());
                return fail(depth + 1, reason);
            }
        };
    }
    Ok(())
}

/// The value at a path, if there is one.
pub fn find<'a>(root: &'a Table, path: &str) -> Option<&'a Node> {
    let mut steps = steps(path).into_iter();
    let mut here = &root.get(steps.next()?)?.node;
    for step in steps {
        here = match &here.value {
            Value::Table(table) => &table.get(step)?.node,
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

/// The parts of a path. Keys of `[sweep]`, `[variants.NAME]` and `[scale.NAME]` are paths themselves, so there
/// the rest of the path is one key.
fn steps(path: &str) -> Vec<&str> {
    let whole_after = match path.split('.').next().map(str::trim) {
        Some("sweep") => 2,
        Some("variants" | "scale") => 3,
        _ => usize::MAX,
    };
    path.splitn(whole_after, '.').map(str::trim).collect()
}

enum Slot<'a> {
    Table(&'a mut Table),
    List(&'a mut Vec<Node>),
}

fn item<'a>(items: &'a mut [Node], step: &str) -> Result<&'a mut Node, String> {
    let count = items.len();
    match step.parse::<usize>() {
        Ok(index) => {
            items.get_mut(index).ok_or_else(|| format!("there is no entry {index} in a list of {count}"))
        }
        Err(_) => Err(format!("`{step}` is not the number of an entry in a list of {count}")),
    }
}

/// The value of a key; an empty table, or what will be replaced, when it is new.
fn child<'a>(table: &'a mut Table, key: &str, change: &Override, last: bool) -> &'a mut Node {
    let index = match table.entries.iter().position(|e| e.key == key) {
        Some(index) => index,
        None => {
            let node = Node { value: Value::Table(Table::default()), at: change.path_at.clone() };
            table.entries.push(Entry { key: key.into(), key_at: change.path_at.clone(), node });
            table.entries.len() - 1
        }
    };
    // An error about the key is to point at the override.
    if last {
        table.entries[index].key_at = change.path_at.clone();
    }
    &mut table.entries[index].node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Table {
        match parse::document(&Source::new("x.toml", text)).expect("TOML").value {
            Value::Table(table) => table,
            _ => panic!("a table"),
        }
    }

    fn set(text: &str, arguments: &[&str]) -> Result<String, ScenarioError> {
        let mut table = root(text);
        for a in arguments {
            apply(&mut table, &argument(a)?)?;
        }
        Ok(Value::Table(table).to_json().to_string())
    }

    #[test]
    fn paths_reach_into_tables_and_lists() {
        let text = "[[traffic]]\nload = 0.1\nflows = [{bytes = 1}, {bytes = 2}]\n";
        let done = set(
            text,
            &["traffic.0.load=0.5", "traffic.0.flows.1.bytes=\"3 MB\"", "fabric.buffer=64 packets"],
        );
        let expected = r#"{"traffic":[{"load":0.5,"flows":[{"bytes":1},{"bytes":"3 MB"}]}],"fabric":{"buffer":"64 packets"}}"#;
        assert_eq!(done.expect("applies"), expected);
    }

    #[test]
    fn naming_another_transport_starts_from_its_defaults() {
        let text = "[transport]\nname = \"a\"\nold = 1\n";
        let set = |arguments: &[&str]| {
            let mut table = root(text);
            let changes: Vec<_> = arguments.iter().map(|a| argument(a).expect("an override")).collect();
            apply_all(&mut table, &changes).expect("applies");
            Value::Table(table).to_json().to_string()
        };
        assert_eq!(set(&["transport.new=2", "transport.name=b"]), r#"{"transport":{"name":"b","new":2}}"#);
        assert_eq!(set(&["transport.name=a"]), r#"{"transport":{"name":"a","old":1}}"#);
    }

    #[test]
    fn keys_that_are_paths_stay_whole() {
        let text = "[sweep]\n\"traffic.0.load\" = [0.1]\n[variants.a]\n\"transport.name\" = \"x\"\n";
        let done =
            set(text, &["sweep.traffic.0.load=[0.5]", "variants.a.transport.name=\"y\"", "sweep.seeds=2"]);
        let expected =
            r#"{"sweep":{"traffic.0.load":[0.5],"seeds":2},"variants":{"a":{"transport.name":"y"}}}"#;
        assert_eq!(done.expect("applies"), expected);
    }

    #[test]
    fn paths_that_lead_nowhere_are_shown_against_the_argument() {
        let text = "seed = 1\n[[traffic]]\nload = 0.1\n";
        for (argument, place) in [
            ("traffic.1.load=1", "traffic.1.load"),
            ("seed.x=1", "seed.x"),
            ("traffic.x.load=1", "traffic.x.load"),
            ("a..b=1", "a..b"),
        ] {
            let error = set(text, &[argument]).expect_err(argument);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.name, "--set");
            assert_eq!(&at.source.text[at.span.clone()], place);
        }
        assert!(set(text, &["seed"]).is_err());
        for broken in ["seed=", "title=\"x", "title=x\"", "title='x", "a.b=[1, 2", "a.b={c = 1"] {
            let error = set(text, &[broken]).expect_err(broken);
            assert!(matches!(error.problem(), Problem::Syntax(_)), "{error:?}");
        }
        assert!(set(text, &["title=two \"quoted\" words", "title=Ampère's law"]).is_ok());
        let nan = set(text, &["traffic.0.load=nan"]).expect_err("nan");
        assert!(matches!(nan.problem(), Problem::NotFinite { key, .. } if key == "traffic.0.load"));
    }

    #[test]
    fn a_dotted_key_sets_one_key_with_quotes_or_without_and_a_whole_table_takes_anothers_place() {
        let base = "[fabric]\nbuffer = 1\nrouting = 2\n[transport]\nname = \"a\"\nx = 3\n";
        let listed_in = |text: &str| {
            let Value::Table(table) = root(text).get("v").expect("v").node.value.clone() else {
                panic!("a table")
            };
            let mut changed = root(base);
            apply_all(&mut changed, &listed(&table)).expect("they apply");
            let whole = |name: &str| match &changed.get(name).expect("it is there").node.value {
                Value::Table(table) => table.keys().map(str::to_string).collect::<Vec<_>>(),
                _ => panic!("a table"),
            };
            (whole("fabric"), whole("transport"))
        };
        let both = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        for same in
            ["fabric.routing = 9", "\"fabric.routing\" = 9", "fabric . routing = 9", "fabric.'routing' = 9"]
        {
            let (fabric, transport) = listed_in(&format!("[v]\n{same}\n"));
            assert_eq!((fabric, transport), (both(&["buffer", "routing"]), both(&["name", "x"])), "{same}");
        }
        for whole in ["[v]\nfabric = { routing = 9 }\n", "[v.fabric]\nrouting = 9\n"] {
            assert_eq!(listed_in(whole).0, both(&["routing"]), "{whole}");
        }
        assert_eq!(
            listed_in("[v]\ntransport.name = \"b\"\n").1,
            both(&["name"]),
            "another transport starts anew"
        );
        assert_eq!(listed_in("[v]\ntransport.name = \"b\"\ntransport.y = 4\n").1, both(&["name", "y"]));
    }
}
