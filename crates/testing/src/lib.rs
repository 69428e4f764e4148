//! Helpers for tests of several crates: the seeds that random properties draw their cases from, so that every run of
//! the tests draws the same ones, and a note of the tools that a skipped test lacks ([`absent`]).
//!
//! A property names [`cases!`] as its configuration:
//!
//! ```text
//! proptest! {
//!     #![proptest_config(headway_testing::cases!(500))]
//!
//!     #[test]
//!     fn sums_do_not_overflow(a: u32, b: u32) { /* … */ }
//! }
//! ```
//!
//! It first tries the seeds that [`LIST`] holds for it, and then draws its cases from [`SEED`]. When it fails, it prints the
//! command that repeats it. Two variables change that:
//!
//! * `HEADWAY_CASES=8` runs eight times as many cases (`make test-long`).
//! * `HEADWAY_EXPLORE=SEED` draws from another seed, and adds what fails to the list (`make soak`).

use proptest::test_runner::{Config, FailurePersistence, PersistedSeed, RngSeed};
use std::any::Any;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Every property draws its cases from this seed.
pub const SEED: u64 = 1;

/// The seeds that a property failed with once, one a line: package, target and name of the test, the seed, and behind `#` the
/// case that it made.
pub const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/found.seeds");

/// A property's configuration: this many cases, drawn from the fixed seed. It has to stand in the test itself, because it
/// takes the test's name from there.
#[macro_export]
macro_rules! cases {
    ($cases:expr) => {
        $crate::config($cases, $crate::test!())
    };
}

/// The [`Test`] that this stands in.
#[macro_export]
macro_rules! test {
    () => {{
        fn here() {}
        $crate::Test::of(env!("CARGO_PKG_NAME"), ::std::any::type_name_of_val(&here))
    }};
}

/// A test, by the names that cargo takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    package: &'static str,
    target: String,
    name: String,
}

impl Test {
    /// The test of `package` that holds the function at `path`.
    pub fn of(package: &'static str, path: &'static str) -> Test {
        // `proptest!` makes the body of a property a closure.
        let test = path.trim_end_matches("::here").trim_end_matches("::{{closure}}");
        let (program, name) = test.split_once("::").unwrap_or((package, test));
        let target =
            if program == package.replace('-', "_") { "--lib".into() } else { format!("--test={program}") };
        Test { package, target, name: name.to_string() }
    }

    /// The command that runs this test alone.
    pub fn command(&self) -> String {
        format!("cargo test -p {} {} -- --exact {}", self.package, self.target, self.name)
    }

    fn words(&self) -> String {
        format!("{} {} {} ", self.package, self.target, self.name)
    }

    /// The seeds that this test failed with once.
    pub fn found(&self) -> Vec<String> {
        self.listed(Path::new(LIST))
    }

    #[allow(clippy::disallowed_methods, reason = "the list is a file of the repository")]
    fn listed(&self, list: &Path) -> Vec<String> {
        // Packages on crates.io come without the repository, and so without the list.
        let text = std::fs::read_to_string(list).unwrap_or_default();
        let own = text.lines().filter_map(|line| line.strip_prefix(&self.words()));
        own.map(|rest| rest.split('#').next().unwrap_or_default().trim().to_string()).collect()
    }

