//! Somebody takes a host from us that metal3 holds for us and has not powered off yet.

use super::metal3::Metal3;
use super::shell::{Sim, millis};
use super::world::Cause;
use crate::decision::Effect;
use crate::facts::Obstacle;
use crate::metal3::HoldWrite;
use crate::phase::{Phase, Reason};

/// What people do to the BareMetalHost of a host that is held and is not off yet.
#[test]
fn a_host_that_somebody_takes_from_us_before_it_is_off_is_left_alone_and_they_are_named() {
    type Deed = fn(&mut Metal3, bool);
    let deeds: [(Reason, Deed); 3] = [
        (Reason::HostPaused, |metal3, done| metal3.view.paused = done),
        (Reason::HostDetached, |metal3, done| {
            metal3.view.detached_by_another = done;
        }),
        (Reason::HostOffline, |metal3, done| {
            metal3.view.kept_off = done.then(|| Obstacle::new(Reason::HostOffline, "is offline"));
        }),
    ];
    for (reason, deed) in deeds {
        for after in [0, 40_000, 61_500, 100_000] {
            let mut sim = Sim::with_metal3();
            sim.metal3().operator = false;
            sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
            let begun = sim.world.now;
            sim.run_until(|sim| sim.world.now >= begun + after);
            let now = sim.world.now;
            deed(sim.metal3(), true);
            sim.metal3().edit(now, |_| {});

            sim.run_until(|sim| sim.world.now >= now + 400_000);

            let what = format!("{reason:?} after {after}: {}", sim.journal.message);
            let is_power_off = |(_, effect): &&(i64, Effect)| matches!(effect, Effect::PowerOff { .. });
            assert_eq!(sim.sent.iter().filter(is_power_off).count(), 0, "{what}");
            let detaches = |(at, effect): &&(i64, Effect)| {
                matches!(effect, Effect::WriteHold(hold) if hold.write == HoldWrite::Detach) && *at > now
            };
            assert_eq!(sim.sent.iter().filter(detaches).count(), 0, "{what}");
            assert!(sim.journal.is_because(reason), "{what}");
            assert_eq!(sim.journal.phase, Phase::Pending, "{what}");
            assert!(sim.metal3().view.is_free(), "{what}");

            sim.metal3().operator = true;
            let now = sim.world.now;
            deed(sim.metal3(), false);
            sim.metal3().edit(now, |_| {});
            sim.run();
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{what}");
            sim.is_given_back();
        }
    }
}

/// Ironic had taken the request before somebody paused the BareMetalHost, and carries it out later.
#[test]
fn a_host_that_metal3_powers_off_after_it_was_taken_from_us_comes_back() {
    let deeds: [fn(&mut Metal3); 2] = [
        |metal3| metal3.view.paused = true,
        |metal3| {
            (metal3.view.detached_by_another, metal3.view.detached) = (true, true);
        },
    ];
    for deed in deeds {
        for (taken, late) in [
            (55_000, 5_000),
            (55_000, 20_000),
            (10_000, 150_000),
            (59_000, 120_000),
        ] {
            for attempts in [1, 3] {
                let mut sim = Sim::with_metal3();
                let strategy = sim.strategy.as_mut().expect("it is in order");
                strategy.retries.attempts = attempts;
                sim.metal3().operator = false;
                sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
                let held = sim.world.now;
                sim.run_until(|sim| sim.world.now >= held + taken);
                let now = sim.world.now;
                deed(sim.metal3());
                sim.metal3().edit(now, |_| {});
                sim.run_until(|sim| sim.world.now >= now + late);
                (sim.metal3().recorded, sim.metal3().ironic) = (false, false);
                sim.world.command(false, Cause::Metal3);
                let off = sim.world.now;

                sim.run_until(|sim| sim.world.now > off + 2_000 && sim.world.host.on || sim.gone);

                let what = format!("{taken} {late} {attempts}: {}", sim.journal.message);
                assert!(sim.world.host.on, "{what}");
                let took = sim.world.now - off;
                assert!(took < 400_000, "{took} ms: {what}");
            }
        }
    }
}

#[test]
fn a_host_whose_annotation_somebody_takes_off_before_it_is_off_is_left_alone() {
    let mut sim = Sim::with_metal3();
    sim.metal3().operator = false;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    let now = sim.world.now;
    sim.metal3().edit(now, |view| view.held = false);

    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());

    let told = &sim.journal.message;
    assert!(told.contains("somebody took reboot.metal3.io/"), "{told}");
    let disturbs = |(_, effect): &&(i64, Effect)| {
        matches!(effect, Effect::PowerOff { .. })
            || matches!(effect, Effect::WriteHold(hold) if hold.write == HoldWrite::Detach)
    };
    assert_eq!(sim.sent.iter().filter(disturbs).count(), 0, "{:?}", sim.sent);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    sim.metal3().operator = true;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    sim.is_given_back();
}

#[test]
fn a_host_that_somebody_takes_from_us_right_before_it_is_powered_off_directly_is_given_back() {
    let dead = || {
        let mut sim = Sim::with_metal3();
        (sim.metal3().operator, sim.metal3().ironic) = (false, false);
        sim
    };
    let mut sim = dead();
    sim.run_until(|sim| {
        sim.journal
            .hold
            .as_ref()
            .is_some_and(|hold| hold.direct.is_some())
    });
    let hold = sim.journal.hold.as_ref().expect("it is held");
    let direct = millis(hold.direct.expect("it is powered directly"));
    for before in [1, 300, 1_500, 2_900] {
        let mut sim = dead();
        sim.run_until(|sim| sim.world.now >= direct - before);
        let now = sim.world.now;
        sim.metal3().view.paused = true;
        sim.metal3().edit(now, |_| {});

        sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
        sim.run_until(|sim| sim.world.now >= now + 60_000);

        let reasons = sim.journal.failed_attempts.iter().map(|one| one.reason.as_str());
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [Reason::HostPaused.as_str()],
            "{before}"
        );
        let is_power_off = |(_, effect): &&(i64, Effect)| matches!(effect, Effect::PowerOff { .. });
        assert_eq!(sim.sent.iter().filter(is_power_off).count(), 0, "{:?}", sim.sent);
        assert!(sim.metal3().view.is_free(), "{}", sim.journal.message);
    }
}
