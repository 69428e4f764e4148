//! `headway-kernel`: loads congestion controls into the Linux kernel. `headway kernel` calls it.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, signals and an exit status")]

use clap::{Parser, Subcommand};
use headway_kernel::{Control, KernelError};
use std::process::ExitCode;

/// L2DCT, DCTCP and D2TCP as congestion controls of the Linux kernel.
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
        /// Which
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
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Unload one
    Unload {
        /// Its name
        name: String,
    },
    /// Only check whether this machine can load one
    #[command(hide = true)]
    Probe,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "load")))]
fn run(command: &Command) -> Result<(), KernelError> {
    // What is wrong with the command comes first.
    if let Command::Load { control, sets, .. } = command {
        control.settings(sets)?;
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
        Command::Unload { name } => headway_kernel::registry::unload(name),
        Command::Probe => headway_kernel::registry::available(),
    }
}

#[cfg(all(target_os = "linux", feature = "load"))]
fn load(control: Control, sets: &[String], pin: bool, suffix: &str) -> Result<(), KernelError> {
    use std::io::Write;
    let settings = control.settings(sets)?;
    // Before it is loaded: a signal from then on is not lost.
    let (stop, stopped) = std::sync::mpsc::channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })
    .map_err(|error| KernelError::refused("watching for Ctrl-C", error))?;
    let (name, loaded) = headway_kernel::registry::load(control, &settings, suffix, pin)?;
    let until = match loaded.pinned() {
        Some(path) => format!("pinned in {}: `headway kernel unload {name}` unloads it", path.display()),
        None => "Ctrl-C unloads it".into(),
    };
    let said = writeln!(std::io::stdout(), "{name} is loaded; {until}");
    if !pin && said.and_then(|()| std::io::stdout().flush()).is_ok() {
        let _ = stopped.recv();
    }
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
    for entry in &entries {
        let processes = entry.processes.iter().map(|(pid, name)| format!("process {pid} ({name})"));
        let pin = entry.pin.iter().map(|path| path.display().to_string());
        let held: Vec<String> = processes.chain(pin).collect();
        println!("{:<16} {:<8} {}", entry.name, entry.control, held.join(", "));
    }
    Ok(())
}
