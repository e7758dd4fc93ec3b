// SPDX-License-Identifier: GPL-2.0-or-later
// rusty.rs: generic functions, closures called through a trait object, a panic caught in a loop.
use std::time::{Duration, Instant};

// The compiler may assume nothing of what comes out. std's own is newer than Debian 12's compiler.
#[inline(always)]
fn black_box<T>(x: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &x, options(nostack, preserves_flags)) };
    x
}

#[inline(never)]
fn burn(n: u32) {
    for i in 0..n {
        black_box(i);
    }
}

#[inline(never)]
fn call_dyn(f: &dyn Fn(u32) -> u32, n: u32) -> u32 {
    let r = f(n);
    black_box(r) + 1
}

mod nested {
    #[inline(never)]
    pub fn middle<T: Into<u32> + Copy>(x: T) -> u32 {
        let mut space = [0u8; 300];
        super::black_box(&mut space);
        super::burn(20000);
        super::black_box(x.into() + space[0] as u32)
    }
}

#[inline(never)]
fn descend(left: u32) -> u32 {
    if left == 0 {
        return nested::middle(black_box(7u8));
    }
    let r = descend(left - 1);
    black_box(r) + left
}

#[inline(never)]
fn rust_work(n: u32) -> u32 {
    let f = move |x: u32| descend(20) + x + n;
    let r = call_dyn(black_box(&f), n);
    black_box(r)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).map_or(3.0, |s| s.parse().unwrap());
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut n = 0u32;
    while Instant::now() < end {
        n = n.wrapping_add(rust_work(n % 100));
    }
    black_box(n);
}
