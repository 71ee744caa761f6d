mod home;
use gameway_gateway::*;
use gameway_tcp::Algorithm;
use gameway_units::*;
use home::*;

fn voap(config: VoapConfig) -> Option<Box<dyn Gateway>> {
    Some(Box::new(Voap::new(config)))
}
fn show(name: &str, home: &Home, n: usize, from: f64, to: f64) {
    let flows: Vec<String> =
        (0..n.min(6)).map(|f| format!("{:.2}", home.goodput(f, from, to))).collect();
    println!(
        "{name}: p50 {:.1} p98 {:.1} max {:.1} total {:.3} [{}] drops {}",
        home.wait(0.5, from, to),
        home.wait(0.98, from, to),
        home.wait(1.0, from, to),
        home.total(from, to),
        flows.join(" "),
        home.dropped
    );
}
fn log(home: &Home) {
    home.gateway.as_ref().unwrap().observe(&mut |o| {
        print!(
            "{} {:.0}; ",
            o.variable.split('_').next().unwrap(),
            if o.variable.ends_with("bytes") { o.value / 1448.0 } else { o.value }
        )
    });
    println!();
}

#[test]
#[ignore]
fn single() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Bic, Algorithm::Bbr] {
        for gateway in 0..4 {
            let c = VoapConfig::default();
            let g: Option<Box<dyn Gateway>> = match gateway {
                0 => None,
                1 => voap(c),
                2 => voap(VoapConfig { step: Step::Backlog, ..c }),
                _ => Some(Box::new(SapLaw::new(SapLawConfig::new(Rate::from_mbps(20))))),
            };
            let mut home =
                Home::new(vec![Download { algorithm, start: 2.0, ..Download::default() }], g);
            if gateway == 1 && algorithm == Algorithm::Cubic {
                for t in 0..20 {
                    home.run_until(f64::from(t) * 2.0);
                    log(&home);
                }
            }
            home.run_until(122.0);
            show(&format!("{algorithm:?} {gateway} early"), &home, 1, 2.0, 40.0);
            show(&format!("{algorithm:?} {gateway} late"), &home, 1, 60.0, 122.0);
        }
    }
}

#[test]
#[ignore]
fn trace() {
    for (algorithm, step) in [(Algorithm::Cubic, Step::Backlog), (Algorithm::Bbr, Step::Segment)] {
        let c = VoapConfig { step, ..VoapConfig::default() };
        let mut home =
            Home::new(vec![Download { algorithm, start: 2.0, ..Download::default() }], voap(c));
        for t in 10..80 {
            home.run_until(f64::from(t) * 0.2 + 0.01);
            print!(
                "{:.1} flight {} cwnd {}: ",
                f64::from(t) * 0.2,
                home.sender(0).stats().in_flight.get() / 1448,
                home.sender(0).stats().cwnd.get() / 1448
            );
            log(&home);
        }
    }
}

#[test]
#[ignore]
fn mended() {
    for algorithm in [Algorithm::Cubic, Algorithm::Bbr] {
        for gateway in 1..4 {
            let c = VoapConfig::default();
            let c = match gateway {
                1 => c,
                2 => VoapConfig { memory: Duration::from_secs(1), ..c },
                _ => VoapConfig { memory: Duration::from_secs(1), step: Step::Backlog, ..c },
            };
            let mut home =
                Home::new(vec![Download { algorithm, start: 2.0, ..Download::default() }], voap(c));
            home.run_until(122.0);
            show(&format!("{algorithm:?} {gateway} early"), &home, 1, 4.0, 40.0);
            show(&format!("{algorithm:?} {gateway} late"), &home, 1, 60.0, 122.0);
        }
    }
}
