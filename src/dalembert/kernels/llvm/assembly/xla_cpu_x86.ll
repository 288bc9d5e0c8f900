declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i32 @plain_mode() #0 {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %mode = load i32, ptr %slot
  store i32 8064, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret i32 %mode
}
define internal void @restore_mode(i32 %mode) #0 {
  %slot = alloca i32
  store i32 %mode, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}
