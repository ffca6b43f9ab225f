"""The thread pool as LLVM text.

One 32-bit word holds the whole state, and is what idle workers sleep on (futex):

    bits 0-15  workers inside the loop     bit 16 OPEN: the loop takes more workers
    bit 17     BUSY: a caller owns the pool    bit 18 STOPPED: workers leave, loops run serially

A caller takes the pool by 0 -> BUSY, or else runs its loop alone: that makes nested loops and other threads safe. It
opens the loop, works on it, closes it when no chunk is left, and waits only for the workers that are inside. A worker
that wakes late (another process has its core) is never waited for. Chunks come from an atomic counter, each a part of
what is left: they become short towards the end, where threads wait for the last one.

While somebody takes times, workers add the CPU time of their work to the word HELPED, and a caller subtracts that of
its waiting, which is none of the loop's. Otherwise no clock is read.
"""

from __future__ import annotations

import platform
import sys

from ...runtime.program.program import NEED_TILES
from ...runtime.program.threads import Layout
from ...runtime.program.tiles import ARCH_PRCTL, REQUEST, TILE_DATA

# machine -> numbers of the system calls futex and clock_gettime on Linux, what eases a spinning loop: its intrinsic,
# declared and called
_MACHINES = {
    "x86_64": (202, 228, "@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "aarch64": (98, 113, "@llvm.aarch64.hint(i32)", "@llvm.aarch64.hint(i32 1)"),  # yield
    "riscv64": (98, 113, "@llvm.donothing()", "@llvm.donothing()"),
}


def has_workers(system: str = sys.platform, machine: str = platform.machine()) -> bool:
    """Return whether such a system can have worker threads; if not, every loop runs serially."""
    return system == "linux" and machine in _MACHINES


def has_tiles(system: str = sys.platform, machine: str = platform.machine()) -> bool:
    """Return whether such a machine may have tiles, which such a system permits."""
    return system == "linux" and machine == "x86_64"


def pool_text(system: str = sys.platform, machine: str = platform.machine()) -> str:
    """The module for a system, exporting `whence_parallel_for` and what `runtime/program/threads.py` needs."""
    if not has_workers(system, machine):
        return _SERIAL + _MEMORY + _NO_TILES
    futex, clock, hint, relax = _MACHINES[machine]
    names = {name: str(value) for name, value in vars(Layout).items() if name.isupper()}
    names |= {"FUTEX": str(futex), "GETTIME": str(clock), "HINT": hint, "RELAX": f"call void {relax}"}
    names |= {"KEEP_OPEN": str(~Layout.OPEN), "KEEP_BUSY": str(~Layout.BUSY)}
    text = _POOL
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"${name}", names[name])
    return text + _MEMORY + (_TILES if has_tiles(system, machine) else _NO_TILES)


_MEMORY = """
@whence_refused = global [2 x i64] zeroinitializer, align 64
define void @whence_alloc_refused(i64 %bytes) {
  store atomic i64 %bytes, ptr getelementptr (i8, ptr @whence_refused, i64 8) monotonic, align 8
  atomicrmw add ptr @whence_refused, i64 1 seq_cst
  ret void
}
"""
"""Beside the pool, as all kernels of a program know it: what memory they did not get."""

