; The functions of an exported library that tvm-ffi calls: ffi_interface.py fills in the words after a dollar, and
; makes of `!Kind "format" arguments` the code that sets an error of that kind.
%any = type { i32, i32, i64 }
@empty = private global [64 x i8] zeroinitializer, align 64
@spare = private global i64 0
@pool = private global ptr null
@owner = private global i32 0
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @end, ptr null }]

declare i32 @snprintf(ptr, i64, ptr, ...)
declare extern_weak void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @getpid()
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i64 @sysconf(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @whence_pool_create(i32)
declare void @whence_pool_destroy(ptr)
declare void @$RUN(ptr, ptr, ptr, ptr$MORE_TYPES)
@whence_arena_bytes = external constant i64
@whence_refused = external global [2 x i64]
declare void @whence_sizes(ptr)
declare i32 @whence_tiles_allowed()
@variable = private constant [19 x i8] c"WHENCE_NUM_THREADS\00"

define internal void @refuse(ptr %kind, ptr %text) {
entry:
  %there = icmp ne ptr @TVMFFIErrorSetRaisedFromCStr, null
  br i1 %there, label %tell, label %done
tell:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %text)
  br label %done
done:
  ret void
}

define internal ptr @taken(ptr %args, i32 %at, ptr %row) {
entry:
  %spec = load ptr, ptr %row
  %name = load ptr, ptr %spec
  %any = getelementptr %any, ptr %args, i32 %at
  %index = load i32, ptr %any
  %object_at = getelementptr i8, ptr %any, i64 8
  %object = load ptr, ptr %object_at
  switch i32 %index, label %other [ i32 7, label %found i32 70, label %inside ]
other:
  !TypeError "argument %d ('%s'): expected a tensor, got a value of type index %d" i32 %at, ptr %name, i32 %index
  ret ptr null
inside:
  %behind = getelementptr i8, ptr %object, i64 24
  br label %found
found:
  %tensor = phi ptr [ %object, %entry ], [ %behind, %inside ]
  %device_at = getelementptr i8, ptr %tensor, i64 8
  %device = load i32, ptr %device_at
  %here = icmp eq i32 %device, 1
  br i1 %here, label %typed, label %elsewhere
elsewhere:
  !ValueError "argument %d ('%s'): expected memory of the CPU, got device type %d" i32 %at, ptr %name, i32 %device
  ret ptr null
typed:
  %dtype_at = getelementptr i8, ptr %tensor, i64 20
  %dtype = load i32, ptr %dtype_at
  %wanted_at = getelementptr %row, ptr %row, i32 0, i32 1
  %wanted = load i32, ptr %wanted_at
  %differs = xor i32 %dtype, %wanted
  %apart = and i32 %differs, 65535
  %alike = icmp eq i32 %apart, 0
  br i1 %alike, label %counted, label %mistyped
counted:
  %lanes = lshr i32 %dtype, 16
  %single = icmp eq i32 %lanes, 1
  br i1 %single, label %ranked, label %vectors
vectors:
  !TypeError "argument %d ('%s'): expected single elements, got vectors of %d lanes" i32 %at, ptr %name, i32 %lanes
  ret ptr null
mistyped:
  %text_at = getelementptr %tensor, ptr %spec, i32 0, i32 1
  %text = load ptr, ptr %text_at
  %code = and i32 %dtype, 255
  %known = call i32 @llvm.umin.i32(i32 %code, i32 7)
  %kind_at = getelementptr ptr, ptr @kinds, i32 %known
  %kind = load ptr, ptr %kind_at
  %above = lshr i32 %dtype, 8
  %bits = and i32 %above, 255
  !TypeError "argument %d ('%s'): expected %s, got %s%d" i32 %at, ptr %name, ptr %text, ptr %kind, i32 %bits
  ret ptr null
ranked:
  %rank_at = getelementptr i8, ptr %tensor, i64 16
  %rank = load i32, ptr %rank_at
  %axes_at = getelementptr %tensor, ptr %spec, i32 0, i32 2
  %axes = load i32, ptr %axes_at
  %level = icmp eq i32 %rank, %axes
  br i1 %level, label %good, label %misshaped
misshaped:
  !ValueError "argument %d ('%s'): expected %d dimensions, got %d" i32 %at, ptr %name, i32 %axes, i32 %rank
  ret ptr null
good:
  ret ptr %tensor
}

