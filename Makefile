# Thin: meson and cargo do the work. Every target brings what it needs (scripts/setup says how).

# Where rustup puts cargo, for shells that do not look there.
export PATH := $(PATH):$(HOME)/.cargo/bin

all:
	@scripts/build

check:
	@scripts/check

demo:
	@scripts/demo

# What the guard costs, beside a bare forwarder and beside other tools (docs/performance.md).
bench:
	@scripts/bench

# Writes include/verbsguard.h anew from src/abi/control.rs; `make check` fails where it differs.
header:
	@cargo run --quiet --locked -p verbsguard-tests --bin header

# The real kernel as judge, in a virtual machine (docs/testing.md); `make check` runs it too.
kernel-lab:
	@scripts/kernel-lab

# Programs that others wrote, guarded on the emulated device; brings them (most of a gigabyte). Not part of `make check`.
foreign: all
	@VERBSGUARD_FOREIGN=1 cargo test --locked --no-fail-fast -p verbsguard-tests --test foreign --test wheels

# Random programs and random kills without end, until something fails (docs/testing.md).
soak:
	@scripts/soak

install: all
	@meson install -C build

clean:
	@rm -rf build
	@cargo clean

.PHONY: all bench check demo foreign header kernel-lab soak install clean
