//! Ordinary chat: one model call without tools, with the session's conversation before it (T2).
//!
//! The chat agent is the same one that routines borrow, so a chat is refused while an operation has
//! it (V16). Only an exchange that was answered becomes part of the conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::engine::id::OperationId;
use crate::engine::ports::{
    Finish, Message, ModelContext, ModelOutcome, ModelRequest, Models as _, Sending, ToolChoice,
};
use crate::engine::runner::LeaseRefused;
use crate::host::session::{CHAT_AGENT, Session};

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    said: Mutex<Said>,
}

#[derive(Debug, Default, Clone)]
struct Said {
    messages: Vec<Arc<Message>>,
    calls: u64,
}

/// Why there is no answer. What was asked is not part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatRefused {
    /// The chat agent is an operation's; nothing was sent.
    #[error(transparent)]
    Lease(#[from] LeaseRefused),
    /// The provider didn't take it, or nobody can say what became of it.
    #[error("{0}")]
    NoAnswer(String),
}

/// Chat is not accounted to an operation.
struct Unaccounted;

impl Sending for Unaccounted {
    fn goes_out(&self, _: u32) {}
}

impl Conversation {
    fn said(&self) -> MutexGuard<'_, Said> {
        // Messages are added in one go, so a poisoned list is still whole.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Says something to the chat agent and gives its answer.
    pub async fn chat(
        &self,
        text: &str,
        cancellation: CancellationToken,
    ) -> Result<String, ChatRefused> {
        let _used = self.runner.leases().try_use(CHAT_AGENT)?;
        let agent = self.agents.get(CHAT_AGENT);
        let asked = Arc::new(Message::User(text.to_owned()));
        let (messages, n) = {
            let mut said = self.chat.said();
            said.calls += 1;
            let before = said.messages.iter().cloned();
            (before.chain([Arc::clone(&asked)]).collect(), said.calls)
        };
        let operation = OperationId::from("chat");
        let request = ModelRequest {
            model: self.model(),
            system: agent
                .and_then(|agent| agent.instructions.clone())
                .unwrap_or_default(),
            messages,
            tools: [].into(),
            tool_choice: ToolChoice::Auto,
            reasoning_effort: agent.and_then(|agent| agent.reasoning_effort),
            max_output_tokens: agent.and_then(|agent| agent.max_output_tokens),
        };
        let context = ModelContext {
            run: operation.run(n),
            operation,
            cancellation,
            remaining_ms: None,
            sending: Arc::new(Unaccounted),
        };
        let answer = match self.models.call(request, context).await.outcome {
            ModelOutcome::Answered(answer) => answer,
            ModelOutcome::NotTaken { reason }
            | ModelOutcome::NoAnswer { reason }
            | ModelOutcome::Unreadable { reason } => return Err(ChatRefused::NoAnswer(reason)),
            ModelOutcome::Stopped => return Err(ChatRefused::NoAnswer("it was stopped".into())),
        };
        let text = answer.text.unwrap_or_default();
        match answer.finish {
            Finish::Complete if !text.is_empty() => {}
            Finish::Complete => return Err(ChatRefused::NoAnswer("the answer is empty".into())),
            Finish::CutOff => {
                return Err(ChatRefused::NoAnswer(
                    "the answer was cut by its token limit".into(),
                ));
            }
            Finish::Refused { reason } => return Err(ChatRefused::NoAnswer(reason)),
        }
        let answered = Arc::new(Message::Assistant {
            text: Some(text.clone()),
            calls: Vec::new(),
        });
        self.chat.said().messages.extend([asked, answered]);
        Ok(text)
    }
}