REFUSAL = "whence: expected permission to use tiles (AMX) from Linux 5.16 or later, got none\n"
_TILES = f"""
declare i64 @write(i32, ptr, i64)
declare void @abort()
@tiles = internal global i32 0
@refusal = internal constant [{len(REFUSAL)} x i8] c"{REFUSAL[:-1]}\\0A"

; 1 if this process may use tiles, else 0: once asked, one less than the word.
define i32 @whence_tiles_allowed() {{
entry:
  %known = load atomic i32, ptr @tiles monotonic, align 4
  %asked = icmp ne i32 %known, 0
  br i1 %asked, label %done, label %ask
ask:
  %error = call i64 (i64, ...) @syscall(i64 {ARCH_PRCTL}, i64 {REQUEST}, i64 {TILE_DATA})
  %granted = icmp eq i64 %error, 0
  %found = select i1 %granted, i32 2, i32 1
  store atomic i32 %found, ptr @tiles monotonic, align 4
  br label %done
done:
  %word = phi i32 [%known, %entry], [%found, %ask]
  %allowed = sub i32 %word, 1
  ret i32 %allowed
}}

define void @{NEED_TILES}() {{
entry:
  %allowed = call i32 @whence_tiles_allowed()
  %may = icmp ne i32 %allowed, 0
  br i1 %may, label %done, label %refused
refused:
  call i64 @write(i32 2, ptr @refusal, i64 {len(REFUSAL)})
  call void @abort()
  unreachable
done:
  ret void
}}
"""
_NO_TILES = """
define i32 @whence_tiles_allowed() {
  ret i32 0
}
"""

_SERIAL = """
define void @whence_parallel_for(ptr %pool, ptr %body, ptr %ctx, i64 %n) {
  call void %body(ptr %ctx, i64 0, i64 %n)
  ret void
}
define void @whence_pool_spin(i64 %turns) {
  ret void
}
"""

_POOL = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(ptr, ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare void $HINT
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; Work on the loop until no chunk is left.
define internal void @work(ptr %pool) {
entry:
  %next = getelementptr i64, ptr %pool, i64 $NEXT
  %p.body = getelementptr i64, ptr %pool, i64 $BODY
  %p.ctx = getelementptr i64, ptr %pool, i64 $CONTEXT
  %p.n = getelementptr i64, ptr %pool, i64 $EXTENT
  %p.least = getelementptr i64, ptr %pool, i64 $LEAST
  %p.pieces = getelementptr i64, ptr %pool, i64 $PIECES
  %body = load ptr, ptr %p.body
  %ctx = load ptr, ptr %p.ctx
  %n = load i64, ptr %p.n
  %least = load i64, ptr %p.least
  %pieces = load i64, ptr %p.pieces
  br label %look
look:
  %seen = load atomic i64, ptr %next monotonic, align 8
  br label %take
take:
  %begin = phi i64 [%seen, %look], [%now, %claim]
  %left = sub i64 %n, %begin
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %claim, label %done
claim:
  %part = sdiv i64 %left, %pieces
  %chunk = call i64 @llvm.smax.i64(i64 %part, i64 %least)
  %past = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %past, i64 %n)
  %swap = cmpxchg weak ptr %next, i64 %begin, i64 %end monotonic monotonic
  %now = extractvalue {i64, i1} %swap, 0
  %mine = extractvalue {i64, i1} %swap, 1
  br i1 %mine, label %run, label %take
run:
  call void %body(ptr %ctx, i64 %begin, i64 %end)
  br label %look
done:
  ret void
}

; The CPU time of this thread in nanoseconds, where it counts; else 0.
define internal i64 @cpu_time(i64 %timed) {
entry:
  %time = alloca [2 x i64]
  %counts = icmp ne i64 %timed, 0
  br i1 %counts, label %read, label %none
read:
  ; 3 is CLOCK_THREAD_CPUTIME_ID
  call i64 (i64, ...) @syscall(i64 $GETTIME, i64 3, ptr %time)
  %p.rest = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %p.rest
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
none:
  ret i64 0
}

; Add the time between two to that of the workers, where it counts.
define internal void @help(ptr %pool, i64 %timed, i64 %begin, i64 %end) {
entry:
  %counts = icmp ne i64 %timed, 0
  br i1 %counts, label %add, label %done
add:
  %p.helped = getelementptr i64, ptr %pool, i64 $HELPED
  %time = sub i64 %end, %begin
  atomicrmw add ptr %p.helped, i64 %time monotonic
  br label %done
done:
  ret void
}

