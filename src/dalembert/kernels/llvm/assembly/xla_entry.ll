define ptr @dalembert_xla(ptr %frame) #0 {
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %call, label %extended
extended:
  %type.at = getelementptr i8, ptr %extension, i64 8
  %type = load i32, ptr %type.at
  %asked = icmp eq i32 %type, 1
  br i1 %asked, label %reply, label %call
reply:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 1, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 @TRAITS@, ptr %traits
  ret ptr null
call:
  %stage.at = getelementptr i8, ptr %frame, i64 32
  %stage = load i32, ptr %stage.at
  %executes = icmp eq i32 %stage, 3
  br i1 %executes, label %execute, label %nothing
execute:
  %error = call ptr @walk(ptr %frame)
  ret ptr %error
nothing:
  ret ptr null
}
