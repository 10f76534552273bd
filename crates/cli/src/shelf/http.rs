//! HTTP for `shelf serve`: connections of a listener, one request and one response each. A connection has a thread of its
//! own and a limit of time; when there are many, the oldest one ends. So no client can keep another one waiting, whether
//! it sends nothing or reads nothing. Which page is at an address is not decided here.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most connections at once: more than a browser opens, and few enough for a thread each.
const MOST_CONNECTIONS: usize = 64;
/// Time for a client to send its request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Time for a client to read the response.
const RESPONSE_TIME: Duration = Duration::from_secs(60);
/// Time for a client to close its side after the response.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// Longest request line with its headers, bytes.
const MOST_HEAD: usize = 16 << 10;
/// Most headers of a request.
const MOST_HEADERS: usize = 100;
/// Bytes that are written at once; the limit of time is checked in between.
const PIECE: usize = 64 << 10;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Body of a response, shared by the responses to several clients.
pub type Body = Arc<[u8]>;

/// A request whose client waits for the response.
#[derive(Debug)]
pub struct Request {
    pub method: String,
    /// As it was sent: path, query, or anything else.
    pub target: String,
    /// Values of all `Host` headers.
    pub hosts: Vec<String>,
    client: Sender<Response>,
}

impl Request {
    /// Sends the response without waiting for the client.
    pub fn answer(self, response: Response) {
        // A client that went away is not an error of the server.
        let _ = self.client.send(response);
    }
}

/// Status, media type and body.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Body,
}

impl Response {
    /// A line of text.
    pub fn text(status: u16, text: &str) -> Response {
        Response {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{text}\n").into_bytes().into(),
        }
    }
}

/// Accepts connections on a thread of its own; gives their requests.
///
/// # Errors
/// `io::Error` if the thread cannot be started.
pub fn listen(listener: TcpListener) -> io::Result<Receiver<Request>> {
    let (requests, received) = mpsc::channel();
    std::thread::Builder::new()
        .name("connections".to_string())
        .spawn(move || accept(&listener, &requests))?;
    Ok(received)
}

fn accept(listener: &TcpListener, requests: &Sender<Request>) {
    let open = Arc::new(Open::default());
    for (number, accepted) in (0_u64..).zip(listener.incoming()) {
        let entered = accepted.and_then(|stream| {
            open.enter(number, &stream)?;
            let (open, requests) = (open.clone(), requests.clone());
            let client = std::thread::Builder::new().name("client".to_string());
            client.spawn(move || {
                // A client that went away or was too slow is not an error of the server.
                let _ = serve(&stream, &requests);
                open.leave(number);
            })
        });
        if entered.is_err() {
            open.leave(number);
            std::thread::sleep(PAUSE);
        }
    }
}

/// The connections that are open, the oldest first.
#[derive(Debug, Default)]
struct Open(Mutex<VecDeque<(u64, TcpStream)>>);

impl Open {
    /// Makes room where there are too many, and adds one.
    fn enter(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_CONNECTIONS
            && let Some((_, oldest)) = all.pop_front()
        {
            // Its thread stops at once. A socket that is closed already needs no end.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        all.push_back((number, stream.try_clone()?));
        Ok(())
    }

    fn leave(&self, number: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(n, _)| *n != number);
    }
}

fn serve(stream: &TcpStream, requests: &Sender<Request>) -> io::Result<()> {
    let (client, response) = mpsc::channel();
    let (response, has_body) = match read_request(stream, client)? {
        Ok(request) => {
            let has_body = request.method != "HEAD";
            if requests.send(request).is_err() {
                return Ok(());
            }
            // Without a response the server has ended.
            let Ok(response) = response.recv() else {
                return Ok(());
            };
            (response, has_body)
        }
        Err(refusal) => (refusal, true),
    };
    write_response(stream, &response, has_body)?;
    close(stream)
}

/// Reads up to the end of the headers; a refusal if they are not a request.
///
/// # Errors
/// `io::Error` if the client went away or is too slow.
fn read_request(
    stream: &TcpStream,
    client: Sender<Response>,
) -> io::Result<Result<Request, Response>> {
    let limit = Instant::now() + REQUEST_TIME;
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = read(stream, &mut piece, limit)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(piece.get(..count).unwrap_or_default());
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(&head) {
            Ok(httparse::Status::Complete(_)) => return Ok(Ok(request(&parsed, client))),
            Ok(httparse::Status::Partial) if head.len() < MOST_HEAD => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Ok(Err(Response::text(431, "the request is too long")));
            }
            Err(error) => return Ok(Err(Response::text(400, &format!("not HTTP/1.1: {error}")))),
        }
    }
}

fn request(parsed: &httparse::Request, client: Sender<Response>) -> Request {
    let hosts = parsed.headers.iter();
    let hosts = hosts.filter(|h| h.name.eq_ignore_ascii_case("host"));
    Request {
        method: parsed.method.unwrap_or_default().to_string(),
        target: parsed.path.unwrap_or_default().to_string(),
        hosts: hosts
            .map(|h| String::from_utf8_lossy(h.value).into_owned())
            .collect(),
        client,
    }
}

/// Reads from a socket until the time limit.
fn read(mut stream: &TcpStream, piece: &mut [u8], limit: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(left(limit)?))?;
    stream.read(piece)
}

fn write_response(stream: &TcpStream, response: &Response, has_body: bool) -> io::Result<()> {
    // No browser guesses media types, or shows a page of an earlier state.
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nAllow: GET, HEAD\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        response.status,
        reason(response.status),
        response.kind,
        response.body.len()
    );
    let limit = Instant::now() + RESPONSE_TIME;
    write(stream, head.as_bytes(), limit)?;
    if has_body {
        write(stream, &response.body, limit)?;
    }
    Ok(())
}

fn write(mut stream: &TcpStream, bytes: &[u8], limit: Instant) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(limit)?))?;
        let piece = rest.get(..PIECE).unwrap_or(rest);
        match stream.write(piece)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            count => rest = rest.get(count..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Ends the response and waits for the client to close its side. A socket that is closed with unread bytes is reset, and
/// the client might lose the end of the response.
fn close(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let limit = Instant::now() + CLOSE_TIME;
    let mut piece = [0; 4096];
    while read(stream, &mut piece, limit)? > 0 {}
    Ok(())
}

/// Time up to the limit.
fn left(limit: Instant) -> io::Result<Duration> {
    let left = limit.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}
