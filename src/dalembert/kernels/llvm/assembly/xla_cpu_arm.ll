declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal i32 @plain_mode() #0 {
  %whole = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 0)
  %mode = trunc i64 %whole to i32
  ret i32 %mode
}
define internal void @restore_mode(i32 %mode) #0 {
  %whole = zext i32 %mode to i64
  call void @llvm.aarch64.set.fpcr(i64 %whole)
  ret void
}
