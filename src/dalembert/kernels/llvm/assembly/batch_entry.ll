define void @dalembert_loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {
entry:
  %count = load i64, ptr %dimensions
  %empty = icmp slt i64 %count, 1
  br i1 %empty, label %nothing, label %work
work:
  %flags = call i32 @save_flags()
  %none = icmp eq ptr %data, null
  br i1 %none, label %single, label %ask
ask:
  %threads = load atomic i32, ptr %data monotonic, align 4
  %many = icmp sgt i32 %threads, 1
  %worth = icmp uge i64 %count, @STATES@
  %split = and i1 %many, %worth
  br i1 %split, label %parallel, label %single
parallel:
  call void @in_parallel(ptr %args, ptr %steps, i64 %count, i32 %threads)
  br label %done
single:
  call void @range(ptr %args, ptr %steps, i64 0, i64 %count)
  br label %done
done:
  call void @restore_flags(i32 %flags)
  ret void
nothing:
  ret void
}