define internal i1 @negative(ptr %values, i64 %from, i64 %end) {
entry:
  br label %next
next:
  %at = phi i64 [%from, %entry], [%following, %here]
  %more = icmp slt i64 %at, %end
  br i1 %more, label %here, label %none
here:
  %value_at = getelementptr i64, ptr %values, i64 %at
  %value = load i64, ptr %value_at
  %below = icmp slt i64 %value, 0
  %following = add i64 %at, 1
  br i1 %below, label %found, label %next
found:
  %number = sub i64 %at, %from
  %text_at = getelementptr ptr, ptr @derived, i64 %number
  %text = load ptr, ptr %text_at
  !ValueError "expected %s of at least 0 for the sizes of the arguments, got %lld" ptr %text, i64 %value
  ret i1 true
none:
  ret i1 false
}

define internal i1 @is_empty(ptr %shape, i32 %rank) {
entry:
  br label %next
next:
  %axis = phi i32 [ 0, %entry ], [ %after, %test ]
  %done = icmp eq i32 %axis, %rank
  br i1 %done, label %end, label %test
test:
  %extent_at = getelementptr i64, ptr %shape, i32 %axis
  %extent = load i64, ptr %extent_at
  %after = add i32 %axis, 1
  %zero = icmp eq i64 %extent, 0
  br i1 %zero, label %end, label %next
end:
  %found = phi i1 [ false, %next ], [ true, %test ]
  ret i1 %found
}

define internal i64 @fitting(ptr %tensor, i32 %at, ptr %row, ptr %values) {
entry:
  %spec = load ptr, ptr %row
  %name = load ptr, ptr %spec
  %rank_at = getelementptr %tensor, ptr %spec, i32 0, i32 2
  %rank = load i32, ptr %rank_at
  %extents_at = getelementptr %tensor, ptr %spec, i32 0, i32 3
  %extents = load ptr, ptr %extents_at
  %shape_at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape_at
  %strides_at = getelementptr i8, ptr %tensor, i64 32
  %strides = load ptr, ptr %strides_at
  %packed = icmp eq ptr %strides, null
  br label %next
next:
  %axis = phi i32 [ %rank, %entry ], [ %here, %again ]
  %step = phi i64 [ 1, %entry ], [ %larger, %again ]
  %done = icmp eq i32 %axis, 0
  br i1 %done, label %end, label %extent
extent:
  %here = sub i32 %axis, 1
  %coded_at = getelementptr i64, ptr %extents, i32 %here
  %coded = load i64, ptr %coded_at
  %open = icmp slt i64 %coded, 0
  br i1 %open, label %decided, label %compare
decided:
  %number = sub i64 -1, %coded
  %value_at = getelementptr i64, ptr %values, i64 %number
  %value = load i64, ptr %value_at
  br label %compare
compare:
  %want = phi i64 [ %coded, %extent ], [ %value, %decided ]
  %got_at = getelementptr i64, ptr %shape, i32 %here
  %got = load i64, ptr %got_at
  %same = icmp eq i64 %got, %want
  br i1 %same, label %stride, label %differs
differs:
  !ValueError "argument %d ('%s'): expected dimension %d of %lld, got %lld" i32 %at, ptr %name, i32 %here, i64 %want, i64 %got
  ret i64 -1
stride:
  %few = icmp ult i64 %got, 2
  %nothing = icmp eq i64 %step, 0
  %free = or i1 %few, %packed
  %any = or i1 %free, %nothing
  br i1 %any, label %again, label %lying
lying:
  %found_at = getelementptr i64, ptr %strides, i32 %here
  %found = load i64, ptr %found_at
  %close = icmp eq i64 %found, %step
  br i1 %close, label %again, label %strided
strided:
  %none = call i1 @is_empty(ptr %shape, i32 %rank)
  br i1 %none, label %again, label %apart
apart:
  !ValueError "argument %d ('%s'): expected C order with stride %lld in dimension %d, got %lld" i32 %at, ptr %name, i64 %step, i32 %here, i64 %found
  ret i64 -1
again:
  %larger = mul i64 %step, %got
  br label %next
end:
  %size_at = getelementptr %row, ptr %row, i32 0, i32 2
  %size = load i32, ptr %size_at
  %wide = sext i32 %size to i64
  %bytes = mul i64 %step, %wide
  ret i64 %bytes
}

