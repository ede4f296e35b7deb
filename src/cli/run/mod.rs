//! `amos-tui run FILE`: one operation from start to rest, and what to do at a wait.
//!
//! | file | idea |
//! |---|---|
//! | `mod` | arguments, exit, signals |
//! | `events` | events out, as JSON lines or for people |
//! | `wait` | what happens at a wait: exit, poll, prompt |
//! | `prompt` | questions to a person at the terminal |

mod events;
mod prompt;
mod wait;

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Format;
use crate::cli::exit::Exit;
use crate::cli::issues::FileReport;
use crate::cli::open::{MODEL_HINT, Opening};
use crate::cli::output::{print, tell};
use crate::cli::run::events::Printer;
use crate::cli::trouble::Trouble;
use crate::engine::id::OperationId;
use crate::engine::operation::outcome::{Outcome, Status};
use crate::host::session::{NotPrepared, Prepared, Problems, Rest, Session, read_routine};
use crate::host::settings::Flags;
use crate::host::strict_json;
use crate::host::tools::KNOWN_TOOLS;

#[derive(Debug, clap::Args)]
#[command(after_help = EXITS)]
pub(in crate::cli) struct Arguments {
    /// The routine file, YAML or JSON.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A parameter of the routine: `name=text`, or `name:=json`; may be repeated.
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// The model for whatever names none: `provider/model`, or `offline`. An agent's own `model` or `role` wins.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// What to do when the operation waits.
    #[arg(long, value_enum, default_value = "exit")]
    on_wait: OnWait,
    /// Let this tool be called without asking; may be repeated.
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// The folder that tools and checks work in; the current one by default.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// How to write what happens.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What the exit codes say (C2).
const EXITS: &str = "Exit codes: 0 succeeded, 1 failed or invalid, 2 bad usage or an unreadable file, \
    3 waits, 4 cancelled, 130/143/129 after SIGINT/SIGTERM/SIGHUP.";

/// How long ending what still runs may take.
const SHUTDOWN: Duration = Duration::from_millis(200);

/// What to do when the operation waits (C1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnWait {
    /// Exit with 3; the right to go on ends with the process.
    Exit,
    /// Look again while a check says waiting; exit with 3 for any other wait.
    Poll,
    /// Ask at the terminal: confirm, decide, permit or cancel.
    Prompt,
}

pub(in crate::cli) fn main(arguments: Arguments) -> Exit {
    // One thread is enough for one operation's driver; ports get the other core.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("can't start the asynchronous runtime")
    {
        Ok(runtime) => runtime,
        Err(error) => return Trouble::caused(error).report(),
    };
    let exit = runtime.block_on(run(arguments));
    // What still runs ends with its task: a command that doesn't listen, after a second signal. A
    // terminal that is still being read must not hold the exit up.
    runtime.shutdown_timeout(SHUTDOWN);
    exit
}

async fn run(arguments: Arguments) -> Exit {
    // Before anything that takes time: a signal that comes early has its code too (C2).
    let mut signals = match Signals::listen().context("can't listen for signals") {
        Ok(signals) => signals,
        Err(error) => return Trouble::caused(error).report(),
    };
    let started = tokio::select! {
        started = start(&arguments) => started,
        number = signals.any() => return Exit::Signal(number),
    };
    match started {
        Ok(run) => run.until_it_ends(arguments.on_wait, &mut signals).await,
        Err(exit) => exit,
    }
}

/// An operation that is about to start, with everything around it.
struct Run {
    session: Session,
    prepared: Prepared,
    inputs: BTreeMap<String, Value>,
    printer: Arc<Printer>,
}

async fn start(arguments: &Arguments) -> Result<Run, Exit> {
    if arguments.on_wait == OnWait::Prompt
        && !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal())
    {
        return Err(Trouble::usage("--on-wait prompt needs a terminal")
            .hint("use --on-wait exit or --on-wait poll where nobody can answer")
            .report());
    }
    let inputs = inputs(&arguments.inputs).map_err(|text| {
        Trouble::usage(text)
            .hint("give inputs as -i name=text, or -i name:=json")
            .report()
    })?;
    if let Some(tool) = arguments
        .allow
        .iter()
        .find(|tool| !KNOWN_TOOLS.contains(&tool.as_str()))
    {
        return Err(Trouble::usage(format!("--allow names no tool: {tool}"))
            .hint(format!("known are {}", KNOWN_TOOLS.join(", ")))
            .report());
    }
    let bytes = read_routine(&arguments.file).map_err(|error| {
        Trouble::caused(error)
            .hint("name a routine file, YAML or JSON")
            .report()
    })?;
    let (session, printer) = open(arguments).await?;
    let prepared = match session.prepare(&bytes) {
        Ok(prepared) => prepared,
        Err(NotPrepared::Invalid(problems)) => return Err(invalid(arguments, &problems)),
        Err(error @ NotPrepared::Model { .. }) => {
            return Err(Trouble::caused(error).hint(MODEL_HINT).report());
        }
    };
    // Before anything is billed (T4).
    tell(&format!("model: {}", session.model_text()));
    Ok(Run {
        session,
        prepared,
        inputs,
        printer,
    })
}

async fn open(arguments: &Arguments) -> Result<(Session, Arc<Printer>), Exit> {
    let flags = Flags {
        model: arguments.model.clone(),
        allow: arguments.allow.clone(),
    };
    let printer = Printer::start(arguments.format)
        .map_err(|error| Trouble::caused(error).report())
        .map(Arc::new)?;
    let opening =
        Opening::prepare(&flags, arguments.workspace.as_deref()).map_err(Trouble::report)?;
    let session = opening.open(printer.clone()).await;
    Ok((session.map_err(Trouble::report)?, printer))
}

