//! Plain questions at the terminal, one for each wait, for one admission (T5).
//!
//! Nothing is confirmed by accident: an empty line asks again, and the end of input leaves the
//! operation as it is.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};

use serde_json::Value;

use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::wait::{
    Accepting, Answer, Direction, OperatorVerdict, Permit, Question, Wait, WaitKey, Way,
};
use crate::engine::verify::AttestationVerdict;
use crate::tui::text::Inert;

/// What a person said of all waits.
pub(super) enum Said {
    /// Go on, with these answers; waits without one are looked at again.
    Answers(Vec<(WaitKey, Answer)>),
    /// Not now.
    Later,
    /// Cancel the operation.
    Cancel,
}

/// The person doesn't answer this question.
enum NoAnswer {
    Later,
    Cancel,
}

type Answered<T> = Result<T, NoAnswer>;

/// Asks about every wait. Reading the terminal blocks, so it has a thread of its own.
pub(super) async fn ask(waits: Vec<Wait>) -> Said {
    let asked = tokio::task::spawn_blocking(move || {
        // What was typed before the question was there is no answer to it.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
        let answers = waits.iter().map(question).collect::<Answered<Vec<_>>>()?;
        Ok(waits
            .into_iter()
            .map(|wait| wait.key)
            .zip(answers)
            .filter_map(|(key, answer)| Some((key, answer?)))
            .collect())
    });
    match asked.await {
        Ok(Ok(answers)) => Said::Answers(answers),
        Ok(Err(NoAnswer::Cancel)) => Said::Cancel,
        Ok(Err(NoAnswer::Later)) | Err(_) => Said::Later,
    }
}

/// Asks about one wait; `None` looks again.
fn question(wait: &Wait) -> Answered<Option<Answer>> {
    let place = match (&wait.key.step, wait.key.lap) {
        (Some(step), Some(lap)) if lap.0 > 1 => format!("{step} (lap {lap})"),
        (Some(step), _) => step.clone(),
        (None, _) => "the final verification".to_owned(),
    };
    say("");
    say(&format!(
        "{place} is {}: {}",
        wait.state.label(),
        wait.reason
    ));
    match &wait.question {
        Question::Recheck => {
            say("  The check is made again. What was sent and done is not repeated.");
            choose("Look again", &[('y', "yes")])?;
            Ok(None)
        }
        Question::Manual { prompt } => {
            say(&format!("  {prompt}"));
            say("  Your word is kept as an operator's attestation. It overrides no other check.");
            let verdict = match choose("Is it right", &[('r', "right"), ('n', "not right")])? {
                'r' => AttestationVerdict::Right,
                _ => AttestationVerdict::NotRight,
            };
            let reasoning = line("  why (may be empty)> ")?;
            let reasoning = (!reasoning.is_empty()).then_some(reasoning);
            Ok(Some(Answer::Attest { verdict, reasoning }))
        }
        Question::Permission { tool, args } => {
            say(&format!("  This exact call, once: {tool} {args}"));
            Ok(Some(Answer::Permit(
                match choose("May it be made", &[('a', "allow"), ('d', "deny")])? {
                    'a' => Permit::Allow,
                    _ => Permit::Deny,
                },
            )))
        }
        Question::OperatorGate {
            instructions,
            criteria,
            inputs,
            ways,
        } => {
            if let Some(instructions) = instructions.as_ref().filter(|text| **text != wait.reason) {
                say(&format!("  {instructions}"));
            }
            for criterion in criteria {
                say(&format!("  - {criterion}"));
            }
            for (source, input) in inputs {
                say(&format!("  from {source}: {input}"));
            }
            Ok(Some(Answer::Decide(verdict(ways, Value::Null)?)))
        }
        Question::Uncertain { needs, ways, .. } => {
            say("  Nothing is sent or done again.");
            let recheck = [('r', "look again"), ('f', "fail the routine")];
            let accept = [
                ('r', "look again"),
                ('a', "accept, supplying what is missing"),
                ('f', "fail the routine"),
            ];
            let choices = match needs {
                Accepting::Nothing => &recheck[..],
                Accepting::Verdict | Accepting::Result => &accept[..],
            };
            match (choose("What became of it", choices)?, needs) {
                ('f', _) => Ok(Some(Answer::Fail {
                    reasoning: text("  why> ")?,
                })),
                ('a', Accepting::Result) => {
                    let output = json("  its result, as JSON> ")?;
                    let reasoning = text("  why> ")?;
                    Ok(Some(Answer::Accept(OperatorVerdict {
                        verdict: Verdict::Pass,
                        reasoning,
                        output,
                        handoffs: BTreeMap::new(),
                        direction: None,
                    })))
                }
                ('a', Accepting::Verdict | Accepting::Nothing) => {
                    let output = json("  its output, as JSON> ")?;
                    Ok(Some(Answer::Accept(verdict(ways, output)?)))
                }
                _ => Ok(None),
            }
        }
    }
}

