//! Confirming a pause: one question a wait, one admission for all of them (T5).
//!
//! It is bound to the operation and to the generation of its pause. What is left open is looked at
//! again; nothing is chosen until somebody chooses it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::id::{Generation, OperationId};
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::view::OperationView;
use crate::engine::operation::wait::{
    Accepting, Answer, Direction, OperatorVerdict, Permit, Question, Wait, WaitKey, Way,
};
use crate::engine::verify::AttestationVerdict;
use crate::tui::state::form::Form;
use crate::tui::state::operations::{Operation, Pause};
use crate::tui::theme::Role;

/// A pause that is being answered.
#[derive(Debug, Clone)]
pub struct Confirm {
    /// Which operation.
    pub operation: OperationId,
    /// Which pause of it.
    pub generation: Generation,
    questions: Vec<Asked>,
}

/// A wait and where its answer stands in the form.
#[derive(Debug, Clone)]
struct Asked {
    wait: Wait,
    fields: Fields,
}

/// Where an answer stands in the form.
#[derive(Debug, Clone)]
enum Fields {
    /// It is looked at again.
    Recheck,
    Manual {
        choice: usize,
        why: usize,
    },
    Permission {
        choice: usize,
    },
    Gate(VerdictFields),
    Uncertain {
        choice: usize,
        why: usize,
        accept: Option<AcceptFields>,
    },
}

#[derive(Debug, Clone)]
struct AcceptFields {
    output: usize,
    supplies: Supplies,
}

/// What accepting supplies besides the output.
#[derive(Debug, Clone)]
enum Supplies {
    Reason { why: usize },
    Verdict(VerdictFields),
}

/// Where a verdict stands in the form.
#[derive(Debug, Clone)]
struct VerdictFields {
    verdict: usize,
    direction: BTreeMap<usize, usize>,
    why: usize,
    handoffs: Vec<(Way, usize)>,
}

/// Conditions under which an item is there.
type When = Vec<(usize, Vec<usize>)>;

/// What is still missing or wrong, and where.
type Missing = (usize, String);

const PASS: usize = 0;
const FAIL: usize = 1;
const VERDICTS: [&str; 2] = ["pass", "fail"];
const DIRECTIONS: [&str; 2] = ["onward: rejected", "back: to be reworked"];

impl Confirm {
    /// The questions of a pause and their form.
    pub fn of(operation: &Operation, pause: &Pause) -> (Self, Form) {
        let mut form = Form::of("Cancel", "Confirm");
        promise(&mut form, &pause.waits, operation.view.as_ref());
        let several = pause.waits.len() > 1;
        let mut questions = Vec::with_capacity(pause.waits.len());
        for (n, wait) in pause.waits.iter().enumerate() {
            form.say(Role::Text, "");
            let number = match several {
                true => format!("{} of {}: ", n + 1, pause.waits.len()),
                false => String::new(),
            };
            let title = format!(
                "{number}{}: {} ({})",
                place(&wait.key),
                wait.state.label(),
                wait.kind.label()
            );
            form.say(Role::Title, &title);
            form.say(Role::Text, &wait.reason);
            let fields = ask(&mut form, wait);
            questions.push(Asked {
                wait: wait.clone(),
                fields,
            });
        }
        let confirm = Self {
            operation: operation.id.clone(),
            generation: pause.generation,
            questions,
        };
        (confirm, form)
    }

    /// What was answered; or what is missing, and where.
    pub fn answers(&self, form: &Form) -> Result<Vec<(WaitKey, Answer)>, Missing> {
        let answers = self.questions.iter().map(|asked| {
            let answer = answer(&asked.fields, form)?;
            Ok(answer.map(|answer| (asked.wait.key.clone(), answer)))
        });
        answers.filter_map(Result::transpose).collect()
    }
}

/// What will be looked at, and what will not happen again.
fn promise(form: &mut Form, waits: &[Wait], view: Option<&OperationView>) {
    let rechecks = waits
        .iter()
        .filter(|wait| matches!(wait.question, Question::Recheck))
        .map(|wait| place(&wait.key))
        .collect::<Vec<_>>();
    let again = match rechecks.is_empty() {
        true => "what is left open below".to_owned(),
        false => rechecks.join(", "),
    };
    form.say(Role::Text, &format!("Looked at again: {again}."));
    let done = view.map_or_else(
        || "What was sent and done".to_owned(),
        |view| {
            format!(
                "{} and {}",
                counted(view.usage.model_calls, "model call"),
                counted(view.usage.tool_calls, "tool call")
            )
        },
    );
    form.say(
        Role::Text,
        &format!("Not repeated: {done}. It overrides no check and changes nothing outside."),
    );
}

