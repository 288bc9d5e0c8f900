%job = type { i64, ptr, ptr, i64 }
@THREADS@

define internal ptr @worker(ptr %job) #0 {
entry:
  %args_at = getelementptr %job, ptr %job, i64 0, i32 1
  %steps_at = getelementptr %job, ptr %job, i64 0, i32 2
  %count_at = getelementptr %job, ptr %job, i64 0, i32 3
  %args = load ptr, ptr %args_at
  %steps = load ptr, ptr %steps_at
  %count = load i64, ptr %count_at
  br label %take
take:
  %start = atomicrmw add ptr %job, i64 @PIECE@ monotonic
  %more = icmp slt i64 %start, %count
  br i1 %more, label %compute, label %done
compute:
  %beyond = add i64 %start, @PIECE@
  %stop = call i64 @llvm.smin.i64(i64 %beyond, i64 %count)
  call void @range(ptr %args, ptr %steps, i64 %start, i64 %stop)
  br label %take
done:
  ret ptr null
}
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @in_parallel(ptr %args, ptr %steps, i64 %count, i32 %threads) #0 {
entry:
  %job = alloca %job, align 64
  %ids = alloca [@MAX_THREADS@ x i64]
  %args_at = getelementptr %job, ptr %job, i64 0, i32 1
  %steps_at = getelementptr %job, ptr %job, i64 0, i32 2
  %count_at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 0, ptr %job
  store ptr %args, ptr %args_at
  store ptr %steps, ptr %steps_at
  store i64 %count, ptr %count_at
  %allowed = call i32 @llvm.smin.i32(i32 %threads, i32 @MAX_THREADS@)
  %others = sub i32 %allowed, 1
  %many = sext i32 %others to i64
  %last = sub i64 %count, 1
  %pieces = sdiv i64 %last, @PIECE@
  %wanted = call i64 @llvm.smin.i64(i64 %many, i64 %pieces)
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %started ]
  %taken = load atomic i64, ptr %job monotonic, align 8
  %left = icmp slt i64 %taken, %count
  %few = icmp slt i64 %i, %wanted
  %again = and i1 %left, %few
  br i1 %again, label %start, label %work
start:
  %id = getelementptr i64, ptr %ids, i64 %i
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %job)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %started, label %work
started:
  %next = add i64 %i, 1
  br label %look
work:
  %running = phi i64 [ %i, %look ], [ %i, %start ]
  %unused = call ptr @worker(ptr %job)
  br label %wait
wait:
  %j = phi i64 [ 0, %work ], [ %after, %joined ]
  %waiting = icmp slt i64 %j, %running
  br i1 %waiting, label %joined, label %done
joined:
  %id_at = getelementptr i64, ptr %ids, i64 %j
  %thread = load i64, ptr %id_at
  %status = call i32 @pthread_join(i64 %thread, ptr null)
  %after = add i64 %j, 1
  br label %wait
done:
  ret void
}
