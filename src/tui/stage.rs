//! A stage for tests: a state with somebody at the keys, time that is given, and operations that
//! stand where a test wants them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use serde_json::json;

use crate::engine::capability::EffectClass;
use crate::engine::id::{Generation, Lap, OperationId};
use crate::engine::operation::outcome::{Fulfillment, Outcome, Status, Usage, Verdict};
use crate::engine::operation::view::{
    EdgeStatus, EdgeView, ExecutionView, OperationState, OperationView, StepStatus, StepView,
};
use crate::engine::operation::wait::{
    Accepting, Direction, Question, Wait, WaitKey, WaitKind, WaitPhase, Way,
};
use crate::engine::routine::{Known, load};
use crate::engine::verify::Held;
use crate::host::session::demos;
use crate::host::session::types::Rest;
use crate::tui::effect::Effect;
use crate::tui::graph::layered::Layered;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::state::routine::{Checks, LoadedRoutine, Origin, Picture, acting_checks};
use crate::tui::text::{Inert, width};
use crate::tui::theme::Theme;
use crate::tui::update::update;
use crate::tui::view;

pub(in crate::tui) mod views;

/// Somebody at the keys.
pub(in crate::tui) struct Stage {
    pub(in crate::tui) state: State,
    pub(in crate::tui) now: Instant,
}

impl Stage {
    /// An empty screen with the offline model.
    pub(in crate::tui) fn new() -> Self {
        let now = Instant::now();
        let mut state = State::new(Theme::default(), (80, 24), now);
        state.model = Inert::ours("offline (asks no provider), chosen");
        Self { state, now }
    }

    /// A demo that waits for its job, as `op-1`.
    pub(in crate::tui) fn waiting() -> Self {
        let mut stage = Self::new();
        stage.start("verified-submission", "op-1");
        stage.pause("op-1", vec![recheck()], 0);
        stage
    }

    /// Time passes; what was waited for happens.
    pub(in crate::tui) fn wait(&mut self, ms: u64) -> Vec<Effect> {
        self.now += Duration::from_millis(ms);
        self.tell(Message::Ticked(self.now))
    }

    pub(in crate::tui) fn tell(&mut self, message: Message) -> Vec<Effect> {
        update(&mut self.state, message)
    }