/// A number of things, in words that fit it.
fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// Where a wait stands, for people.
pub fn place(key: &WaitKey) -> String {
    match (&key.step, key.lap) {
        (Some(step), Some(lap)) if lap.0 > 1 => format!("{step} (lap {lap})"),
        (Some(step), _) => step.clone(),
        (None, _) => "final verification".to_owned(),
    }
}

/// Adds a wait's question to the form.
fn ask(form: &mut Form, wait: &Wait) -> Fields {
    match &wait.question {
        Question::Recheck => {
            form.say(Role::Dim, "The check is made again.");
            Fields::Recheck
        }
        Question::Manual { prompt } => {
            if *prompt != wait.reason {
                form.say(Role::Text, prompt);
            }
            form.say(Role::Dim, "Your word is kept as an operator's attestation.");
            let choice = form.choice(Vec::new(), "It is", vec!["right", "not right"]);
            let why = form.text(vec![(choice, vec![0, 1])], "why (may be empty)", "");
            Fields::Manual { choice, why }
        }
        Question::Permission { tool, args } => {
            form.say(Role::Text, "This exact call, once:");
            form.say(Role::Attention, &format!("{tool} {args}"));
            let choice = form.choice(Vec::new(), "It is", vec!["allowed", "denied"]);
            Fields::Permission { choice }
        }
        Question::OperatorGate {
            instructions,
            criteria,
            inputs,
            ways,
        } => {
            if let Some(instructions) = instructions.as_ref().filter(|text| **text != wait.reason) {
                form.say(Role::Text, instructions);
            }
            for criterion in criteria {
                form.say(Role::Text, &format!("- {criterion}"));
            }
            for (source, input) in inputs {
                form.say(Role::Dim, &format!("from {source}: {input}"));
            }
            Fields::Gate(ask_verdict(form, Vec::new(), ways))
        }
        Question::Uncertain { code, needs, ways } => {
            form.say(
                Role::Dim,
                &format!(
                    "{code}: nobody can tell what became of it. Nothing is sent or done again."
                ),
            );
            let options = match needs {
                Accepting::Nothing => vec!["looked at again", "failed"],
                Accepting::Verdict | Accepting::Result => {
                    vec!["looked at again", "failed", "accepted"]
                }
            };
            let choice = form.choice(Vec::new(), "It is", options);
            let why = form.text(vec![(choice, vec![FAILED])], "why it failed", "");
            let accepted = vec![(choice, vec![ACCEPTED])];
            let accept = match needs {
                Accepting::Nothing => None,
                Accepting::Result => Some(AcceptFields {
                    output: form.text(accepted.clone(), "its result, as JSON", ""),
                    supplies: Supplies::Reason {
                        why: form.text(accepted, "why it is accepted", ""),
                    },
                }),
                Accepting::Verdict => Some(AcceptFields {
                    output: form.text(accepted.clone(), "its output, as JSON", ""),
                    supplies: Supplies::Verdict(ask_verdict(form, accepted, ways)),
                }),
            };
            Fields::Uncertain {
                choice,
                why,
                accept,
            }
        }
    }
}

const LOOK_AGAIN: usize = 0;
const FAILED: usize = 1;
const ACCEPTED: usize = 2;

/// Adds a verdict with everything that it needs.
fn ask_verdict(form: &mut Form, when: When, ways: &[Way]) -> VerdictFields {
    let verdict = form.choice(when.clone(), "Verdict", VERDICTS.to_vec());
    let given = |option: usize| {
        let mut when = when.clone();
        when.push((verdict, vec![option]));
        when
    };
    let mut direction = BTreeMap::new();
    for (option, of) in [(PASS, Verdict::Pass), (FAIL, Verdict::Fail)] {
        let leads = |direction| {
            ways.iter()
                .any(|way| way.verdict == of && way.direction == direction)
        };
        if leads(Direction::Onward) && leads(Direction::Back) {
            direction.insert(
                option,
                form.choice(given(option), "Which way", DIRECTIONS.to_vec()),
            );
        }
    }
    let mut any = when.clone();
    any.push((verdict, vec![PASS, FAIL]));
    let why = form.text(any, "why", "");
    let mut handoffs = Vec::new();
    for way in ways {
        let Some(schema) = &way.handoff_schema else {
            continue;
        };
        let option = option_of(way.verdict);
        let mut when = given(option);
        if let Some(choice) = direction.get(&option) {
            when.push((*choice, vec![option_of_direction(way.direction)]));
        }
        if let Some(instructions) = &way.handoff_instructions {
            form.say_when(when.clone(), Role::Dim, instructions);
        }
        form.say_when(when.clone(), Role::Dim, &format!("it must fit {schema}"));
        let label = format!("handoff for {}, as JSON", way.target);
        handoffs.push((way.clone(), form.text(when, &label, "")));
    }
    VerdictFields {
        verdict,
        direction,
        why,
        handoffs,
    }
}

