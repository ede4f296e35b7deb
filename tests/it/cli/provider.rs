//! An OpenAI-compatible server on loopback that answers as a test says, and remembers what came.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::program::{Ended, Place};

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Seen {
    /// The text of the last user message.
    pub(crate) fn prompt(&self) -> &str {
        let messages = self.body["messages"].as_array().expect("messages");
        let user = messages.iter().rfind(|message| message["role"] == "user");
        user.and_then(|message| message["content"].as_str())
            .expect("a user message")
    }

    /// Whether the request asks for the work of the step with that name.
    pub(crate) fn is_for(&self, step: &str) -> bool {
        self.body["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .filter_map(|message| message["content"].as_str())
            .any(|text| text.starts_with(&format!("# {step}\n")))
    }

    /// The names of the tools that are offered.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().expect("tools");
        tools
            .iter()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }
}

/// What comes back.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A status, further headers and a body.
    Whole(u16, Vec<(&'static str, String)>, String),
    /// The same, so much later.
    Later(Duration, Box<Reply>),
    /// Half a body, and then the end of the connection.
    CutOff,
    /// Nothing, until the other end goes away.
    Silence,
}

/// The call that ends a step.
pub(crate) fn route(verdict: &str, output: impl Into<Value>, next: &[(&str, Value)]) -> Reply {
    let next: Vec<Value> = next
        .iter()
        .map(|(target, handoff)| json!({"target_step": target, "handoff": handoff}))
        .collect();
    calls(&[(
        "route_next_steps",
        json!({
            "verdict": verdict, "reasoning": "so it is", "output": output.into(), "next_steps": next,
        }),
    )])
}

/// A pass that hands a text to one step.
pub(crate) fn pass_to(target: &str, text: &str) -> Reply {
    route("pass", text, &[(target, json!({ "text": text }))])
}

/// An answer with these calls.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(n, (name, arguments))| {
            json!({
                "id": format!("call_{n}"), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()},
            })
        })
        .collect();
    answer(
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        "tool_calls",
    )
}

/// An answer with any message and reason of its end.
pub(crate) fn answer(message: Value, finish: &str) -> Reply {
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    });
    Reply::Whole(200, Vec::new(), body.to_string())
}

/// An error of the provider.
pub(crate) fn status(code: u16) -> Reply {
    let body = json!({"error": {"message": "not today"}});
    Reply::Whole(code, Vec::new(), body.to_string())
}

/// A running server. It ends with the test's process.
pub(crate) struct Provider {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Provider {
    /// Answers each request by what it asks and its number, from 1.
    pub(crate) fn answering(
        answer: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("an address").to_string();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let answer = Arc::new(answer);
        let remember = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, remember) = (Arc::clone(&answer), Arc::clone(&remember));
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else {
                        return;
                    };
                    let number = {
                        let mut seen = remember.lock().expect("unpoisoned");
                        seen.push(request.clone());
                        seen.len()
                    };
                    // The other end may be gone; then nobody misses the answer.
                    let _ = write(stream, answer(&request, number));
                });
            }
        });
        Self { address, seen }
    }

    /// Everything that came.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("unpoisoned").clone()
    }

    /// A place whose binary is sent here.
    pub(crate) fn place(&self) -> Place {
        Place::new().with("OPENAI_BASE_URL", format!("http://{}/v1", self.address))
    }

    /// Runs a routine's text with a model of this server.
    pub(crate) fn run(&self, place: &Place, routine: &str, further: &[&str]) -> Ended {
        let file = place.file("routine.yaml", routine);
        let mut arguments = vec!["--model", "openai/some/model"];
        arguments.extend(further);
        place.run(&file, &arguments)
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        path,
        headers,
        body: serde_json::from_slice(&body).expect("requests are JSON"),
        at: Instant::now(),
    })
}

fn write(mut stream: TcpStream, reply: Reply) -> std::io::Result<()> {
    match reply {
        Reply::Whole(code, headers, body) => {
            let mut head = format!("HTTP/1.1 {code} So\r\nconnection: close\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let length = body.len();
            write!(stream, "{head}content-length: {length}\r\n\r\n{body}")
        }
        Reply::Later(pause, reply) => {
            std::thread::sleep(pause);
            write(stream, *reply)
        }
        Reply::CutOff => write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{{\"choices\""
        ),
        Reply::Silence => {
            // Ends when the other end does.
            let _ = stream.read(&mut [0]);
            Ok(())
        }
    }
}