    /// Adds a seed that this test failed with to the list, if new seeds are being explored.
    pub fn add(&self, seed: &str, case: &str) {
        if explored().is_some() {
            self.add_to(Path::new(LIST), seed, case);
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the list is a file of the repository")]
    fn add_to(&self, list: &Path, seed: &str, case: &str) {
        if self.listed(list).iter().any(|known| known == seed) {
            return;
        }
        // One call writes the whole line: other tests may add theirs at the same time.
        let line =
            format!("{}{seed} # {}\n", self.words(), case.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut file =
            std::fs::OpenOptions::new().append(true).create(true).open(list).expect("the list of seeds");
        file.write_all(line.as_bytes()).expect("the list of seeds");
    }
}

/// The seed to explore from, if `HEADWAY_EXPLORE` is set.
pub fn explored() -> Option<u64> {
    variable("HEADWAY_EXPLORE")
}

/// Factor for the number of cases: `HEADWAY_CASES`, or 1.
pub fn times() -> u32 {
    variable("HEADWAY_CASES").unwrap_or(1)
}

/// One in `n` of a list, such as the transports; all of it where more cases than usual are run. Tests begin at different places,
/// so that together they have everything.
#[macro_export]
macro_rules! one_in {
    ($n:expr, $all:expr) => {
        $crate::one_in($n, $all, &$crate::test!())
    };
}

/// Function behind [`one_in!`].
pub fn one_in<T: Copy>(n: usize, all: &[T], test: &Test) -> Vec<T> {
    if times() > 1 {
        return all.to_vec();
    }
    // Another first case for each test, and the same in every run.
    let first = test.name.bytes().map(usize::from).sum::<usize>() % n;
    all.iter().skip(first).step_by(n).copied().collect()
}

#[allow(clippy::disallowed_methods, reason = "how a developer asks for other cases or for more of them")]
fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let Ok(value) = text.parse() else { panic!("{name}: `{text}` is not a whole number") };
    Some(value)
}

/// Reports that a test is skipped because this machine lacks `what`, such as `clang (apt install clang)`. `make test` lists
/// all of these in its last line: it names a file in `HEADWAY_ABSENT`.
#[allow(clippy::disallowed_methods, reason = "the note outlives the process of the test")]
pub fn absent(what: &str) {
    eprintln!("skipped, as there is no {what}");
    if let Some(list) = std::env::var_os("HEADWAY_ABSENT") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(list).expect("the list");
        file.write_all(format!("{what}\n").as_bytes()).expect("the list");
    }
}

/// Function behind [`cases!`].
pub fn config(cases: u32, test: Test) -> Config {
    Config {
        cases: cases.saturating_mul(times()),
        rng_seed: RngSeed::Fixed(explored().unwrap_or(SEED)),
        failure_persistence: Some(Box::new(Seeds {
            test,
            list: LIST.into(),
            explores: explored().is_some(),
        })),
        ..Config::default()
    }
}

/// Gives a property its seeds of the list, and prints how to repeat it when it fails.
#[derive(Clone, PartialEq)]
struct Seeds {
    test: Test,
    list: PathBuf,
    explores: bool,
}

impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.test.fmt(f)
    }
}

impl FailurePersistence for Seeds {
    fn load_persisted_failures2(&self, _: Option<&'static str>) -> Vec<PersistedSeed> {
        let parse = |seed: String| {
            seed.parse().unwrap_or_else(|()| panic!("{}: `{seed}` is not a seed", self.list.display()))
        };
        self.test.listed(&self.list).into_iter().map(parse).collect()
    }

    fn save_persisted_failure2(
        &mut self,
        _: Option<&'static str>,
        seed: PersistedSeed,
        case: &dyn fmt::Debug,
    ) {
        if self.explores {
            self.test.add_to(&self.list, &seed.to_string(), &format!("{case:?}"));
        }
    }

    fn box_clone(&self) -> Box<dyn FailurePersistence> {
        Box::new(self.clone())
    }

