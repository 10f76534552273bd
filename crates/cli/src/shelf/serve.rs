//! `nandscope shelf serve`: the site of a shelf for browsers on this machine. Pages are rendered when they are requested,
//! and again after the shelf has changed. Nothing is written, and only addresses of this machine are served.

use super::folder;
use super::http::{self, Body, Request, Response};
use crate::confine::Confine;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use clap::Args;
use nandscope_report::ReportError;
use nandscope_report::shelf::{Drive, INDEX, Site};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

/// Time between two checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub struct Serve {
    /// Folder of the shelf
    #[arg(long, value_name = "DIR", default_value = "shelf")]
    shelf: PathBuf,
    /// Port on 127.0.0.1; 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = 8020)]
    port: u16,
}

/// Serves until it is interrupted.
///
/// # Errors
/// As [`folder::read`] at the start; `Exit::File` if the port cannot be used.
pub fn run(serve: &Serve, console: &Console) -> Result<Exit, Failure> {
    let refuse = |e: &dyn std::fmt::Display| {
        Failure::file(format!(
            "cannot listen on 127.0.0.1:{}: {e}; name another port with --port",
            serve.port
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, serve.port)).map_err(|e| refuse(&e))?;
    let port = listener.local_addr().map_err(|e| refuse(&e))?.port();
    let interrupt = Interrupt::listen()?;
    // Clients come after this; the listener is open already.
    Confine::default().reading([&serve.shelf]).enforce();
    let mut seen = fingerprint(&serve.shelf);
    let mut drives = folder::read(&serve.shelf)?;
    let mut fault = None;
    let requests = http::listen(listener).map_err(|e| refuse(&e))?;
    console.print(&format!(
        "{} drives at http://127.0.0.1:{port}/\n",
        drives.len()
    ))?;
    let mut waiting: Option<Request> = None;
    loop {
        let desk = Desk::new(&serve.shelf, &drives, fault.as_deref(), port);
        if let Some(request) = waiting.take() {
            desk.answer(request);
        }
        waiting = desk.serve_until_changed(&requests, &seen, &interrupt)?;
        if waiting.is_none() {
            return Ok(Exit::Done);
        }
        // The request that found the change is answered from the new state.
        drop(desk);
        seen = fingerprint(&serve.shelf);
        (drives, fault) = match folder::read(&serve.shelf) {
            Ok(read) => (read, None),
            Err(failure) => {
                console.complain(&failure);
                (Vec::new(), Some(failure.text))
            }
        };
    }
}

/// Names, lengths and times of the files of a shelf: what changes when a result is added.
fn fingerprint(shelf: &Path) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|e| Some(e.ok()?.path())).collect()
    };
    let files = inside(shelf).into_iter().flat_map(|folder| inside(&folder));
    let mut found: Vec<_> = files
        .filter_map(|path| {
            let about = std::fs::metadata(&path).ok()?;
            Some((path, about.len(), about.modified().ok()))
        })
        .collect();
    found.sort();
    found
}

/// The site of the drives as they were read, and how requests for it are answered.
struct Desk<'a> {
    shelf: &'a Path,
    site: Site<'a>,
    /// Folder of each drive with a photo, by the link of the photo.
    photos: BTreeMap<String, &'a str>,
    /// Why the shelf cannot be read now.
    fault: Option<&'a str>,
    port: u16,
    /// Pages that were requested before, by their link.
    rendered: RefCell<BTreeMap<String, Body>>,
    /// Photos that clients read now, by their link: many slow clients need the memory of one.
    sent: RefCell<BTreeMap<String, Weak<[u8]>>>,
}

impl<'a> Desk<'a> {
    fn new(shelf: &'a Path, drives: &'a [Drive], fault: Option<&'a str>, port: u16) -> Self {
        let photos = drives
            .iter()
            .filter_map(|d| Some((d.about.photo.clone()?, d.name.as_str())));
        Desk {
            shelf,
            site: Site::of(drives),
            photos: photos.collect(),
            fault,
            port,
            rendered: RefCell::default(),
            sent: RefCell::default(),
        }
    }

    /// Answers requests until the shelf is no longer as it was `seen`, which the request that is returned finds; `None`
    /// after an interrupt.
    fn serve_until_changed(
        &self,
        requests: &Receiver<Request>,
        seen: &[(PathBuf, u64, Option<SystemTime>)],
        interrupt: &Interrupt,
    ) -> Result<Option<Request>, Failure> {
        loop {
            let received = requests.recv_timeout(POLL);
            if interrupt.asked() {
                return Ok(None);
            }
            match received {
                Ok(request) if fingerprint(self.shelf) != seen => return Ok(Some(request)),
                Ok(request) => self.answer(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::internal("the listener of `shelf serve` ended"));
                }
            }
        }
    }

    fn answer(&self, request: Request) {
        let response = self.response(&request);
        request.answer(response);
    }

    fn response(&self, request: &Request) -> Response {
        // A page of another site that names this machine as its own could read the shelf otherwise.
        if !self.is_own_host(request) {
            return Response::text(403, "open this site as http://127.0.0.1");
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Response::text(405, "this site is read-only");
        }
        if let Some(fault) = self.fault {
            return Response::text(500, fault);
        }
        let path = request.target.split(['?', '#']).next().unwrap_or_default();
        let link = match path.strip_prefix('/') {
            Some("") => INDEX,
            Some(link) => link,
            None => return Response::text(404, "no such page"),
        };
        let found = |kind, body| Response {
            status: 200,
            kind,
            body,
        };
        if let Some(drive) = self.photos.get(link) {
            return match self.photo(drive, link) {
                Ok(photo) => found(media_type(link), photo),
                Err(failure) => Response::text(500, &failure.text),
            };
        }
        match self.page(link) {
            Ok(Some(page)) => found("text/html; charset=utf-8", page),
            Ok(None) => Response::text(404, "no such page"),
            Err(error) => Response::text(500, &error.to_string()),
        }
    }

    fn photo(&self, drive: &str, link: &str) -> Result<Body, Failure> {
        let mut sent = self.sent.borrow_mut();
        if let Some(photo) = sent.get(link).and_then(Weak::upgrade) {
            return Ok(photo);
        }
        let photo = Body::from(folder::photo(&self.shelf.join(drive), link)?);
        sent.insert(link.to_string(), Body::downgrade(&photo));
        Ok(photo)
    }

    /// The page at a link, rendered at its first request.
    fn page(&self, link: &str) -> Result<Option<Body>, ReportError> {
        if let Some(page) = self.rendered.borrow().get(link) {
            return Ok(Some(page.clone()));
        }
        let page = self.site.page(link)?.map(|p| Body::from(p.into_bytes()));
        if let Some(page) = &page {
            let mut rendered = self.rendered.borrow_mut();
            rendered.insert(link.to_string(), page.clone());
        }
        Ok(page)
    }

    fn is_own_host(&self, request: &Request) -> bool {
        request.hosts.iter().all(|host| {
            let named = |name: &str| *host == format!("{name}:{}", self.port);
            named("127.0.0.1") || named("localhost")
        })
    }
}

/// Media type of a photo.
fn media_type(link: &str) -> &'static str {
    match link.rsplit('.').next() {
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        _ => "image/jpeg",
    }
}
