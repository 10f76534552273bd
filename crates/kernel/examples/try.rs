//! Scratch.
use nandscope_device::{Device, profile::library};
use nandscope_kernel::{contents::Contents, recording, job, filesystem::FileSystem, workload, guest};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let profile = library::device(&a[1]).unwrap().profile().unwrap();
    let host = library::host("sabrelite").unwrap().host_profile().unwrap();
    for fs in a[2].split(',') { for w in a[3].split(',') {
    let mut device = Device::new(&profile, &host, 1).unwrap();
    let mut contents = Contents::new(device.capacity().0);
    let s = job::Settings { fullness: a.get(5).map_or(0, |f| f.parse().unwrap()), partition_start: a.get(6).map(|_| nandscope_units::Bytes::mib(4)), partition_size: a.get(6).map(|f| nandscope_units::Bytes::mib(f.parse().unwrap())), ..Default::default() };
    match job::run(std::path::Path::new("/tmp/kern/linux-ok"), FileSystem::named(fs).unwrap(), &workload::named(w).unwrap(), &s, &mut device, &mut contents, &|| false) {
        Ok(r) => { 
          let m = guest::marks(&r.console); let at = |n: &str| m.iter().find(|x| x.name == n).map_or(0.0, |x| x.at.as_secs_f64());
          println!("{fs} {w} work {:.3} sync {:.3} {:?} end {} events {} calls {} messages {} took {:?} fp {:08x} contents {:08x}", at("sync")-at("work"), at("idle")-at("sync"), r.ended, r.end, r.events.len(), r.calls.len(), r.messages, r.took, recording::fingerprint(&r.events), contents.checksum());
          if a.get(4).map_or(false, |x| x == "v") { println!("{}", r.console); for e in &r.events { println!("{:?} {} {} {} {}", e.kind, e.offset, e.length, e.submitted.0, e.latency()); } } }
        Err(e) => println!("{fs} {w} ERROR {e} kept {:?}", e.kept),
    } } }
}