define internal ptr @worker(ptr %pool) {
entry:
  %sleepers = getelementptr i64, ptr %pool, i64 $SLEEPERS
  %p.spin = getelementptr i64, ptr %pool, i64 $SPIN
  %spin = load i64, ptr %p.spin
  %p.timed = getelementptr i64, ptr %pool, i64 $TIMED
  br label %look
look:
  %turn = phi i64 [0, %entry], [%turn, %join], [0, %inside], [%turn1, %relax], [0, %sleep]
  %state = load atomic i32, ptr %pool acquire, align 8
  %open.bit = and i32 %state, $OPEN
  %open = icmp ne i32 %open.bit, 0
  br i1 %open, label %join, label %idle
join:
  %entered = add i32 %state, 1
  %swap = cmpxchg ptr %pool, i32 %state, i32 %entered acq_rel monotonic
  %joined = extractvalue {i32, i1} %swap, 1
  br i1 %joined, label %inside, label %look
inside:
  %timed = load atomic i64, ptr %p.timed monotonic, align 8
  %start = call i64 @cpu_time(i64 %timed)
  call void @work(ptr %pool)
  %end = call i64 @cpu_time(i64 %timed)
  call void @help(ptr %pool, i64 %timed, i64 %start, i64 %end)
  atomicrmw and ptr %pool, i32 $KEEP_OPEN acq_rel
  atomicrmw sub ptr %pool, i32 1 acq_rel
  br label %look
idle:
  %stop.bit = and i32 %state, $STOPPED
  %stop = icmp ne i32 %stop.bit, 0
  br i1 %stop, label %leave, label %wait
wait:
  %turn1 = add i64 %turn, 1
  %spinning = icmp slt i64 %turn1, %spin
  br i1 %spinning, label %relax, label %sleep
relax:
  $RELAX
  br label %look
sleep:
  atomicrmw add ptr %sleepers, i32 1 seq_cst
  ; FUTEX_WAIT_PRIVATE: returns at once if the state is no longer the one seen
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %pool, i64 128, i32 %state, ptr null, ptr null, i32 0)
  atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
leave:
  ret ptr null
}

define void @whence_parallel_for(ptr %pool, ptr %body, ptr %ctx, i64 %n) {
entry:
  %none = icmp eq ptr %pool, null
  %short = icmp sle i64 %n, 1
  %alone = or i1 %none, %short
  br i1 %alone, label %serial, label %try
try:
  %swap = cmpxchg ptr %pool, i32 0, i32 $BUSY acq_rel monotonic
  %own = extractvalue {i32, i1} %swap, 1
  br i1 %own, label %share, label %serial
serial:
  call void %body(ptr %ctx, i64 0, i64 %n)
  ret void
share:
  %next = getelementptr i64, ptr %pool, i64 $NEXT
  %p.body = getelementptr i64, ptr %pool, i64 $BODY
  %p.ctx = getelementptr i64, ptr %pool, i64 $CONTEXT
  %p.n = getelementptr i64, ptr %pool, i64 $EXTENT
  %p.least = getelementptr i64, ptr %pool, i64 $LEAST
  %p.pieces = getelementptr i64, ptr %pool, i64 $PIECES
  %p.spin = getelementptr i64, ptr %pool, i64 $SPIN
  %sleepers = getelementptr i64, ptr %pool, i64 $SLEEPERS
  %pieces = load i64, ptr %p.pieces
  %spin = load i64, ptr %p.spin
  %most = shl i64 %pieces, 3
  %part = sdiv i64 %n, %most
  %least = call i64 @llvm.smax.i64(i64 %part, i64 1)
  store i64 0, ptr %next
  store ptr %body, ptr %p.body
  store ptr %ctx, ptr %p.ctx
  store i64 %n, ptr %p.n
  store i64 %least, ptr %p.least
  atomicrmw or ptr %pool, i32 $OPEN seq_cst
  ; either this sees the sleeper, or the sleeper's futex call sees the open loop
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 8
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %wake, label %begin
wake:
  %others = sub i64 %n, 1
  %few = call i64 @llvm.smin.i64(i64 %others, i64 $ACTIVE)
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %pool, i64 129, i64 %few, ptr null, ptr null, i32 0)
  br label %begin
