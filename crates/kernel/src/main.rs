//! `headway-kernel`: loads congestion controls into the Linux kernel. `headway kernel` calls it.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, signals and an exit status")]

use clap::{Parser, Subcommand};
use headway_kernel::{Control, KernelError};
use std::process::ExitCode;

/// L2DCT, DCTCP, D2TCP and Vegas as congestion controls of the Linux kernel.
#[derive(Parser)]
#[command(name = "headway-kernel", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load one, and keep it until Ctrl-C
    Load {
        /// Congestion control to load
        control: Control,
        /// A parameter, NAME=VALUE
        #[arg(long = "set", value_name = "NAME=VALUE")]
        sets: Vec<String>,
        /// Return at once, and leave it loaded until `unload`
        #[arg(long)]
        pin: bool,
        /// Appended to its name, which is the kernel's for all namespaces
        #[arg(long, default_value = "")]
        suffix: String,
    },
    /// List those that are loaded from BPF
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a loaded one is set to, and what it has counted
    Show {
        /// Its name
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Unload one
    Unload {
        /// Name of the congestion control
        name: String,
    },
    /// Mark packets that leave by an interface while its queue is long, until Ctrl-C
    Mark {
        /// Name of the interface
        interface: String,
        /// Packets that wait, from which on the next one is marked
        #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
        threshold: u32,
    },
    /// Count the lines of C that each control takes beyond DCTCP, if it is built on that
    Lines {
        /// Print the counts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Only check whether this machine can load one
    #[command(hide = true)]
    Probe,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    // Before anything is asked of the kernel, so that it also works where nothing can be loaded.
    if let Command::Lines { json } = command {
        count_lines(json);
        return ExitCode::SUCCESS;
    }
    match run(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn count_lines(json: bool) {
    let counts = Control::ALL.map(|control| (control.name(), headway_kernel::lines::beyond_dctcp(control)));
    if json {
        let built: std::collections::BTreeMap<_, _> =
            counts.iter().filter_map(|(name, lines)| Some((name, (*lines)?))).collect();
        println!("{}", serde_json::json!(built));
        return;
    }
    for (name, lines) in counts {
        match lines {
            Some(lines) => println!("{name}: {lines} lines of C beyond dctcp"),
            None => println!("{name}: not built on dctcp"),
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "load")))]
fn run(command: &Command) -> Result<(), KernelError> {
    // A fault in the command is reported before one of the machine.
    if let Command::Load { control, sets, .. } = command {
        control.parse_settings(sets)?;
    }
    Err(KernelError::Missing(match cfg!(target_os = "linux") {
        true => "a build with libelf, whose headers were not there: apt install libelf-dev zlib1g-dev, \
                 then make install"
            .into(),
        false => "Linux".into(),
    }))
}

#[cfg(all(target_os = "linux", feature = "load"))]
fn run(command: &Command) -> Result<(), KernelError> {
    match command {
        Command::Load { control, sets, pin, suffix } => load(*control, sets, *pin, suffix),
        Command::List { json } => list(*json),
        Command::Show { name, json } => show(name, *json),
        Command::Unload { name } => unload(name),
        Command::Mark { interface, threshold } => {
            let stop = interrupts()?;
            let _marker = headway_kernel::marker::Marker::new(interface, *threshold)?;
            wait(&stop, &format!("{interface} marks from {threshold} packets on; Ctrl-C ends it"))
        }
        Command::Probe => headway_kernel::registry::available(),
        // Needs nothing of the kernel, so that it was done before.
        Command::Lines { .. } => Ok(()),
    }
}

#[cfg(all(target_os = "linux", feature = "load"))]
fn unload(name: &str) -> Result<(), KernelError> {
    use headway_kernel::registry;
    registry::unload(name)?;
    println!("{name} is unloaded; connections that use it keep it until they end");
    warn_of_namespaces(name);
    Ok(())
}

/// Says which network namespaces name a control that is not, or no longer, the one that is loaded: their new connections go on with
/// the program of before.
#[cfg(all(target_os = "linux", feature = "load"))]
fn warn_of_namespaces(name: &str) {
    let pids = headway_kernel::registry::namespaces_with(name);
    if pids.is_empty() {
        return;
    }
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    eprintln!(
        "warning: net.ipv4.tcp_congestion_control is {name} in the network namespaces of processes {}, which keep the program of \
         before for new connections as well; set it again there",
        pids.join(", ")
    );
}

/// Settings and counters of a loaded program.
#[cfg(all(target_os = "linux", feature = "load"))]
fn show(name: &str, json: bool) -> Result<(), KernelError> {
    use headway_kernel::registry;
    let entries = registry::list()?;
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let hint = if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) };
        return Err(KernelError::NotLoaded { name: name.into(), hint });
    };
    let programs = registry::programs()?;
    // The last of a name is the newest; earlier ones are those that connections still keep.
    let Some(program) = programs.iter().rfind(|program| program.about.name == name) else {
        return Err(KernelError::refused_step(
            format!("showing {name}"),
            "it was loaded by another version of Headway",
        ));
    };
    let words = program.live.parameter_words(&entry.control);
    let about = &program.about;
    let old = registry::kept(&programs, &entries)
        .iter()
        .find(|(old, _)| old == name)
        .map_or(0, |(_, count)| *count);
    if json {
        let settings: serde_json::Map<String, serde_json::Value> =
            words.iter().map(|(key, value)| ((*key).to_string(), value.as_str().into())).collect();
        println!(
            "{}",
            serde_json::json!({
                "name": name, "control": entry.control, "settings": settings, "connections": about.connections,
                "fallbacks": about.fallbacks, "older_programs": old, "version": env!("CARGO_PKG_VERSION"),
            })
        );
        return Ok(());
    }
    println!("{name}: {}", entry.control);
    words.iter().for_each(|(key, value)| println!("  {key:<20} {value}"));
    println!("  {:<20} {}", "connections", about.connections);
    println!("  {:<20} {}", "became reno", about.fallbacks);
    if old > 0 {
        println!("  {:<20} {old}", "programs of before");
    }
    Ok(())
}

