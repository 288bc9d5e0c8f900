"""The few machine-code functions every process needs between Python and a compiled kernel.

Written as LLVM IR, because no compiler is at hand; compiled once and then read from the cache.

`dalembert_lazy_loop`  a NumPy inner loop that asks Python for the real one at its first call
`dalembert_call`       a Python builtin that evaluates plain states without NumPy's ufunc machinery
`dalembert_promote`    tells NumPy that plain numbers beside float32 arrays are float32 (gufunc.py)
"""

import functools
import platform
import sys
from collections.abc import Callable

from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.cache_key import load_or_compile
from dalembert.kernels.llvm.load import Loaded, pack

# data -> { i32 num_threads = 1, PyObject *resolve }; resolve(args, dimensions, steps), the addresses
# that the loop is called with, returns the address of the loop.
# When it raises, the exception stays set, and NumPy raises it when the loop returns.
_LAZY_LOOP = """
%Lazy = type { i32, ptr }

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyErr_Occurred()
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyLong_AsVoidPtr(ptr)
declare void @Py_DecRef(ptr)

@three = internal constant [4 x i8] c"nnn\\00"

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
"""

# self is a tuple whose first item, at @ITEMS@, is a bytes object holding a %Call; see fast_call.py,
# which checks these layouts of CPython and NumPy before it hands the function out.
_CALL = """
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
"""

# A promoter of NumPy (numpy/dtype_api.h): given and asked are the types of the arguments, null where
# there are none; 0 and the types to compute in, or -1 to leave it to NumPy. The ufunc has its number
# of inputs at 16 and of all arguments at 24; dalembert_weak is filled in by gufunc.py.
_PROMOTE = """
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
"""


def _once(load: Callable[[], Loaded]) -> Callable[[], Loaded]:
    """The same, loaded once, whichever threads ask: of two, one would be unloaded in use."""
    cached = functools.cache(load)

    @functools.wraps(load)
    def locked() -> Loaded:
        with llvm_lock:
            return cached()

    return locked


@_once
def stubs() -> Loaded:
    """The functions that every ufunc needs; called once for each, so compiled without optimisation."""
    symbols = ("dalembert_lazy_loop", "dalembert_promote", "dalembert_weak")
    return _loaded(_LAZY_LOOP + _PROMOTE, symbols, opt=0)


@_once
def call_stub() -> Loaded:
    """`dalembert_call`, compiled with optimisation, as every fast call runs it."""
    # a tuple's items follow its head, which has got longer in CPython 3.14
    text = _CALL.replace("@ITEMS@", str(tuple.__basicsize__))
    return _loaded(text, ("dalembert_call",), opt=3)


def _loaded(text: str, symbols: tuple[str, ...], opt: int) -> Loaded:
    import llvmlite

    machine = (platform.machine(), sys.platform, llvmlite.__version__, str(opt))
    key = "\n".join(("packed stubs", *machine, text))
    return load_or_compile(key, symbols, lambda: pack([_compile(text, opt)]), is_complete=True)


def _compile(text: str, opt: int) -> bytes:
    # for the least processor of this architecture, so that one object serves all
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", opt=opt)
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(machine.emit_object(module))
