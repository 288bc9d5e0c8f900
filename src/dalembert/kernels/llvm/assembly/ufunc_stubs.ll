%Lazy = type { i32, ptr }

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyErr_Occurred()
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyLong_AsVoidPtr(ptr)
declare void @Py_DecRef(ptr)

@three = internal constant [4 x i8] c"nnn\00"

define void @dalembert_lazy_loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) {
  %gil = call i32 @PyGILState_Ensure()
  %error = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %error, null
  br i1 %clean, label %ask, label %failed
ask:
  %resolve.at = getelementptr %Lazy, ptr %data, i32 0, i32 1
  %resolve = load ptr, ptr %resolve.at
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %resolve, ptr @three, ptr %args,
                                                            ptr %dimensions, ptr %steps)
  %answered = icmp ne ptr %answer, null
  br i1 %answered, label %run, label %failed
run:
  %loop = call ptr @PyLong_AsVoidPtr(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  call void @PyGILState_Release(i32 %gil)
  call void %loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)
  ret void
failed:
  call void @PyGILState_Release(i32 %gil)
  ret void
}

declare void @Py_IncRef(ptr)

@dalembert_weak = global [3 x ptr] zeroinitializer  ; the types float32, Python float, Python int

define i32 @dalembert_promote(ptr %ufunc, ptr %given, ptr %asked, ptr %chosen) {
entry:
  %nin.at = getelementptr i8, ptr %ufunc, i64 16
  %nin = load i32, ptr %nin.at
  %nargs.at = getelementptr i8, ptr %ufunc, i64 24
  %nargs = load i32, ptr %nargs.at
  %float32 = load ptr, ptr @dalembert_weak
  %float.at = getelementptr ptr, ptr @dalembert_weak, i64 1
  %float = load ptr, ptr %float.at
  %int.at = getelementptr ptr, ptr @dalembert_weak, i64 2
  %int = load ptr, ptr %int.at
  br label %look
look:  ; no type asked for; each input float32 or a plain number
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  %any = phi i1 [ false, %entry ], [ %any.next, %next ]
  %looked = icmp eq i32 %i, %nargs
  br i1 %looked, label %decide, label %one
one:
  %asked.at = getelementptr ptr, ptr %asked, i32 %i
  %wanted = load ptr, ptr %asked.at
  %free = icmp eq ptr %wanted, null
  %given.at = getelementptr ptr, ptr %given, i32 %i
  %type = load ptr, ptr %given.at
  %single = icmp eq ptr %type, %float32
  %is_float = icmp eq ptr %type, %float
  %is_int = icmp eq ptr %type, %int
  %plain = or i1 %is_float, %is_int
  %fits = or i1 %single, %plain
  %output = icmp sge i32 %i, %nin
  %fine = or i1 %fits, %output
  %accepted = and i1 %free, %fine
  br i1 %accepted, label %next, label %leave
next:
  %input = xor i1 %output, true
  %counts = and i1 %single, %input
  %any.next = or i1 %any, %counts
  %i.next = add i32 %i, 1
  br label %look
decide:
  br i1 %any, label %choose, label %leave
choose:
  %k = phi i32 [ 0, %decide ], [ %k.next, %choose ]
  call void @Py_IncRef(ptr %float32)
  %chosen.at = getelementptr ptr, ptr %chosen, i32 %k
  store ptr %float32, ptr %chosen.at
  %k.next = add i32 %k, 1
  %done = icmp eq i32 %k.next, %nargs
  br i1 %done, label %chose, label %choose
chose:
  ret i32 0
leave:
  ret i32 -1
}
