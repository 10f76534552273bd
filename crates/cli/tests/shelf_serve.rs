//! `nandscope shelf serve`, asked by clients over TCP: pages, what is added while it serves, and requests that make no
//! sense.

use crate::support::serving::Serving;
use crate::support::{Folder, Ran, tiny};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// Within this time a client has its response, whatever others do: less than the server waits for any one of them.
const LIMIT: Duration = Duration::from_secs(30);

/// A shelf with one drive that has a photo, and a result of another drive that is not on it.
fn shelf(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("job.fio", "[a]\nrw=randread\nbs=4k\nnumber_ios=200\n");
    for file in ["a.json", "b.json"] {
        folder
            .run(&["run", "job.fio", &tiny(), "-o", file])
            .succeeds();
    }
    std::fs::write(folder.0.join("card.png"), PNG).unwrap();
    folder
        .run(&["shelf", "add", "a.json", "--photo", "card.png"])
        .succeeds();
    folder
}

/// The site, served.
struct Desk {
    serving: Serving,
    port: u16,
}

impl Desk {
    fn start(folder: &Folder) -> Desk {
        let mut serving = Serving::with(folder, &["shelf", "serve", "--port", "0"]);
        serving.wait_for("http://127.0.0.1:");
        let port = serving.said.rsplit_once(':').unwrap().1;
        let port = port.trim().trim_end_matches('/').parse().unwrap();
        Desk { serving, port }
    }

    /// Sends these bytes and reads to the end of the connection.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // A connection that is reset instead of closed ends the answer, too.
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Status and whole answer.
    fn get(&self, method: &str, path: &str) -> (u16, String) {
        let port = self.port;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        );
        let answer = self.send(request.as_bytes());
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
        (status.unwrap_or_default(), text)
    }

    fn finish(self) -> Ran {
        let ran = self.serving.finish();
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }
}

#[test]
fn pages_are_those_of_the_site_and_follow_the_shelf() {
    let folder = shelf("shelf-serve");
    let desk = Desk::start(&folder);
    folder.run(&["shelf", "site", "-o", "site"]).succeeds();
    for (path, file) in [
        ("/", "index.html"),
        ("/index.html#drives", "index.html"),
        ("/compare.html?a=b", "compare.html"),
        ("/drives/tiny-run.html", "drives/tiny-run.html"),
    ] {
        let (status, text) = desk.get("GET", path);
        assert_eq!(status, 200, "{path}: {text}");
        assert!(text.contains("Content-Type: text/html; charset=utf-8"));
        assert!(
            text.ends_with(&folder.read(&format!("site/{file}"))),
            "{path}"
        );
    }
    let (status, photo) = desk.get("GET", "/photos/tiny.png");
    assert_eq!(status, 200);
    assert!(photo.contains("Content-Type: image/png") && photo.ends_with("rest"));
    let (status, head) = desk.get("HEAD", "/");
    assert!(status == 200 && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(desk.get("GET", "/drives/second-run.html").0, 404);
    folder
        .run(&[
            "shelf",
            "add",
            "b.json",
            "--name",
            "second",
            "--title",
            "The second",
        ])
        .succeeds();
    assert_eq!(desk.get("GET", "/drives/second-run.html").0, 200);
    assert!(desk.get("GET", "/").1.contains("The second"));
    // A shelf that cannot be read says so, and is served again when it can.
    folder.file("shelf/tiny/drive.toml", "pricee = 3\n");
    let (status, text) = desk.get("GET", "/");
    assert!(status == 500 && text.contains("pricee"), "{text}");
    assert_eq!(desk.get("GET", "/compare.html").0, 500);
    folder.file("shelf/tiny/drive.toml", "title = \"Mended again\"\n");
    let (status, text) = desk.get("GET", "/");
    assert!(status == 200 && text.contains("Mended again"));
    let ran = desk.finish();
    assert!(ran.err.contains("drive.toml, line 1"), "{}", ran.err);
}

#[test]
fn no_request_leaves_the_site_or_ends_the_server() {
    let folder = shelf("shelf-serve-hostile");
    folder.file("secret.txt", "secret");
    let desk = Desk::start(&folder);
    for path in [
        "/../secret.txt",
        "/photos/../../secret.txt",
        "/%2e%2e/secret.txt",
        "//etc/passwd",
        "/shelf/tiny/run.json",
        "/drives/",
        "/\u{0}",
        "*",
        "http://127.0.0.1/",
    ] {
        let (status, text) = desk.get("GET", path);
        assert!(!matches!(status, 200..=399), "{path}: {text}");
        assert!(
            !text.contains("secret") && !text.contains("root:"),
            "{path}"
        );
    }
    for method in ["POST", "DELETE", "PUT", "OPTIONS", "NONSENSE"] {
        assert_eq!(desk.get(method, "/").0, 405, "{method}");
    }
    // The page of another site, whose name was made to lead to this machine.
    let foreign = b"GET / HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n";
    assert!(desk.send(foreign).starts_with(b"HTTP/1.1 403"));
    let long = [b"GET /".as_slice(), &[b'a'; 100_000], b" HTTP/1.1\r\n\r\n"].concat();
    let headers = "X: y\r\n".repeat(20_000);
    for bytes in [
        b"".as_slice(),
        b"\r\n\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1000\r\n\r\nshort",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nTE: chunked;q=NaN, x;q=-1, ;;\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nExpect: 100-continue\r\nUpgrade: h2c\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\xff\xfe",
        &[0xff; 4096],
        &long,
        format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes(),
    ] {
        desk.send(bytes);
        assert_eq!(
            desk.get("GET", "/").0,
            200,
            "after {:?}",
            &bytes[..bytes.len().min(60)]
        );
    }
    desk.finish();
}

/// Clients that never read a response that is larger than all buffers between, and clients that never send a request: as
/// many as there are connections, and more.
#[test]
fn clients_that_do_nothing_keep_no_other_waiting() {
    let folder = shelf("shelf-serve-silent");
    let large = [PNG, &vec![7; (8 << 20) - PNG.len()]].concat();
    std::fs::write(folder.0.join("large.png"), large).unwrap();
    folder
        .run(&["shelf", "add", "a.json", "--photo", "large.png"])
        .succeeds();
    let desk = Desk::start(&folder);
    let request = format!(
        "GET /photos/tiny.png HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        desk.port
    );
    let mut silent = Vec::new();
    for count in [20, 60, 200] {
        while silent.len() < count {
            let mut stream = TcpStream::connect(("127.0.0.1", desk.port)).unwrap();
            if silent.len() % 3 != 2 {
                stream.write_all(request.as_bytes()).unwrap();
            }
            silent.push(stream);
        }
        let (status, _) = desk.get("GET", "/");
        assert_eq!(status, 200, "beside {count} silent clients");
    }
    desk.finish();
}

#[test]
fn what_cannot_be_served_is_refused() {
    let folder = shelf("shelf-serve-refused");
    folder
        .run(&["shelf", "serve", "--shelf", "none", "--port", "0"])
        .fails(3, &["cannot read the shelf none"]);
    let desk = Desk::start(&folder);
    let taken = desk.port.to_string();
    folder
        .run(&["shelf", "serve", "--port", &taken])
        .fails(3, &["cannot listen on 127.0.0.1", "--port"]);
    desk.finish();
}