/// C2: an invalid file is C4's line and no event.
fn invalid(arguments: &Arguments, problems: &Problems) -> Exit {
    let report = FileReport::of(&arguments.file, &problems.issues);
    match arguments.format {
        Format::Json => match print(&report.json()) {
            Ok(()) => Exit::Failed,
            Err(closed) => closed,
        },
        Format::Text => {
            tell(report.text().trim_end());
            Exit::Failed
        }
    }
}

/// Reads `-i` arguments (routine-format.md).
fn inputs(arguments: &[String]) -> Result<BTreeMap<String, Value>, String> {
    let mut inputs = BTreeMap::new();
    for argument in arguments {
        let Some(at) = argument.find('=') else {
            return Err(format!("{argument:?} is no input"));
        };
        let (name, value) = match argument[..at].strip_suffix(':') {
            Some(name) => {
                let value = strict_json::parse(&argument[at + 1..])
                    .map_err(|error| format!("input `{name}` is not JSON: {error}"))?;
                (name, value)
            }
            None => (
                &argument[..at],
                Value::String(argument[at + 1..].to_owned()),
            ),
        };
        if name.is_empty() {
            return Err(format!("{argument:?} names no input"));
        }
        if inputs.insert(name.to_owned(), value).is_some() {
            return Err(format!("input `{name}` is given twice"));
        }
    }
    Ok(inputs)
}

impl Run {
    async fn until_it_ends(self, on_wait: OnWait, signals: &mut Signals) -> Exit {
        let hint = self.input_hint();
        let Self {
            session,
            prepared,
            inputs,
            printer,
        } = self;
        let cancellation = printer.closed().clone();
        // Before anything is done, where nobody would be told of it.
        if cancellation.is_cancelled() {
            return Exit::Cancelled;
        }
        let mut live = match session.start(&prepared, inputs, cancellation) {
            Ok(live) => live,
            Err(error) => return Trouble::caused(error).hint(hint).report(),
        };
        let operation = live.operation().clone();
        let mut rest = tokio::select! {
            rest = session.rest(&mut live) => rest.unwrap_or(Rest::Ended),
            number = signals.any() => {
                return interrupted(&session, &operation, &printer, signals, number).await;
            }
        };
        // A deadline runs on at a wait, and ends it (V24).
        let ended = session.ended(&operation).fuse();
        tokio::pin!(ended);
        loop {
            let next = async {
                // What a question is about is read before it is asked.
                printer.printed().await;
                wait::at(on_wait, &session, &mut live, &rest).await
            };
            let next = tokio::select! {
                next = next => next,
                Some(end) = &mut ended => wait::Next::Rest(Box::new(end)),
                number = signals.any() => {
                    return interrupted(&session, &operation, &printer, signals, number).await;
                }
            };
            let exit = match next {
                wait::Next::Rest(next) => {
                    rest = *next;
                    continue;
                }
                wait::Next::Exit(exit) => exit,
            };
            let closed = async {
                session.close().await;
                printer.printed().await;
            };
            tokio::select! {
                () = closed => {}
                number = signals.any() => return Exit::Signal(number),
            }
            // A stdout that nobody reads any more is a cancellation, whatever came of it (C2).
            return match printer.closed().is_cancelled() {
                true => Exit::Cancelled,
                false => exit,
            };
        }
    }

    fn input_hint(&self) -> String {
        let parameters = &self.prepared.routine.definition.parameters;
        if parameters.is_empty() {
            return "the routine takes no inputs".into();
        }
        let names: Vec<String> = parameters
            .iter()
            .map(
                |parameter| match parameter.required && parameter.default.is_none() {
                    true => format!("{} (required)", parameter.name),
                    false => parameter.name.clone(),
                },
            )
            .collect();
        format!(
            "inputs are {}; give them as -i name=text, or -i name:=json",
            names.join(", ")
        )
    }
}

/// A signal cancels; the settled event comes first (C2).
async fn interrupted(
    session: &Session,
    operation: &OperationId,
    printer: &Printer,
    signals: &mut Signals,
    number: u8,
) -> Exit {
    let ended = async {
        session.cancel(operation).await;
        session.close().await;
        printer.printed().await;
    };
    tokio::select! {
        () = ended => {}
        // Whoever asks twice doesn't want to wait, for a reader of stdout that stopped reading either.
        _ = signals.any() => {}
    }
    Exit::Signal(number)
}

/// The exit code of an outcome (C2).
fn exit_of(outcome: &Outcome) -> Exit {
    match outcome.status {
        Status::Succeeded => Exit::Succeeded,
        Status::Failed => Exit::Failed,
        Status::Cancelled => Exit::Cancelled,
    }
}

/// The signals that end a run.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    /// Caught so that a file at its size limit is an error to report, not the process's end (C2).
    _file_size: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The number of the next one.
    async fn any(&mut self) -> u8 {
        tokio::select! {
            Some(()) = self.interrupt.recv() => 2,
            Some(()) = self.terminate.recv() => 15,
            Some(()) = self.hang_up.recv() => 1,
            else => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: &[&str]) -> Result<Value, String> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        inputs(&arguments).map(|inputs| json!(inputs))
    }

    #[test]
    fn inputs_are_text_or_json() {
        assert_eq!(
            read(&["a=1=2", "b:=[1,\"=\"]", "c=", "d:=null"]),
            Ok(json!({"a": "1=2", "b": [1, "="], "c": "", "d": null}))
        );
    }

    #[test]
    fn what_is_no_input_is_refused() {
        for wrong in [&["a"][..], &["=1"], &[":=1"], &["a:=x"], &["a=1", "a=2"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