define internal ptr @start(ptr %tensor) {
  %data = load ptr, ptr %tensor
  %offset_at = getelementptr i8, ptr %tensor, i64 40
  %offset = load i64, ptr %offset_at
  %start = getelementptr i8, ptr %data, i64 %offset
  ret ptr %start
}

define internal ptr @aligned(ptr %tensor, ptr %row, i64 %bytes) {
entry:
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %empty, label %some
empty:
  ret ptr @empty
some:
  %start = call ptr @start(ptr %tensor)
  %mask_at = getelementptr %row, ptr %row, i32 0, i32 3
  %mask = load i64, ptr %mask_at
  %address = ptrtoint ptr %start to i64
  %low = and i64 %address, %mask
  %fine = icmp eq i64 %low, 0
  br i1 %fine, label %own, label %copy
own:
  ret ptr %start
copy:
  %up = add i64 %bytes, 63
  %room = and i64 %up, -64
  %made = call ptr @aligned_alloc(i64 64, i64 %room)
  %written_at = getelementptr %row, ptr %row, i32 0, i32 5
  %written = load i32, ptr %written_at
  %is_output = icmp ne i32 %written, 0
  %full = icmp eq ptr %made, null
  %bare = or i1 %is_output, %full
  br i1 %bare, label %done, label %fill
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %start, i64 %bytes, i1 false)
  br label %done
done:
  ret ptr %made
}

define internal ptr @threads() {
entry:
  %process = call i32 @getpid()
  %owner = load atomic i32, ptr @owner acquire, align 4
  %mine = icmp eq i32 %owner, %process
  br i1 %mine, label %there, label %claim
there:
  %pool = load ptr, ptr @pool
  ret ptr %pool
claim:
  %making = icmp eq i32 %owner, -1
  br i1 %making, label %alone, label %try
try:
  %swap = cmpxchg ptr @owner, i32 %owner, i32 -1 acq_rel monotonic
  %won = extractvalue { i32, i1 } %swap, 1
  br i1 %won, label %make, label %alone
alone:
  ret ptr null
make:
  %text = call ptr @getenv(ptr @variable)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %all, label %told
told:
  %word = call i32 @atoi(ptr %text)
  %positive = icmp sgt i32 %word, 0
  %small = icmp sle i32 %word, $MOST_THREADS
  %valid = and i1 %positive, %small
  br i1 %valid, label %start, label %all
all:
  %online = call i64 @sysconf(i32 84)
  %count = trunc i64 %online to i32
  br label %start
start:
  %threads = phi i32 [ %word, %told ], [ %count, %all ]
  %new = call ptr @whence_pool_create(i32 %threads)
  store ptr %new, ptr @pool
  store atomic i32 %process, ptr @owner release, align 4
  ret ptr %new
}

define internal void @end() {
entry:
  %process = call i32 @getpid()
  %owner = load atomic i32, ptr @owner acquire, align 4
  %mine = icmp eq i32 %owner, %process
  br i1 %mine, label %stop, label %done
stop:
  %pool = load ptr, ptr @pool
  store i32 -1, ptr @owner
  call void @whence_pool_destroy(ptr %pool)
  br label %done
done:
  %word = atomicrmw xchg ptr @spare, i64 0 acq_rel
  %spare = inttoptr i64 %word to ptr
  call void @free(ptr %spare)
  ret void
}

