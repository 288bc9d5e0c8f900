declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i32 @save_flags() #0 {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %flags = load i32, ptr %slot
  ret i32 %flags
}
define internal void @restore_flags(i32 %flags) #0 {
  %slot = alloca i32
  store i32 %flags, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}