#[cfg(all(target_os = "linux", feature = "load"))]
fn load(control: Control, sets: &[String], pin: bool, suffix: &str) -> Result<(), KernelError> {
    let settings = control.parse_settings(sets)?;
    // Before the program is loaded: a Ctrl-C in between must not leave it behind.
    let stop = interrupts()?;
    let (name, loaded) = headway_kernel::registry::load(control, &settings, suffix, pin)?;
    warn_of_namespaces(&name);
    let Some(path) = loaded.pinned() else {
        return wait(&stop, &format!("{name} is loaded; Ctrl-C unloads it"));
    };
    println!("{name} is loaded and pinned in {}; `headway kernel unload {name}` unloads it", path.display());
    Ok(())
}

/// Ctrl-C and the like. Asked for before anything is changed, so that none is lost.
#[cfg(all(target_os = "linux", feature = "load"))]
fn interrupts() -> Result<std::sync::mpsc::Receiver<()>, KernelError> {
    let (stop, stopped) = std::sync::mpsc::channel();
    ctrlc::set_handler(move || {
        // The channel is closed only when the program is about to end.
        let _ = stop.send(());
    })
    .map_err(|error| KernelError::refused_step("watching for Ctrl-C", error))?;
    Ok(stopped)
}

/// Says a line and waits for Ctrl-C.
#[cfg(all(target_os = "linux", feature = "load"))]
fn wait(stop: &std::sync::mpsc::Receiver<()>, line: &str) -> Result<(), KernelError> {
    use std::io::Write;
    let mut out = std::io::stdout();
    // The program can still be ended when its output is not read.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    let _ = stop.recv();
    Ok(())
}

#[cfg(all(target_os = "linux", feature = "load"))]
fn list(json: bool) -> Result<(), KernelError> {
    let entries = headway_kernel::registry::list()?;
    if json {
        let entry = |entry: &headway_kernel::registry::Entry| {
            let processes: Vec<i32> = entry.processes.iter().map(|(pid, _)| *pid).collect();
            serde_json::json!({
                "name": entry.name, "control": entry.control, "processes": processes, "pin": entry.pin,
            })
        };
        println!("{}", serde_json::Value::from(entries.iter().map(entry).collect::<Vec<_>>()));
        return Ok(());
    }
    if entries.is_empty() {
        println!("none is loaded");
    }
    for (name, count) in headway_kernel::registry::kept(&headway_kernel::registry::programs()?, &entries) {
        println!("{name:<16} {count} program(s) of before, which connections or namespaces keep");
    }
    for entry in &entries {
        let processes = entry.processes.iter().map(|(pid, name)| format!("process {pid} ({name})"));
        let pin = entry.pin.iter().map(|path| path.display().to_string());
        let held: Vec<String> = processes.chain(pin).collect();
        println!("{:<16} {:<8} {}", entry.name, entry.control, held.join(", "));
    }
    Ok(())
}