define internal ptr @borrowed(i64 %bytes) {
entry:
  %word = atomicrmw xchg ptr @spare, i64 0 acq_rel
  %spare = inttoptr i64 %word to ptr
  %none = icmp eq i64 %word, 0
  br i1 %none, label %make, label %look
look:
  %room = load i64, ptr %spare
  %enough = icmp sge i64 %room, %bytes
  br i1 %enough, label %have, label %small
small:
  call void @free(ptr %spare)
  br label %make
make:
  %up = add i64 %bytes, 127
  %size = and i64 %up, -64
  %new = call ptr @aligned_alloc(i64 64, i64 %size)
  %full = icmp eq ptr %new, null
  br i1 %full, label %have, label %note
note:
  store i64 %bytes, ptr %new
  br label %have
have:
  %arena = phi ptr [ %spare, %look ], [ %new, %make ], [ %new, %note ]
  ret ptr %arena
}

define internal void @returned(ptr %arena) {
  %word = ptrtoint ptr %arena to i64
  %swap = cmpxchg ptr @spare, i64 0, i64 %word acq_rel monotonic
  %kept = extractvalue { i64, i1 } %swap, 1
  br i1 %kept, label %done, label %over
over:
  call void @free(ptr %arena)
  br label %done
done:
  ret void
}

define internal void @finish(ptr %tensors, ptr %io, ptr %bytes, i1 %ran) {
entry:
  br label %next
next:
  %at = phi i32 [ 0, %entry ], [ %following, %again ]
  %more = icmp slt i32 %at, $COUNT
  br i1 %more, label %one, label %done
one:
  %following = add i32 %at, 1
  %row = getelementptr %row, ptr @rows, i32 %at
  %place_at = getelementptr %row, ptr %row, i32 0, i32 4
  %place = load i32, ptr %place_at
  %array_at = getelementptr ptr, ptr %io, i32 %place
  %array = load ptr, ptr %array_at
  %tensor_at = getelementptr ptr, ptr %tensors, i32 %place
  %tensor = load ptr, ptr %tensor_at
  %start = call ptr @start(ptr %tensor)
  %own = icmp eq ptr %array, %start
  %none = icmp eq ptr %array, null
  %void = icmp eq ptr %array, @empty
  %either = or i1 %own, %none
  %nothing = or i1 %either, %void
  br i1 %nothing, label %again, label %copy
copy:
  %written_at = getelementptr %row, ptr %row, i32 0, i32 5
  %written = load i32, ptr %written_at
  %is_output = icmp ne i32 %written, 0
  %result = and i1 %is_output, %ran
  br i1 %result, label %back, label %release
back:
  %count_at = getelementptr i64, ptr %bytes, i32 %place
  %count = load i64, ptr %count_at
  call void @llvm.memcpy.p0.p0.i64(ptr %start, ptr %array, i64 %count, i1 false)
  br label %release
release:
  call void @free(ptr %array)
  br label %again
again:
  br label %next
done:
  ret void
}

