//! A provider on this machine: counts what it is asked, answers what it is told, and when.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;

/// A submission that any edge to `done` takes.
pub(crate) const SUBMITS: &str = r#"{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{
    "name":"route_next_steps","arguments":"{\"verdict\":\"pass\",\"reasoning\":\"so\",\"output\":\"A note from the server.\",\"next_steps\":[{\"target_step\":\"done\",\"handoff\":{\"note\":\"n\"}}]}"}}]}"#;
/// A refusal.
pub(crate) const REFUSES: &str = r#"{"role":"assistant","refusal":"no"}"#;
/// What a chat is answered.
const SAYS: &str = r#"{"role":"assistant","content":"Good day from the server."}"#;

/// Whether the server answers at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    AtOnce,
    WhenReleased,
}

type Door = Arc<(Mutex<bool>, Condvar)>;

/// A server that speaks as OpenAI does.
pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Value>>>,
    door: Door,
}

impl Server {
    /// Answers requests with tools by `message`, and others by a greeting.
    pub(crate) fn start(message: &'static str, answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let door: Door = Arc::new((Mutex::new(answers == Answers::AtOnce), Condvar::new()));
        let (kept, held) = (Arc::clone(&requests), Arc::clone(&door));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let request = request(&stream);
                let has_tools = request.get("tools").is_some();
                kept.lock().expect("nobody panics").push(request);
                let mut open = held.0.lock().expect("nobody panics");
                while !*open {
                    open = held.1.wait(open).expect("nobody panics");
                }
                let message = if has_tools { message } else { SAYS };
                // Who asked may be gone.
                let _ = answer(&mut stream, message);
            }
        });
        Self {
            address: format!("http://{address}/v1"),
            requests,
            door,
        }
    }

    /// What `OPENAI_BASE_URL` has to be.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// From now on requests are answered.
    pub(crate) fn release(&self) {
        *self.door.0.lock().expect("nobody panics") = true;
        self.door.1.notify_all();
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("nobody panics").clone()
    }
}

fn request(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok() && line.trim() != "" {
        if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
            length = n.trim().parse().expect("a number");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    serde_json::from_slice(&body).expect("a JSON body")
}

fn answer(stream: &mut TcpStream, message: &str) -> std::io::Result<()> {
    let body = format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}"#);
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close");
    write!(stream, "{head}\r\n\r\n{body}")
}