    /// A key, after a pause as people make it.
    pub(in crate::tui) fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        self.event(KeyEvent::from(code), 200)
    }

    pub(in crate::tui) fn control(&mut self, char: char) -> Vec<Effect> {
        self.event(
            KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL),
            200,
        )
    }

    /// A key after some milliseconds.
    pub(in crate::tui) fn event(&mut self, key: KeyEvent, ms: u64) -> Vec<Effect> {
        let mut effects = self.wait(ms);
        effects.extend(self.tell(Message::Key(key, self.now)));
        effects
    }

    /// Types a text; a line feed is Enter.
    pub(in crate::tui) fn types(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for char in text.chars() {
            effects.extend(self.press(match char {
                '\n' => KeyCode::Enter,
                char => KeyCode::Char(char),
            }));
        }
        effects
    }

    pub(in crate::tui) fn repeat(&mut self, code: KeyCode) -> Vec<Effect> {
        let key = KeyEvent::new_with_kind(code, KeyModifiers::NONE, KeyEventKind::Repeat);
        self.event(key, 30)
    }

    /// Starts a demo that needs no question.
    pub(in crate::tui) fn start(&mut self, demo: &'static str, id: &str) {
        let effects = self.types(&format!("/routine demo {demo}\n"));
        let ticket = match effects.as_slice() {
            [.., Effect::Load(ticket, _)] => *ticket,
            other => panic!("{other:?}"),
        };
        let mut routine = routine(demo);
        routine.checks = Checks::Known;
        self.tell(Message::Loaded(ticket, Ok(Box::new(routine))));
        self.tell(Message::Started(ticket, Ok(id.into()), self.now));
        let view = self.view(id, OperationState::Running);
        self.tell(Message::Viewed(Box::new(view)));
    }

    /// Starts a routine that is no demo, without its questions.
    pub(in crate::tui) fn start_file(&mut self, file: &str, id: &str) {
        let effects = self.types("/routine run routine.yaml\n");
        let ticket = match effects.as_slice() {
            [.., Effect::Load(ticket, _)] => *ticket,
            other => panic!("{other:?}"),
        };
        let mut routine = loaded(file, Origin::File("routine.yaml".into()));
        routine.checks = Checks::Known;
        self.tell(Message::Loaded(ticket, Ok(Box::new(routine))));
        self.tell(Message::Started(ticket, Ok(id.into()), self.now));
    }

    /// A picture of an operation whose first step stands where the operation does.
    pub(in crate::tui) fn view(&self, id: &str, state: OperationState) -> OperationView {
        let id = OperationId::from(id);
        let operation = self.state.operations.get(&id).expect("started");
        let body = &operation.routine.definition.body;
        let status = match state {
            OperationState::Paused(Held::Waiting) => StepStatus::Waiting,
            OperationState::Paused(Held::Blocked) => StepStatus::Blocked,
            OperationState::Paused(Held::Uncertain) => StepStatus::Uncertain,
            OperationState::Succeeded => StepStatus::Verified,
            OperationState::Failed => StepStatus::Failed,
            OperationState::New => StepStatus::Idle,
            OperationState::Cancelled | OperationState::Ended => StepStatus::Stopped,
            OperationState::Running | OperationState::Settling => StepStatus::Running,
        };
        let steps = body.steps.iter().enumerate().map(|(at, step)| StepView {
            slug: step.slug.clone(),
            kind: step.kind.label().to_owned(),
            agent: (at == 0).then(|| "default".to_owned()),
            lap: Lap(u32::from(at == 0)),
            status: if at == 0 { status } else { StepStatus::Idle },
            output: (at == 0).then(|| json!("A note about the spring release.")),
            note: (at == 0).then(|| "it is short".to_owned()),
            council: None,
            repeat: None,
        });
        let edges = body.edges.iter().map(|edge| EdgeView {
            from: edge.from.clone(),
            to: edge.to.clone(),
            condition: edge.condition.label().to_owned(),
            status: EdgeStatus::Pending,
            budget: None,
        });
        OperationView {
            routine: operation.routine.definition.slug.clone(),
            name: operation.routine.definition.name.clone(),
            model: "offline/offline".into(),
            state,
            generation: Generation(0),
            pre_steps: Vec::new(),
            executions: vec![ExecutionView {
                id: id.execution(1),
                iteration: None,
                steps: steps.collect(),
                edges: edges.collect(),
            }],
            past: Vec::new(),
            post_steps: Vec::new(),
            waits: Vec::new(),
            effects: EffectClass::AfterPartialEffects,
            usage: Usage {
                model_calls: 1,
                tool_calls: 2,
                ..Usage::default()
            },
            in_flight: 0,
            sources: 5,
            outcome: None,
            operation: id,
        }
    }

    /// An operation comes to rest with these waits.
    pub(in crate::tui) fn pause(
        &mut self,
        id: &str,
        waits: Vec<Wait>,
        generation: u64,
    ) -> Vec<Effect> {
        let held = waits.iter().map(|wait| wait.state).max().expect("waits");
        let mut view = self.view(id, OperationState::Paused(held));
        view.generation = Generation(generation);
        view.waits = waits.clone();
        self.tell(Message::Viewed(Box::new(view)));
        let rest = Rest::Paused {
            state: held,
            reason: waits[0].reason.clone(),
            waits,
            generation: Generation(generation),
        };
        self.tell(Message::Rested(id.into(), rest, self.now))
    }

    pub(in crate::tui) fn settle(&mut self, id: &str, status: Status) -> Vec<Effect> {
        let rest = Rest::Settled(Box::new(outcome(status)));
        self.tell(Message::Rested(id.into(), rest, self.now))
    }

    pub(in crate::tui) fn resize(&mut self, columns: u16, rows: u16) {
        self.tell(Message::Resized(columns, rows));
    }

    /// The screen as text, at its size.
    pub(in crate::tui) fn screen(&self) -> String {
        let (buffer, _) = self.drawn();
        text(&buffer)
    }

    pub(in crate::tui) fn drawn(&self) -> (Buffer, Option<Position>) {
        let area = Rect::new(0, 0, self.state.size.0, self.state.size.1);
        let mut buffer = Buffer::empty(area);
        let cursor = view::draw(&self.state, area, &mut buffer);
        (buffer, cursor)
    }

    /// The screen at each of the sizes that have a layout of their own.
    pub(in crate::tui) fn screens(&mut self) -> String {
        let mut screens = String::new();
        for (columns, rows) in [(80, 24), (120, 40), (40, 12)] {
            self.resize(columns, rows);
            screens.push_str(&format!("{columns}x{rows}\n{}\n", self.screen()));
        }
        screens
    }
}

