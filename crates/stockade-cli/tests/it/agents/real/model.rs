//! A model for agents: a server on loopback that answers the first request which has tools with one shell
//! line, and every other with a word. It notes what it is sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A server, until the test ends.
pub(super) struct Model {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    line: String,
    has_called: bool,
    seen: String,
}

impl Model {
    pub(super) fn start(line: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State { line: line.to_owned(), has_called: false, seen: String::new() };
        let state = Arc::new(Mutex::new(state));
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&own);
                // An agent may close the connection when it has what it wants.
                thread::spawn(move || serve(&stream, &state).ok());
            }
        });
        Self { port, state }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The bodies of all requests.
    pub(super) fn seen(&self) -> String {
        self.state.lock().unwrap().seen.clone()
    }

    /// Plays the line once more, to another agent.
    pub(super) fn begin_again(&self) {
        let mut state = self.state.lock().unwrap();
        (state.has_called, state.seen) = (false, String::new());
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (kind, answer) = match first.split(' ').next() {
            Some("POST") => answer(&first, &body, state),
            _ => ("application/json", String::new()),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes())?;
        // The client of a HEAD takes a body for the next answer.
        stream.write_all(answer.as_bytes())?;
    }
}

fn answer(first: &str, body: &[u8], state: &Mutex<State>) -> (&'static str, String) {
    if first.contains("count_tokens") {
        return ("application/json", json!({"input_tokens": 1}).to_string());
    }
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut state = state.lock().unwrap();
    state.seen.push_str(&request.to_string());
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let is_called = has_tools && !std::mem::replace(&mut state.has_called, has_tools);
    let line = is_called.then(|| state.line.clone());
    drop(state);
    let events = if first.contains("/responses") { codex(line) } else { claude(line) };
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    ("text/event-stream", events.iter().map(event).collect())
}

fn claude(line: Option<String>) -> Vec<Value> {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let (block, delta, reason) = match line {
        Some(line) => {
            let input = json!({"command": line, "description": "work"}).to_string();
            (
                json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input}),
                "tool_use",
            )
        }
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "done"}),
            "end_turn",
        ),
    };
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "content": [], "model": "model", "stop_reason": null, "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn codex(line: Option<String>) -> Vec<Value> {
    let item = match line {
        Some(line) => json!({"type": "function_call", "call_id": "call_1", "name": "exec_command",
            "arguments": json!({"cmd": line}).to_string()}),
        None => json!({"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": "done"}]}),
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    vec![
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}),
    ]
}