/// Asks for a verdict with everything that it needs.
fn verdict(ways: &[Way], output: Value) -> Answered<OperatorVerdict> {
    let verdict = match choose("Your verdict", &[('p', "pass"), ('f', "fail")])? {
        'p' => Verdict::Pass,
        _ => Verdict::Fail,
    };
    let leading: Vec<&Way> = ways.iter().filter(|way| way.verdict == verdict).collect();
    let has = |direction| leading.iter().any(|way| way.direction == direction);
    let direction = match (has(Direction::Onward), has(Direction::Back)) {
        (true, true) => Some(
            match choose(
                "Which way",
                &[('o', "onward: rejected"), ('b', "back: to be reworked")],
            )? {
                'o' => Direction::Onward,
                _ => Direction::Back,
            },
        ),
        (true, false) | (false, true) | (false, false) => None,
    };
    let reasoning = text("  why> ")?;
    let mut handoffs = BTreeMap::new();
    for way in leading
        .iter()
        .filter(|way| direction.is_none_or(|direction| way.direction == direction))
    {
        let Some(schema) = &way.handoff_schema else {
            continue;
        };
        if let Some(instructions) = &way.handoff_instructions {
            say(&format!("  {instructions}"));
        }
        say(&format!("  it must fit {schema}"));
        handoffs.insert(
            way.target.clone(),
            json(&format!("  handoff for {}, as JSON> ", way.target))?,
        );
    }
    Ok(OperatorVerdict {
        verdict,
        reasoning,
        output,
        handoffs,
        direction,
    })
}

/// Asks until one of the choices is named, by its letter, its words or the first of them.
fn choose(question: &str, choices: &[(char, &str)]) -> Answered<char> {
    let words: Vec<String> = choices
        .iter()
        .map(|(letter, word)| format!("[{letter}] {word}"))
        .collect();
    let prompt = format!(
        "  {question}? {}, [l] later, [c] cancel the operation> ",
        words.join(", ")
    );
    loop {
        let said = line(&prompt)?.to_lowercase();
        match said.as_str() {
            "l" | "later" => return Err(NoAnswer::Later),
            "c" | "cancel" => return Err(NoAnswer::Cancel),
            said => {
                let chosen = choices.iter().find(|(letter, word)| {
                    let first = word.split([' ', ',', ':']).next();
                    said == letter.to_string() || said == *word || Some(said) == first
                });
                if let Some((letter, _)) = chosen {
                    return Ok(*letter);
                }
            }
        }
    }
}

/// Asks until there is text.
fn text(prompt: &str) -> Answered<String> {
    loop {
        let said = line(prompt)?;
        if !said.is_empty() {
            return Ok(said);
        }
    }
}

/// Asks until there is JSON.
fn json(prompt: &str) -> Answered<Value> {
    loop {
        match serde_json::from_str(&text(prompt)?) {
            Ok(value) => return Ok(value),
            Err(error) => say(&format!("  that is no JSON: {error}")),
        }
    }
}

/// One line; its end leaves everything as it is.
fn line(prompt: &str) -> Answered<String> {
    let mut err = io::stderr().lock();
    if write!(err, "{}", Inert::one_line(prompt).as_str())
        .and_then(|()| err.flush())
        .is_err()
    {
        return Err(NoAnswer::Later);
    }
    let mut said = String::new();
    match io::stdin().lock().read_line(&mut said) {
        Ok(read) if read > 0 => Ok(said.trim().to_owned()),
        Ok(_) | Err(_) => Err(NoAnswer::Later),
    }
}

fn say(text: &str) {
    // A terminal that went away ends the next question.
    let _ = writeln!(io::stderr().lock(), "{}", Inert::text(text).as_str());
}