/// A buffer as text.
pub(in crate::tui) fn text(buffer: &Buffer) -> String {
    let columns = usize::from(buffer.area.width).max(1);
    let mut text = String::new();
    for row in buffer.content.chunks(columns) {
        let mut line = String::new();
        let mut covered = 0;
        for cell in row {
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = width(cell.symbol());
            }
            covered = covered.saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A demo, read and laid out.
pub(in crate::tui) fn routine(demo: &'static str) -> LoadedRoutine {
    let found = demos::find(demo).expect("a demo");
    loaded(found.file, Origin::Demo(demo))
}

/// A routine file, read and laid out.
pub(in crate::tui) fn loaded(file: &str, origin: Origin) -> LoadedRoutine {
    let tools = [
        "synthetic_reserve",
        "synthetic_submit",
        "synthetic_artifact",
        "run_command",
        "write_file",
        "memory_set",
    ];
    let known = Known {
        agents: ["default".to_owned()].into(),
        councils: [].into(),
        tools: tools.map(str::to_owned).into(),
    };
    let loaded = load(file.as_bytes(), &known);
    let routine = loaded
        .routine
        .unwrap_or_else(|| panic!("{:?}", loaded.issues));
    let checks = match acting_checks(&routine.definition).is_empty() {
        true => Checks::Known,
        false => Checks::Unseen,
    };
    LoadedRoutine {
        origin,
        definition: routine.definition,
        picture: Arc::new(Picture::of(&routine.graph, &Layered)),
        warnings: Vec::new(),
        checks,
    }
}

pub(in crate::tui) fn outcome(status: Status) -> Outcome {
    let stopped = status != Status::Succeeded;
    Outcome {
        status,
        reason: stopped.then(|| status.label().to_owned()),
        detail: match stopped {
            true => json!({"required": ["verify what `run_command` did"]}),
            false => json!(null),
        },
        step: None,
        outputs: BTreeMap::new(),
        fulfillment: Fulfillment::NotFulfilled,
        effects: stopped.then_some(EffectClass::AfterPartialEffects),
        usage: Usage::default(),
    }
}

fn wait(step: &str, kind: WaitKind, state: Held, reason: &str, question: Question) -> Wait {
    Wait {
        key: WaitKey {
            execution: OperationId::from("op-1").execution(1),
            step: Some(step.to_owned()),
            lap: Some(Lap(1)),
            phase: WaitPhase::Step,
            check: None,
        },
        kind,
        state,
        reason: reason.to_owned(),
        poll_ms: None,
        question,
    }
}

pub(in crate::tui) fn recheck() -> Wait {
    let reason = "the synthetic job release-note is not ready";
    wait(
        "draft",
        WaitKind::Check,
        Held::Waiting,
        reason,
        Question::Recheck,
    )
}

pub(in crate::tui) fn manual() -> Wait {
    let prompt = "Is the page right?".to_owned();
    let question = Question::Manual { prompt };
    wait(
        "page",
        WaitKind::Manual,
        Held::Waiting,
        "nobody was asked yet",
        question,
    )
}

pub(in crate::tui) fn permission() -> Wait {
    let question = Question::Permission {
        tool: "run_command".into(),
        args: json!({"argv": ["rm", "-r", "build"]}),
    };
    wait(
        "clean",
        WaitKind::Permission,
        Held::Blocked,
        "run_command asks",
        question,
    )
}

/// An operator gate that can pass, reject or send back.
pub(in crate::tui) fn gate() -> Wait {
    let question = Question::OperatorGate {
        instructions: Some("Ship it?".into()),
        criteria: vec!["It is friendly".into()],
        inputs: BTreeMap::from([("draft".into(), json!({"note": "hello"}))]),
        ways: ways(),
    };
    wait(
        "release",
        WaitKind::OperatorGate,
        Held::Waiting,
        "Ship it?",
        question,
    )
}

pub(in crate::tui) fn uncertain(needs: Accepting) -> Wait {
    let question = Question::Uncertain {
        code: "no_answer".into(),
        needs,
        ways: vec![way("done", Verdict::Pass, Direction::Onward, None)],
    };
    wait(
        "draft",
        WaitKind::Uncertain,
        Held::Uncertain,
        "no answer came",
        question,
    )
}

fn ways() -> Vec<Way> {
    let schema = Some(json!({"type": "object"}));
    vec![
        way("done", Verdict::Pass, Direction::Onward, None),
        way("rejected", Verdict::Fail, Direction::Onward, None),
        way("draft", Verdict::Fail, Direction::Back, schema),
    ]
}

fn way(
    target: &str,
    verdict: Verdict,
    direction: Direction,
    handoff_schema: Option<serde_json::Value>,
) -> Way {
    Way {
        target: target.to_owned(),
        verdict,
        direction,
        purpose: None,
        handoff_instructions: None,
        handoff_schema,
    }
}
