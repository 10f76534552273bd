use nandscope_suite::*;
fn main() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let t = std::time::Instant::now();
    struct O(String, std::time::Instant);
    impl ReviewObserver for O { fn progress(&mut self, f: f64, m: &str, s: &str, at: nandscope_units::Nanos) { let k=format!("{m} {s}"); if k!=self.0 { eprintln!("{:5.1}s {:5.1}% {k} {at}", self.1.elapsed().as_secs_f64(), f*100.0); self.0=k; } } }
    let d = review(&spec, &ReviewOptions { seed: 1, ..Default::default() }, &mut O(String::new(), t), &|| false).unwrap();
    eprintln!("{:?}", t.elapsed());
    print!("{}", facts::table(&facts::rows(&d)));
    std::fs::write("/tmp/result.json", nandscope_measure::document::to_json(&d).unwrap()).unwrap();
    for s in &d.steps { for f in &s.figures { println!("{} = {:.2} {} [{:?} {:?}]", f.id, f.value, f.unit, f.low, f.high); } }
    for f in &d.figures { println!("{} = {:.2} {}", f.id, f.value, f.unit); }
    for n in &d.notices { println!("{n:?}"); }
}
