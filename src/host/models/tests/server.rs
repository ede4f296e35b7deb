//! A server that misbehaves as told: one act for each connection, in order. It counts what reached
//! it, so that tests can tell sends that were made from sends that were only meant.

use std::sync::{Arc, Mutex, PoisonError};

use reqwest::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one connection.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers with this status, these headers, this body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Reads the request and writes exactly this.
    Raw(Vec<u8>),
    /// Reads the request and says no more.
    Close,
    /// Reads the request and keeps the connection open without a word.
    Hang,
    /// Answers with the start of a body, then keeps the connection open.
    HangAfter(String),
}

pub(crate) fn says(status: u16, body: &str) -> Act {
    Act::Answer(status, Vec::new(), body.to_owned())
}

pub(crate) fn says_with(status: u16, header: &'static str, value: &str) -> Act {
    Act::Answer(status, vec![(header, value.to_owned())], "{}".to_owned())
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// Request line and headers, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Arrived {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The request line's path.
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// A running server.
pub(crate) struct Misbehaving {
    pub(crate) address: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Misbehaving {
    /// Listens on loopback. After the last act every connection is closed unread.
    pub(crate) async fn with(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("bound").to_string();
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let acts: Vec<Act> = acts.into_iter().collect();
        let seen = Arc::clone(&arrived);
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            for act in acts {
                let (mut stream, _) = listener.accept().await.expect("accepted");
                let Some(request) = read(&mut stream).await else {
                    continue;
                };
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(request);
                if perform(&mut stream, act).await.is_keep() {
                    open.push(stream);
                }
            }
            while let Ok((stream, _)) = listener.accept().await {
                drop(stream);
            }
        });
        Self {
            address,
            arrived,
            task,
        }
    }

    /// What has arrived, in order.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Misbehaving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Keep,
    Close,
}

impl Then {
    fn is_keep(self) -> bool {
        self == Self::Keep
    }
}

async fn perform(stream: &mut TcpStream, act: Act) -> Then {
    let (bytes, then) = match act {
        Act::Answer(status, headers, body) => {
            let status = StatusCode::from_u16(status).expect("status");
            let mut head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n",
                body.len()
            );
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            (format!("{head}\r\n{body}").into_bytes(), Then::Close)
        }
        Act::Raw(bytes) => (bytes, Then::Close),
        Act::Close => (Vec::new(), Then::Close),
        Act::Hang => (Vec::new(), Then::Keep),
        Act::HangAfter(start) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
            (format!("{head}{start}").into_bytes(), Then::Keep)
        }
    };
    // A client that left early is no failure of the server.
    let _ = stream.write_all(&bytes).await;
    if then == Then::Close {
        let _ = stream.shutdown().await;
    }
    then
}

/// Reads one request; `None` if what came is none.
async fn read(stream: &mut TcpStream) -> Option<Arrived> {
    let mut bytes: Vec<u8> = Vec::new();
    let end = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend(&chunk[..count]);
        if !bytes[0].is_ascii_uppercase() {
            return None;
        }
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("ascii head");
    let mut arrived = Arrived {
        head,
        body: bytes.split_off(end),
    };
    let length: usize = arrived
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or_default();
    while arrived.body.len() < length {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok()?;
        arrived.body.extend(&chunk[..count]);
    }
    Some(arrived)
}
