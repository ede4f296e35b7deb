//! A seed's story, in lines that a person can read.

use crate::engine::operation::event::{Command, Event};

/// Whether what happens is written down, which takes most of the time.
pub(super) enum Story<'a> {
    Untold,
    Written(&'a mut Vec<String>),
}

impl Story<'_> {
    pub(super) fn event(&mut self, now: u64, event: &Event) {
        match self {
            Self::Untold => {}
            Self::Written(lines) => lines.push(format!("{now:>6} {}", brief(event))),
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        match self {
            Self::Untold => {}
            Self::Written(lines) => lines.push(format!("         -> {}", brief_command(command))),
        }
    }
}

fn brief(event: &Event) -> String {
    short(format!("{event:?}"))
}

fn brief_command(command: &Command) -> String {
    match command {
        Command::CallModel { request, place, .. } => {
            format!("call_model {request:?} {} lap {}", place.step, place.lap)
        }
        Command::CallTool {
            request,
            place,
            tool,
            ..
        } => {
            format!(
                "call_tool {request:?} {} lap {} {tool}",
                place.step, place.lap
            )
        }
        Command::Verify { request, place, .. } => {
            let step = place.as_ref().map(|place| place.step.as_str());
            format!("verify {request:?} {step:?}")
        }
        Command::RecordSource(source) | Command::RecordLateSource(source) => {
            format!("{} {}", command.name(), source.header.id)
        }
        Command::Publish(event) => short(format!("{event:?}")),
        other => short(format!("{other:?}")),
    }
}

fn short(text: String) -> String {
    match text.char_indices().nth(220) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
