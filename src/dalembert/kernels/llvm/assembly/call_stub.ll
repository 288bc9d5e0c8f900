%Array = type { i64, ptr, ptr, i32, ptr, ptr, ptr, ptr, i32 }
%Port = type { i64, [4 x i64] }
%Call = type { i64, i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, [0 x %Port] }

declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @dalembert_call(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {
entry:
  %inputs = alloca [32 x ptr]  ; and the outputs behind them
  %shape = alloca [8 x i64]  ; leading axes, the same of every argument, then those of a result
  %count.at = alloca i64
  %bytes.at = getelementptr i8, ptr %self, i64 @ITEMS@
  %bytes = load ptr, ptr %bytes.at
  %c = getelementptr i8, ptr %bytes, i64 32
  %n_in = load i64, ptr %c
  %n_out.at = getelementptr %Call, ptr %c, i32 0, i32 1
  %n_out = load i64, ptr %n_out.at
  %type.at = getelementptr %Call, ptr %c, i32 0, i32 4
  %type = load ptr, ptr %type.at
  %descr.at = getelementptr %Call, ptr %c, i32 0, i32 5
  %descr = load ptr, ptr %descr.at
  %positional = icmp eq ptr %keywords, null
  %counted = icmp eq i64 %nargs, %n_in
  %plain = and i1 %positional, %counted
  br i1 %plain, label %input, label %fallback

input:  ; each argument: exactly ndarray, float64, C-contiguous and aligned, of the right shape
  %i = phi i64 [ 0, %entry ], [ %i.next, %accepted ]
  %extra = phi i64 [ 0, %entry ], [ %more, %accepted ]
  %no_more = icmp eq i64 %i, %n_in
  br i1 %no_more, label %multiply, label %check
check:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %arg.type.at = getelementptr %Array, ptr %arg, i32 0, i32 1
  %arg.type = load ptr, ptr %arg.type.at
  %is_array = icmp eq ptr %arg.type, %type
  br i1 %is_array, label %fields, label %fallback
fields:
  %arg.descr.at = getelementptr %Array, ptr %arg, i32 0, i32 7
  %arg.descr = load ptr, ptr %arg.descr.at
  %is_double = icmp eq ptr %arg.descr, %descr
  %flags.at = getelementptr %Array, ptr %arg, i32 0, i32 8
  %flags = load i32, ptr %flags.at
  %wanted = and i32 %flags, 257
  %is_simple = icmp eq i32 %wanted, 257
  %ndim.at = getelementptr %Array, ptr %arg, i32 0, i32 3
  %ndim32 = load i32, ptr %ndim.at
  %ndim = sext i32 %ndim32 to i64
  %port = getelementptr %Call, ptr %c, i32 0, i32 11, i64 %i
  %port.ndim = load i64, ptr %port
  %more = sub i64 %ndim, %port.ndim  ; axes before those of one state
  %is_first = icmp eq i64 %i, 0
  %asked = select i1 %is_first, i64 %more, i64 %extra
  %is_same = icmp eq i64 %more, %asked
  %is_few = icmp ule i64 %more, 4
  %is_rank = and i1 %is_same, %is_few
  %ok1 = and i1 %is_double, %is_simple
  %ok2 = and i1 %ok1, %is_rank
  %arg.shape.at = getelementptr %Array, ptr %arg, i32 0, i32 4
  %arg.shape = load ptr, ptr %arg.shape.at
  br i1 %ok2, label %leading, label %fallback
leading:
  %l = phi i64 [ 0, %fields ], [ %l.next, %lead ]
  %all_leading = icmp eq i64 %l, %more
  br i1 %all_leading, label %axis, label %lead
lead:
  %lead.at = getelementptr i64, ptr %arg.shape, i64 %l
  %lead.have = load i64, ptr %lead.at
  %kept.at = getelementptr i64, ptr %shape, i64 %l
  %kept = load i64, ptr %kept.at
  %lead.want = select i1 %is_first, i64 %lead.have, i64 %kept
  store i64 %lead.want, ptr %kept.at
  %is_equal = icmp eq i64 %lead.have, %lead.want
  %l.next = add i64 %l, 1
  br i1 %is_equal, label %leading, label %fallback
axis:
  %k = phi i64 [ 0, %leading ], [ %k.next, %extent ]
  %all_axes = icmp eq i64 %k, %port.ndim
  br i1 %all_axes, label %accepted, label %extent
extent:
  %own = add i64 %more, %k
  %have.at = getelementptr i64, ptr %arg.shape, i64 %own
  %have = load i64, ptr %have.at
  %want.at = getelementptr %Port, ptr %port, i32 0, i32 1, i64 %k
  %want = load i64, ptr %want.at
  %fits = icmp eq i64 %have, %want
  %k.next = add i64 %k, 1
  br i1 %fits, label %axis, label %fallback
accepted:
  %data.at = getelementptr %Array, ptr %arg, i32 0, i32 2
  %data = load ptr, ptr %data.at
  %in.at = getelementptr ptr, ptr %inputs, i64 %i
  store ptr %data, ptr %in.at
  %i.next = add i64 %i, 1
  br label %input

multiply:  ; how many states; none is left to the ufunc
  %m = phi i64 [ 0, %input ], [ %m.next, %factor ]
  %count = phi i64 [ 1, %input ], [ %count.next, %factor ]
  %multiplied = icmp eq i64 %m, %extra
  br i1 %multiplied, label %counting, label %factor
factor:
  %factor.at = getelementptr i64, ptr %shape, i64 %m
  %factor.own = load i64, ptr %factor.at
  %count.next = mul i64 %count, %factor.own
  %m.next = add i64 %m, 1
  br label %multiply
counting:
  %is_none = icmp eq i64 %count, 0
  br i1 %is_none, label %fallback, label %results

results:  ; new arrays; several are put into a tuple as they are made
  %is_single = icmp eq i64 %n_out, 1
  br i1 %is_single, label %output, label %pack
pack:
  %tuple.new = call ptr @PyTuple_New(i64 %n_out)
  %is_tuple = icmp ne ptr %tuple.new, null
  br i1 %is_tuple, label %output, label %failed
output:
  %tuple = phi ptr [ null, %results ], [ %tuple.new, %pack ], [ %tuple, %stored ]
  %j = phi i64 [ 0, %results ], [ 0, %pack ], [ %j.next, %stored ]
  %last = phi ptr [ null, %results ], [ null, %pack ], [ %array, %stored ]
  %all_made = icmp eq i64 %j, %n_out
  br i1 %all_made, label %compute, label %make
make:
  %new.at = getelementptr %Call, ptr %c, i32 0, i32 6
  %new = load ptr, ptr %new.at
  %o = add i64 %n_in, %j
  %o.port = getelementptr %Call, ptr %c, i32 0, i32 11, i64 %o
  %o.own = load i64, ptr %o.port
  %o.shape = getelementptr %Port, ptr %o.port, i32 0, i32 1
  br label %shaping
shaping:
  %a = phi i64 [ 0, %make ], [ %a.next, %shaped ]
  %is_shaped = icmp eq i64 %a, %o.own
  br i1 %is_shaped, label %allocate, label %shaped
shaped:
  %a.at = getelementptr i64, ptr %o.shape, i64 %a
  %a.size = load i64, ptr %a.at
  %b = add i64 %extra, %a
  %b.at = getelementptr i64, ptr %shape, i64 %b
  store i64 %a.size, ptr %b.at
  %a.next = add i64 %a, 1
  br label %shaping
allocate:
  %o.ndim64 = add i64 %extra, %o.own
  %o.ndim = trunc i64 %o.ndim64 to i32
  call void @Py_IncRef(ptr %descr)  ; NewFromDescr takes this reference over
  %array = call ptr %new(ptr %type, ptr %descr, i32 %o.ndim, ptr %shape, ptr null, ptr null,
                         i32 0, ptr null)
  %is_made = icmp ne ptr %array, null
  br i1 %is_made, label %made, label %failed
made:
  %o.data.at = getelementptr %Array, ptr %array, i32 0, i32 2
  %o.data = load ptr, ptr %o.data.at
  %out.at = getelementptr ptr, ptr %inputs, i64 %o
  store ptr %o.data, ptr %out.at
  %j.next = add i64 %j, 1
  br i1 %is_single, label %stored, label %put
put:
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %j, ptr %array)  ; takes it over
  br label %stored
stored:
  br label %output

compute:
  %is_one = icmp eq i64 %extra, 0
  br i1 %is_one, label %alone, label %batch
alone:
  %one.at = getelementptr %Call, ptr %c, i32 0, i32 2
  %one = load ptr, ptr %one.at
  %outputs = getelementptr ptr, ptr %inputs, i64 %n_in
  call void %one(ptr %inputs, ptr %outputs)
  br label %finish
batch:  ; other threads may run meanwhile: the caller holds the arguments, we the results
  store i64 %count, ptr %count.at
  %loop.at = getelementptr %Call, ptr %c, i32 0, i32 8
  %loop = load ptr, ptr %loop.at
  %steps.at = getelementptr %Call, ptr %c, i32 0, i32 9
  %steps = load ptr, ptr %steps.at
  %settings.at = getelementptr %Call, ptr %c, i32 0, i32 10
  %settings = load ptr, ptr %settings.at
  %thread = call ptr @PyEval_SaveThread()
  call void %loop(ptr %inputs, ptr %count.at, ptr %steps, ptr %settings)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %finish
finish:
  br i1 %is_single, label %single, label %several
several:
  ret ptr %tuple
single:
  %rank.at = getelementptr %Call, ptr %c, i32 0, i32 11, i64 %n_in
  %rank = load i64, ptr %rank.at
  %rank.all = add i64 %rank, %extra
  %is_scalar = icmp eq i64 %rank.all, 0
  br i1 %is_scalar, label %scalar, label %vector
vector:
  ret ptr %last
scalar:  ; PyArray_Return: an array without axes becomes a number, as from a ufunc
  %return.at = getelementptr %Call, ptr %c, i32 0, i32 7
  %return = load ptr, ptr %return.at
  %number = call ptr %return(ptr %last)
  ret ptr %number

failed:  ; out of memory
  %unfinished = phi ptr [ null, %pack ], [ %tuple, %allocate ]
  call void @Py_DecRef(ptr %unfinished)
  ret ptr null

fallback:
  %fallback.at = getelementptr %Call, ptr %c, i32 0, i32 3
  %callable = load ptr, ptr %fallback.at
  %answer = call ptr @PyObject_Vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %keywords)
  ret ptr %answer
}