define i32 @"$NAME"(ptr %self, ptr %args, i32 %count, ptr %result) {
entry:
  %tensors = alloca [$ROOM x ptr]
  %io = alloca [$ROOM x ptr]
  %bytes = alloca [$ROOM x i64]
  %values = alloca [$VALUES x i64]
  %right = icmp eq i32 %count, $COUNT
  br i1 %right, label %take, label %miscounted
miscounted:
  !TypeError "expected $COUNT tensors, inputs and outputs, got %d arguments" i32 %count
  br label %refused
refused:
  ret i32 -1
take:
  %at = phi i32 [ 0, %entry ], [ %at.next, %take.on ]
  %at.more = icmp slt i32 %at, $COUNT
  br i1 %at.more, label %take.one, label %read
take.one:
  %at.next = add i32 %at, 1
  %at.row = getelementptr %row, ptr @rows, i32 %at
  %at.tensor = call ptr @taken(ptr %args, i32 %at, ptr %at.row)
  %at.bad = icmp eq ptr %at.tensor, null
  br i1 %at.bad, label %refused, label %take.on
take.on:
  %at.place_at = getelementptr %row, ptr %at.row, i32 0, i32 4
  %at.place = load i32, ptr %at.place_at
  %at.to = getelementptr ptr, ptr %tensors, i32 %at.place
  store ptr %at.tensor, ptr %at.to
  %at.io = getelementptr ptr, ptr %io, i32 %at.place
  store ptr null, ptr %at.io
  br label %take
read:
$PERMISSION
  br label %sized
sized:
$NUMBERS
  br label %measure
measure:
  %on = phi i32 [ 0, %$SIZED ], [ %on.next, %measure.on ]
  %on.more = icmp slt i32 %on, $COUNT
  br i1 %on.more, label %measure.one, label %place
measure.one:
  %on.next = add i32 %on, 1
  %on.row = getelementptr %row, ptr @rows, i32 %on
  %on.place_at = getelementptr %row, ptr %on.row, i32 0, i32 4
  %on.place = load i32, ptr %on.place_at
  %on.from = getelementptr ptr, ptr %tensors, i32 %on.place
  %on.tensor = load ptr, ptr %on.from
  %on.bytes = call i64 @fitting(ptr %on.tensor, i32 %on, ptr %on.row, ptr %values)
  %on.bad = icmp slt i64 %on.bytes, 0
  br i1 %on.bad, label %refused, label %measure.on
measure.on:
  %on.to = getelementptr i64, ptr %bytes, i32 %on.place
  store i64 %on.bytes, ptr %on.to
  br label %measure
place:
  %to = phi i32 [ 0, %measure ], [ %to.next, %place.on ]
  %to.more = icmp slt i32 %to, $COUNT
  br i1 %to.more, label %place.one, label %run
place.one:
  %to.next = add i32 %to, 1
  %to.row = getelementptr %row, ptr @rows, i32 %to
  %to.place_at = getelementptr %row, ptr %to.row, i32 0, i32 4
  %to.place = load i32, ptr %to.place_at
  %to.from = getelementptr ptr, ptr %tensors, i32 %to.place
  %to.tensor = load ptr, ptr %to.from
  %to.bytes_at = getelementptr i64, ptr %bytes, i32 %to.place
  %to.bytes = load i64, ptr %to.bytes_at
  %to.array = call ptr @aligned(ptr %to.tensor, ptr %to.row, i64 %to.bytes)
  %to.full = icmp eq ptr %to.array, null
  br i1 %to.full, label %full, label %place.on
place.on:
  %to.to = getelementptr ptr, ptr %io, i32 %to.place
  store ptr %to.array, ptr %to.to
  br label %place
run:
$ARENA
  %arena = call ptr @borrowed(i64 %arena_bytes)
  %arena.full = icmp eq ptr %arena, null
  br i1 %arena.full, label %full, label %start
full:
  !RuntimeError "expected memory for a run, got none"
  call void @finish(ptr %tensors, ptr %io, ptr %bytes, i1 false)
  br label %refused
start:
  %scratch = getelementptr i8, ptr %arena, i64 64
  %pool = call ptr @threads()
  %outputs = getelementptr ptr, ptr %io, i64 $INPUTS
  %before = load atomic i64, ptr @whence_refused seq_cst, align 8
  call void @$RUN(ptr %io, ptr %outputs, ptr %scratch, ptr %pool$MORE)
  %after = load atomic i64, ptr @whence_refused seq_cst, align 8
  call void @returned(ptr %arena)
  %whole = icmp eq i64 %before, %after
  call void @finish(ptr %tensors, ptr %io, ptr %bytes, i1 %whole)
  br i1 %whole, label %good, label %short
short:
  !RuntimeError "expected memory for a kernel, got none"
  br label %refused
good:
  store %any zeroinitializer, ptr %result
  ret i32 0
}
declare i32 @llvm.umin.i32(i32, i32)
