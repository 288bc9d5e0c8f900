declare ptr @CreateThread(ptr, i64, ptr, ptr, i32, ptr) nounwind
declare i32 @WaitForSingleObject(ptr, i32) nounwind
declare i32 @CloseHandle(ptr) nounwind
define internal i32 @pthread_create(ptr %id, ptr %attributes, ptr %start, ptr %argument) #0 {
  %handle = call ptr @CreateThread(ptr null, i64 0, ptr %start, ptr %argument, i32 0, ptr null)
  store ptr %handle, ptr %id
  %failed = icmp eq ptr %handle, null
  %code = zext i1 %failed to i32
  ret i32 %code
}
define internal i32 @pthread_join(i64 %id, ptr %result) #0 {
  %handle = inttoptr i64 %id to ptr
  %waited = call i32 @WaitForSingleObject(ptr %handle, i32 -1)
  %closed = call i32 @CloseHandle(ptr %handle)
  ret i32 0
}