fn option_of(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Pass => PASS,
        Verdict::Fail => FAIL,
    }
}

fn option_of_direction(direction: Direction) -> usize {
    match direction {
        Direction::Onward => 0,
        Direction::Back => 1,
    }
}

/// Reads an answer; `None` looks again.
fn answer(fields: &Fields, form: &Form) -> Result<Option<Answer>, Missing> {
    Ok(match fields {
        Fields::Recheck => None,
        Fields::Manual { choice, why } => form.chosen(*choice).map(|said| Answer::Attest {
            verdict: match said {
                0 => AttestationVerdict::Right,
                _ => AttestationVerdict::NotRight,
            },
            reasoning: Some(form.written(*why).trim().to_owned()).filter(|why| !why.is_empty()),
        }),
        Fields::Permission { choice } => form.chosen(*choice).map(|said| {
            Answer::Permit(match said {
                0 => Permit::Allow,
                _ => Permit::Deny,
            })
        }),
        Fields::Gate(fields) => match form.chosen(fields.verdict) {
            Some(_) => Some(Answer::Decide(verdict(fields, form, Value::Null)?)),
            None => None,
        },
        Fields::Uncertain {
            choice,
            why,
            accept,
        } => match (form.chosen(*choice), accept) {
            (None | Some(LOOK_AGAIN), _) => None,
            (Some(ACCEPTED), Some(accept)) => Some(Answer::Accept(accepted(accept, form)?)),
            (Some(_), _) => Some(Answer::Fail {
                reasoning: text(form, *why, "say why it failed")?,
            }),
        },
    })
}

fn accepted(fields: &AcceptFields, form: &Form) -> Result<OperatorVerdict, Missing> {
    let output = json(form, fields.output)?;
    match &fields.supplies {
        Supplies::Verdict(fields) => verdict(fields, form, output),
        Supplies::Reason { why } => Ok(OperatorVerdict {
            verdict: Verdict::Pass,
            reasoning: text(form, *why, "say why it is accepted")?,
            output,
            handoffs: BTreeMap::new(),
            direction: None,
        }),
    }
}

fn verdict(fields: &VerdictFields, form: &Form, output: Value) -> Result<OperatorVerdict, Missing> {
    let option = form
        .chosen(fields.verdict)
        .ok_or_else(|| (fields.verdict, "choose a verdict".to_owned()))?;
    let direction = match fields.direction.get(&option) {
        None => None,
        Some(choice) => Some(match form.chosen(*choice) {
            Some(0) => Direction::Onward,
            Some(_) => Direction::Back,
            None => return Err((*choice, "choose which way".to_owned())),
        }),
    };
    let reasoning = text(form, fields.why, "a verdict needs a reason")?;
    let mut handoffs = BTreeMap::new();
    for (way, item) in &fields.handoffs {
        if form.is_there(*item) {
            handoffs.insert(way.target.clone(), json(form, *item)?);
        }
    }
    Ok(OperatorVerdict {
        verdict: match option {
            PASS => Verdict::Pass,
            _ => Verdict::Fail,
        },
        reasoning,
        output,
        handoffs,
        direction,
    })
}

fn text(form: &Form, item: usize, problem: &str) -> Result<String, Missing> {
    match form.written(item).trim() {
        "" => Err((item, problem.to_owned())),
        text => Ok(text.to_owned()),
    }
}

fn json(form: &Form, item: usize) -> Result<Value, Missing> {
    serde_json::from_str(&form.written(item))
        .map_err(|error| (item, format!("that is no JSON: {error}")))
}