begin:
  call void @work(ptr %pool)
  %p.timed = getelementptr i64, ptr %pool, i64 $TIMED
  %timed = load atomic i64, ptr %p.timed monotonic, align 8
  %worked = call i64 @cpu_time(i64 %timed)
  atomicrmw and ptr %pool, i32 $KEEP_OPEN acq_rel
  br label %look
look:
  %turn = phi i64 [0, %begin], [%turn1, %relax], [%turn1, %yield]
  %state = load atomic i32, ptr %pool acquire, align 8
  %inside = and i32 %state, $ACTIVE
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %done, label %wait
wait:
  %turn1 = add i64 %turn, 1
  %spinning = icmp slt i64 %turn1, %spin
  br i1 %spinning, label %relax, label %yield
relax:
  $RELAX
  br label %look
yield:
  call i32 @sched_yield()
  br label %look
done:
  %waited = call i64 @cpu_time(i64 %timed)
  call void @help(ptr %pool, i64 %timed, i64 %waited, i64 %worked)
  atomicrmw and ptr %pool, i32 $KEEP_BUSY release
  ret void
}

; Start threads - 1 workers; returns how many the system allowed.
define i64 @whence_pool_start(ptr %pool, i64 %threads) {
entry:
  %p.pieces = getelementptr i64, ptr %pool, i64 $PIECES
  %pieces = shl i64 %threads, 1
  store i64 %pieces, ptr %p.pieces
  %wanted = sub i64 %threads, 1
  br label %look
look:
  %started = phi i64 [0, %entry], [%more, %next]
  %missing = icmp slt i64 %started, %wanted
  br i1 %missing, label %create, label %done
create:
  %at = add i64 %started, $WORDS
  %id = getelementptr i64, ptr %pool, i64 %at
  %error = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %pool)
  %ok = icmp eq i32 %error, 0
  br i1 %ok, label %next, label %done
next:
  %more = add i64 %started, 1
  br label %look
done:
  ret i64 %started
}

; Wait for the loop that runs, then wake and join the workers.
define void @whence_pool_stop(ptr %pool, i64 %workers) {
entry:
  atomicrmw or ptr %pool, i32 $STOPPED seq_cst
  br label %look
look:
  %state = load atomic i32, ptr %pool acquire, align 8
  %busy.bit = and i32 %state, $BUSY
  %busy = icmp ne i32 %busy.bit, 0
  br i1 %busy, label %yield, label %wake
yield:
  call i32 @sched_yield()
  br label %look
wake:
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %pool, i64 129, i64 $ACTIVE, ptr null, ptr null, i32 0)
  br label %join
join:
  %k = phi i64 [0, %wake], [%k1, %one]
  %left = icmp slt i64 %k, %workers
  br i1 %left, label %one, label %done
one:
  %at = add i64 %k, $WORDS
  %p.id = getelementptr i64, ptr %pool, i64 %at
  %id = load ptr, ptr %p.id
  call i32 @pthread_join(ptr %id, ptr null)
  %k1 = add i64 %k, 1
  br label %join
done:
  ret void
}

; The idle loop without a pool, to measure what a turn costs.
define void @whence_pool_spin(i64 %turns) {
entry:
  %word = alloca i32, align 8
  store i32 0, ptr %word
  br label %look
look:
  %turn = phi i64 [0, %entry], [%turn1, %look]
  %state = load atomic i32, ptr %word acquire, align 8
  $RELAX
  %turn1 = add i64 %turn, 1
  %spinning = icmp slt i64 %turn1, %turns
  br i1 %spinning, label %look, label %done
done:
  ret void
}
"""
