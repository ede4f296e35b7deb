//! The application without a terminal: effects performed by a real session, the screen's state after
//! that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};
use tokio::sync::mpsc;

use crate::app::mailbox::Mailbox;
use crate::app::perform::Performer;
use crate::engine::operation::outcome::Status;
use crate::engine::operation::view::StepStatus;
use crate::host::session::Session;
use crate::host::settings::{Flags, PlatformFolders, Settings};
use crate::host::workspace::Workspace;
use crate::tui::effect::Effect;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::state::log::Speaker;
use crate::tui::state::modal::Modal;
use crate::tui::state::notice::Notice;
use crate::tui::state::operations::Operation;
use crate::tui::theme::Theme;
use crate::tui::update::update;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody at an application whose screen nobody draws.
struct Desk {
    state: State,
    performer: Performer,
    results: mpsc::Receiver<Message>,
    mailbox: Arc<Mailbox>,
    session: Arc<Session>,
    _folder: tempfile::TempDir,
}

impl Desk {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data").into_os_string();
        let config = folder.path().join("none.toml").into_os_string();
        let environment = move |name: &str| match name {
            "AMOS_DATA_DIR" => Some(data.clone()),
            "AMOS_CONFIG" => Some(config.clone()),
            _ => None,
        };
        let flags = Flags {
            model: Some("offline".into()),
            allow: Vec::new(),
        };
        let settings = Settings::load(&flags, &environment, &PlatformFolders::default());
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        let mailbox = Arc::new(Mailbox::default());
        let settings = settings.expect("settings");
        let session = Session::open(settings, workspace, mailbox.clone()).await;
        let session = Arc::new(session.expect("a session"));
        let (sender, results) = mpsc::channel(64);
        Self {
            state: State::new(Theme::default(), (80, 24), Instant::now()),
            performer: Performer::new(session.clone(), mailbox.clone(), sender),
            results,
            mailbox,
            session,
            _folder: folder,
        }
    }

    fn take(&mut self, message: Message) {
        let started = match &message {
            Message::Started(_, Ok(operation), _) => Some(operation.clone()),
            _ => None,
        };
        let effects = update(&mut self.state, message);
        if let Some(operation) = started {
            self.performer.watch(operation);
        }
        for effect in effects {
            assert_ne!(effect, Effect::Quit);
            self.performer.perform(effect);
        }
    }

    fn press(&mut self, code: KeyCode) {
        // Time passes between keys, as with people.
        let now = self.state.now + Duration::from_millis(1_000);
        self.take(Message::Key(KeyEvent::from(code), now));
    }

    fn submit(&mut self, text: &str) {
        self.state.prompt.set(text);
        self.press(KeyCode::Enter);
    }

    /// Takes what comes until something holds.
    async fn until(&mut self, what: &str, holds: impl Fn(&State) -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !holds(&self.state) {
                tokio::select! {
                    Some(message) = self.results.recv() => self.take(message),
                    () = self.mailbox.filled.notified() => {
                        for message in self.mailbox.take() {
                            self.take(message);
                        }
                    }
                }
            }
        });
        if waited.await.is_err() {
            panic!("{what} never came: {:?}", self.state.notice);
        }
    }

    async fn demo_that_waits(&mut self) {
        self.submit("/routine demo");
        self.until("the wait", |state| state.operations.paused().count() == 1)
            .await;
    }
}

fn is_done(operation: &Operation, status: Status) -> bool {
    operation
        .outcome
        .as_ref()
        .is_some_and(|it| it.status == status)
}

fn why(state: &State) -> &str {
    match &state.notice {
        Some(Notice::Trouble(trouble)) => trouble.why.as_str(),
        Some(Notice::Said(_)) | None => "",
    }
}

/// T3, T5: one model call from start to end, and nothing is done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_runs_waits_is_confirmed_and_succeeds() {
    let mut desk = Desk::open().await;
    desk.demo_that_waits().await;
    desk.submit("/routine confirm");
    desk.press(KeyCode::Tab);
    desk.press(KeyCode::Enter);
    desk.until("the end", |state| {
        let operation = &state.operations.all()[0];
        let step = operation.execution().map(|root| root.steps[0].status);
        is_done(operation, Status::Succeeded) && step == Some(StepStatus::Verified)
    })
    .await;
    let outcome = desk.state.operations.all()[0].outcome.clone();
    assert_eq!(outcome.expect("settled").usage.model_calls, 1);
}

/// V16: the second one is refused, naming the first; so are a chat and another model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_operation_borrows_is_nobody_elses() {
    let mut desk = Desk::open().await;
    desk.demo_that_waits().await;
    let first = desk.state.operations.all()[0].id.to_string();
    for command in ["/routine demo", "hello", "/model offline"] {
        desk.submit(command);
        let first = first.clone();
        desk.until(command, move |state| why(state).contains(&first))
            .await;
    }
    assert_eq!(desk.state.operations.all().len(), 1);
    desk.submit("/routine cancel");
    desk.press(KeyCode::Tab);
    desk.press(KeyCode::Enter);
    desk.until("what was done", |state| {
        matches!(state.modal, Some(Modal::Read(_)))
    })
    .await;
    assert!(is_done(&desk.state.operations.all()[0], Status::Cancelled));
    desk.press(KeyCode::Esc);
    desk.submit("hello");
    desk.until("an answer", |state| {
        state.chat.said.iter().any(|said| said.by == Speaker::Model)
    })
    .await;
}

/// T6: what was acknowledged has its receipt in the operation and in the archive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_is_archived_and_acknowledged() {
    let mut desk = Desk::open().await;
    desk.demo_that_waits().await;
    desk.submit("/sources");
    desk.until("sources", |state| state.sources.tree().len() > 4)
        .await;
    for _ in 0..3 {
        desk.press(KeyCode::Down);
    }
    let (operation, row) = desk.state.sources.chosen().expect("a source");
    let source = row.header.id.clone();
    desk.press(KeyCode::Char('a'));
    let wanted = source.clone();
    desk.until("the receipt", move |state| {
        state.sources.receipt(&wanted).is_some()
    })
    .await;
    desk.press(KeyCode::Char('A'));
    desk.until("the acknowledgement", |state| {
        let chosen = state.sources.chosen();
        chosen.is_some_and(|(_, row)| row.receipt.is_some())
    })
    .await;
    let receipts = desk.session.archive().receipts().expect("receipts");
    assert_eq!(receipts.lines.len(), 1);
    assert_eq!(
        (&receipts.lines[0].operation, &receipts.lines[0].source),
        (&operation, &source)
    );
}

/// T7: closing confirms nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_ends_what_waits_without_confirming() {
    let mut desk = Desk::open().await;
    desk.demo_that_waits().await;
    desk.submit("/routine confirm");
    desk.session.close().await;
    desk.until("the end", |state| state.operations.active().count() == 0)
        .await;
    let operation = &desk.state.operations.all()[0];
    assert!(operation.outcome.is_none());
    assert_eq!(operation.state().label(), "ended with the process");
}