    fn eq(&self, other: &dyn FailurePersistence) -> bool {
        other.as_any().downcast_ref::<Seeds>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Seeds {
    /// The runner of a property that fails is dropped by the panic, whichever case it was.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it: {}", self.test.command());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{TestError, TestRunner};
    use std::process::Command;

    /// Cases of a property that fails for the large numbers among them, with its list at `list`.
    fn run(list: &Path, explores: bool, seed: u64) -> (Vec<u64>, Option<u64>) {
        let test = Test::of("headway-testing", "headway_testing::of_a_test");
        let seeds = Seeds { test, list: list.into(), explores };
        let config = Config {
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: Some(Box::new(seeds)),
            // Not shrunk, so that the failure is the number that was drawn last.
            max_shrink_iters: 0,
            ..config(50, crate::test!())
        };
        let drawn = std::cell::RefCell::new(Vec::new());
        let outcome = TestRunner::new(config).run(&any::<u64>(), |number| {
            drawn.borrow_mut().push(number);
            // One number in eight fails: some of 50 do, and not the first one always.
            prop_assert!(number < u64::MAX / 8 * 7);
            Ok(())
        });
        let failed = match outcome {
            Err(TestError::Fail(_, number)) => Some(number),
            _ => None,
        };
        (drawn.into_inner(), failed)
    }

    fn unused_file() -> PathBuf {
        #[allow(clippy::disallowed_methods, reason = "a file of this test")]
        let folder = std::env::temp_dir();
        folder.join(format!("headway-testing-{}-{:?}", std::process::id(), std::thread::current().id()))
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a list of this test")]
    fn exploring_adds_a_failure_to_the_list_which_every_run_begins_with() {
        let list = unused_file();
        let (before, failed) = run(&list, false, SEED);
        assert_eq!((&before, failed), (&run(&list, false, SEED).0, failed), "the same cases each time");
        assert!(!list.exists(), "only exploring writes");
        let (_, found) = run(&list, true, 99);
        let found = found.expect("one of 50 is large");
        let text = std::fs::read_to_string(&list).expect("a list");
        assert!(text.starts_with("headway-testing --lib of_a_test cc "), "{text}");
        assert!(text.ends_with(&format!(" # {found}\n")), "{text}");
        let (again, failed) = run(&list, true, 7);
        assert_eq!((again[0], failed), (found, Some(found)), "it comes first");
        assert_eq!(std::fs::read_to_string(&list).expect("a list"), text, "and is not added twice");
        std::fs::remove_file(list).expect("removed");
    }

    proptest! {
        #![proptest_config(cases!(10))]

        #[test]
        #[ignore = "run by the test below, in a process of its own"]
        fn fails_where_it_is_to(number in 0u32..100) {
            assert!(number > 100 || variable::<u32>("HEADWAY_FAIL").is_none());
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "runs the failing property above")]
    fn a_failure_prints_the_one_command_that_repeats_it() {
        let tests = std::env::current_exe().expect("this program");
        let ran = Command::new(tests)
            .args(["--ignored", "--exact", "tests::fails_where_it_is_to"])
            .env("HEADWAY_FAIL", "1")
            .output()
            .expect("it runs");
        assert!(!ran.status.success());
        let text = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("to repeat it: ")).collect();
        assert_eq!(
            commands,
            ["to repeat it: cargo test -p headway-testing --lib -- --exact tests::fails_where_it_is_to"],
            "{text}"
        );
    }

    #[test]
    fn a_test_knows_how_it_is_asked_for() {
        let test = |path| Test::of("headway-host", path).command();
        assert_eq!(
            test("it::secrecy::both::here"),
            "cargo test -p headway-host --test=it -- --exact secrecy::both"
        );
        assert_eq!(
            test("headway_host::replay::tests::agrees::here"),
            "cargo test -p headway-host --lib -- --exact replay::tests::agrees"
        );
    }

    #[test]
    fn one_in_some_is_a_part_that_depends_on_the_test() {
        let part = |name| one_in(3, &[0, 1, 2, 3, 4, 5, 6], &Test::of("p", name));
        let all = [part("it::a"), part("it::b"), part("it::c")].concat();
        assert!(times() > 1 || (0..7).all(|n| all.iter().filter(|one| **one == n).count() == 1), "{all:?}");
    }

    /// A block without [`cases!`] would draw other cases every time.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "reads the sources")]
    fn every_property_of_the_workspace_takes_its_seeds_from_here() {
        let (mut folders, mut blocks) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")], 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = std::fs::read_to_string(&path).expect("a source");
                    // Put together here, so that this test does not find itself.
                    for block in text.split(&["proptest", "! {"].concat()).skip(1) {
                        blocks += 1;
                        let first = block.trim_start().trim_start_matches("//!").lines().next();
                        let config = first.unwrap_or_default().trim_start();
                        let fixed = config.starts_with("#![proptest_config(") && config.contains("cases!(");
                        assert!(fixed, "{}: {config}", path.display());
                    }
                    for fresh in ["TestRunner::default", "TestRunner::new(Config", "Config::with_cases"] {
                        assert!(
                            !text.contains(fresh) || path.ends_with("testing/src/lib.rs"),
                            "{}: {fresh}",
                            path.display()
                        );
                    }
                }
            }
        }
        // A search that finds no block would pass everything.
        assert!(blocks > 20, "{blocks}");
    }
}
