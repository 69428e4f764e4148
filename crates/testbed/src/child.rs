//! A process of the testbed: spawned in a namespace, spoken to in lines, killed when dropped.

#![allow(clippy::disallowed_methods, reason = "the testbed is made of processes and real time")]

use crate::TestbedError;
use crate::messages::{Answer, ControlCommand};
use crate::namespaces::in_new_namespace;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Longest line that a child may say, in bytes.
const LONGEST_LINE: u64 = 256 << 20;

/// A child process with its standard input.
pub struct ChildProcess {
    name: String,
    process: Child,
    input: Option<ChildStdin>,
}

/// Something that a child said, or the end of it.
#[derive(Debug)]
pub enum ChildEvent {
    /// The process sent an answer.
    Answer(Answer),
    /// It ended, or broke the protocol, with its output on standard error.
    Ended(String),
}

impl ChildProcess {
    /// Starts a program in a namespace of its own; its messages go to `said` under `number`.
    pub fn spawn_child(
        name: String,
        program: &Path,
        arguments: &[String],
        number: usize,
        said: &Sender<(usize, ChildEvent)>,
    ) -> Result<ChildProcess, TestbedError> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_new_namespace(&mut command);
        let step = |source| TestbedError::Io { step: format!("starting {}", program.display()), source };
        let mut process = command.spawn().map_err(step)?;
        let (input, output, errors) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let said = said.clone();
        std::thread::spawn(move || {
            let mut end = String::new();
            if let Some(output) = output {
                // The bound is on all that a child says, so that one that writes without end cannot fill this
                // process's memory.
                for line in BufReader::new(output.take(LONGEST_LINE)).lines().map_while(Result::ok) {
                    match serde_json::from_str(&line) {
                        Ok(answer) => {
                            if said.send((number, ChildEvent::Answer(answer))).is_err() {
                                return;
                            }
                        }
                        // Kept for the report of its end: a library's warning on standard output must not fail
                        // the run by itself.
                        Err(error) => end += &format!("it said {line:.200?}, which is no answer: {error}; "),
                    }
                }
            }
            // After the output has ended, so a panic's message is complete; the pipe holds 64 kB until then.
            if let Some(errors) = errors {
                let _ = errors.take(1 << 16).read_to_string(&mut end);
            }
            let _ = said.send((number, ChildEvent::Ended(end.trim().to_string())));
        });
        Ok(ChildProcess { name, process, input })
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Tells it something. A child that is gone is noticed by its messages, or by their absence.
    pub fn send_command(&mut self, command: ControlCommand) {
        let Some(input) = &mut self.input else { return };
        let Ok(mut line) = serde_json::to_string(&command) else { return };
        line.push('\n');
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            self.input = None;
        }
    }

    /// The error that the process failed for the reason `why`.
    pub fn failed_error(&self, why: String) -> TestbedError {
        TestbedError::Child { name: self.name.clone(), why }
    }

    /// The end of the process, now that its output has ended: in one clause, with its complaint.
    pub fn end_clause(&mut self, complaint: &str) -> String {
        // Its output ends a moment before the process does.
        let deadline = Instant::now() + Duration::from_secs(1);
        let status = loop {
            match self.process.try_wait() {
                Ok(Some(status)) => break format!("it ended with {status}"),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => break "it stopped answering".into(),
            }
        };
        if complaint.is_empty() { status } else { format!("{status}: {complaint}") }
    }

    /// Kills it at once.
    pub fn kill_child(&mut self) {
        let _ = self.process.kill();
        // Without it a killed child stays a zombie until this process ends.
        let _ = self.process.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill_child();
    }
}

/// Collects what children say.
pub struct ChildEvents {
    receiver: Receiver<(usize, ChildEvent)>,
}

impl ChildEvents {
    /// A pair of a sender for children and the events.
    pub fn new() -> (Sender<(usize, ChildEvent)>, ChildEvents) {
        let (sender, receiver) = channel();
        (sender, ChildEvents { receiver })
    }

    /// The next thing said until `deadline`; `None` when it has come.
    pub fn next_event(&self, deadline: Instant) -> Option<(usize, ChildEvent)> {
        self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Waits until every child has said `Ready`.
    pub fn all_ready(&self, children: &mut [ChildProcess], limit: Duration) -> Result<(), TestbedError> {
        let deadline = Instant::now() + limit;
        let mut waiting: Vec<bool> = vec![true; children.len()];
        while waiting.contains(&true) {
            match self.next_event(deadline) {
                Some((number, ChildEvent::Answer(Answer::Ready))) => waiting[number] = false,
                Some((number, ChildEvent::Answer(Answer::Failed { why }))) => {
                    return Err(children[number].failed_error(why));
                }
                Some((number, ChildEvent::Ended(complaint))) => {
                    let why = children[number].end_clause(&complaint);
                    return Err(children[number].failed_error(why));
                }
                Some(_) => {}
                None => {
                    // The first that is not ready: children come up in order, so the others may only be waiting
                    // for it.
                    let late = waiting.iter().position(|w| *w).unwrap_or(0);
                    let why = format!("it was not ready within {} s", limit.as_secs());
                    return Err(children[late].failed_error(why));
                }
            }
        }
        Ok(())
    }
}
