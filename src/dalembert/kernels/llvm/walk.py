"""The batch of a call by XLA's foreign function interface, walked in as few pieces as there are.

Buffers are row-major, (batch…, *shape). An axis of the batch that is 1 long where the results are
longer has stride zero, so that nothing is ever copied to broadcast it. Axes over which every array goes
on in even steps are taken together as one group.
"""

from collections.abc import Sequence
from functools import partial

from dalembert.kernels.llvm.text import Text
from dalembert.tracing.program import Port

SYMBOL = "dalembert_xla"

# call frame: 8 extensions, 32 stage, 72 arguments, 112 results; buffer: 24 data, 32 rank, 40 extents.
# Metadata are asked for by an extension of type 1 (8 its type, 24 the reply); in the reply: 24 and 28
# the version, 32 traits. Only the stage of execution (3) is computed.
_ENTRY = """
define ptr @dalembert_xla(ptr %frame) #0 {{
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
  store i32 {traits}, ptr %traits
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
}}
"""


def entry(traits: int) -> str:
    """The handler itself: tells XLA its version and traits, or calls `ptr walk(frame)`."""
    return _ENTRY.format(traits=traits)


class Walk:
    """Emits `ptr walk(frame)`: all states of the batch, in as few calls as there are."""

    spare = 1  # groups that there are in any case, one state long if there are no axes for them

    def __init__(self, inputs: Sequence[Port], outputs: Sequence[Port], size: int) -> None:
        self.inputs, self.ports, self.size = len(inputs), (*inputs, *outputs), size
        self.count = len(self.ports)
        self.t = Text()

    def text(self) -> str:
        t, count = self.t, self.count
        self._open()
        self._buffers()
        rank = t.let(f"load i64, ptr {t.at(self.last, 32)}")
        axes = t.let(f"sub i64 {rank}, {len(self.ports[-1].shape)}")
        room = t.let(f"add i64 {axes}, {self.spare}")
        for name, length in (("sizes", room), ("strides", t.let(f"mul i64 {room}, {count}"))):
            t.do(f"%{name} = alloca i64, i64 {length}")
        for name in ("group", "longest", "outer", "rest"):
            t.do(f"%{name} = alloca i64")
        for name, value in (("%group", 0), ("%longest", 0), ("%outer", 1)):
            t.do(f"store i64 {value}, ptr {name}")
        for group in range(self.spare):
            t.do(f"store i64 1, ptr {t.at('%sizes', 8 * group)}")
        for k in range(count * self.spare):
            t.do(f"store i64 0, ptr {t.at('%strides', 8 * k)}")
        some = t.let(f"icmp sgt i64 {axes}, 0")
        t.when(some, lambda: t.loop(axes, partial(self._axis, axes)))
        groups = t.let(f"add i64 {t.let('load i64, ptr %group')}, 1")
        t.loop(groups, self._compare)
        self._run(groups)
        t.do(f"ret ptr {self._close()}")
        return t.function("internal ptr @walk(ptr %frame) noinline #0")

    # what is done to a piece of the batch

    def _open(self) -> None:
        """Before anything else."""

    def _inner(self) -> str:
        """How many states one call is for."""
        raise NotImplementedError

    def _inside(self, group: str) -> str:
        """Whether a call walks a group itself."""
        raise NotImplementedError

    def _call(self) -> None:
        """The call for the states that begin at %args."""
        raise NotImplementedError

    def _close(self) -> str:
        """What is returned to XLA: no error, or one."""
        return "null"

    def _buffers(self) -> None:
        """Where each array begins and its extents; the strides within one state."""
        t, count = self.t, self.count
        cores = [self._core(port.shape) for port in self.ports]
        t.do(f"%steps = alloca [{count + sum(map(len, cores))} x i64]")
        for name in ("base", "extents", "here", "running", "args"):
            t.do(f"%{name} = alloca [{count} x i64]")
        for k, stride in enumerate(stride for core in cores for stride in core):
            t.do(f"store i64 {stride}, ptr {t.at('%steps', 8 * (count + k))}")
        given, made = (t.let(f"load ptr, ptr {t.at('%frame', at)}") for at in (72, 112))
        for a, port in enumerate(self.ports):
            place = t.at(given, 8 * a) if a < self.inputs else t.at(made, 8 * (a - self.inputs))
            buffer = self.last = t.let(f"load ptr, ptr {place}")
            for name, at in (("base", 24), ("extents", 40)):
                found = t.let(f"load ptr, ptr {t.at(buffer, at)}")
                t.do(f"store ptr {found}, ptr {t.at(f'%{name}', 8 * a)}")
            t.do(f"store i64 {port.size * self.size}, ptr {t.at('%running', 8 * a)}")

    def _core(self, shape: tuple[int, ...]) -> list[int]:
        """Byte strides of one row-major state."""
        strides = [self.size]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * extent)
        return strides[: len(shape)]

    def _axis(self, axes: str, index: str) -> None:
        """The next axis of the batch, from the last to the first: joined to a group, or a new one."""
        t = self.t
        axis = t.let(f"sub i64 {t.let(f'sub i64 {axes}, 1')}, {index}")
        extent = ""
        for a in range(self.count):
            extents = t.let(f"load ptr, ptr {t.at('%extents', 8 * a)}")
            extent = t.let(f"load i64, ptr {self._entry(extents, axis)}")
            running = t.let(f"load i64, ptr {t.at('%running', 8 * a)}")
            single = t.let(f"icmp eq i64 {extent}, 1")
            stride = t.let(f"select i1 {single}, i64 0, i64 {running}")
            t.do(f"store i64 {stride}, ptr {t.at('%here', 8 * a)}")
            t.do(
                f"store i64 {t.let(f'mul i64 {running}, {extent}')}, ptr {t.at('%running', 8 * a)}"
            )
        t.when(t.let(f"icmp ne i64 {extent}, 1"), partial(self._join, extent))

    def _join(self, extent: str) -> None:
        t = self.t
        group = t.let("load i64, ptr %group")
        size = t.let(f"load i64, ptr {self._entry('%sizes', group)}")
        old = [t.let(f"load i64, ptr {self._stride(group, a)}") for a in range(self.count)]
        new = [t.let(f"load i64, ptr {t.at('%here', 8 * a)}") for a in range(self.count)]
        joined = t.let(f"icmp ne i64 {size}, 1")  # the first group is there before any axis is
        for x, y in zip(old, new, strict=True):
            even = t.let(f"icmp eq i64 {t.let(f'mul i64 {x}, {size}')}, {y}")
            joined = t.let(f"and i1 {joined}, {even}")
        first = t.let(f"icmp eq i64 {size}, 1")
        kept = t.let(f"or i1 {joined}, {first}")
        place = t.let(f"select i1 {kept}, i64 {group}, i64 {t.let(f'add i64 {group}, 1')}")
        t.do(f"store i64 {place}, ptr %group")
        whole = t.let(f"select i1 {joined}, i64 {t.let(f'mul i64 {size}, {extent}')}, i64 {extent}")
        t.do(f"store i64 {whole}, ptr {self._entry('%sizes', place)}")
        for a, (x, y) in enumerate(zip(old, new, strict=True)):
            stride = t.let(f"select i1 {joined}, i64 {x}, i64 {y}")
            t.do(f"store i64 {stride}, ptr {self._stride(place, a)}")

    def _compare(self, group: str) -> None:
        """Remember the longest group, and how many states there are."""
        t = self.t
        size = t.let(f"load i64, ptr {self._entry('%sizes', group)}")
        best = t.let("load i64, ptr %longest")
        most = t.let(f"load i64, ptr {self._entry('%sizes', best)}")
        longer = t.let(f"icmp sgt i64 {size}, {most}")
        t.do(f"store i64 {t.let(f'select i1 {longer}, i64 {group}, i64 {best}')}, ptr %longest")
        outer = t.let("load i64, ptr %outer")
        t.do(f"store i64 {t.let(f'mul i64 {outer}, {size}')}, ptr %outer")

    def _run(self, groups: str) -> None:
        """A call for each place of those groups that none walks itself."""
        t = self.t
        inner = self._inner()
        total = t.let("load i64, ptr %outer")

        def some() -> None:
            times = t.let(f"udiv i64 {total}, {inner}")
            t.loop(times, partial(self._place, groups))

        t.when(t.let(f"icmp sgt i64 {total}, 0"), some)

    def _place(self, groups: str, place: str) -> None:
        t = self.t
        t.do(f"store i64 {place}, ptr %rest")
        for a in range(self.count):
            base = t.let(f"load ptr, ptr {t.at('%base', 8 * a)}")
            t.do(f"store ptr {base}, ptr {t.at('%args', 8 * a)}")

        def move(group: str) -> None:
            size = t.let(f"load i64, ptr {self._entry('%sizes', group)}")
            size = t.let(f"select i1 {self._inside(group)}, i64 1, i64 {size}")
            rest = t.let("load i64, ptr %rest")
            index = t.let(f"urem i64 {rest}, {size}")
            t.do(f"store i64 {t.let(f'udiv i64 {rest}, {size}')}, ptr %rest")
            for a in range(self.count):
                stride = t.let(f"load i64, ptr {self._stride(group, a)}")
                at = t.let(f"load ptr, ptr {t.at('%args', 8 * a)}")
                moved = t.at(at, t.let(f"mul i64 {index}, {stride}"))
                t.do(f"store ptr {moved}, ptr {t.at('%args', 8 * a)}")

        t.loop(groups, move)
        self._call()

    def _entry(self, array: str, index: str) -> str:
        return self.t.let(f"getelementptr i64, ptr {array}, i64 {index}")

    def _stride(self, group: str | int, a: int) -> str:
        """Where the stride of array `a` along a group is."""
        first = self.t.let(f"mul i64 {group}, {self.count}")
        return self._entry("%strides", self.t.let(f"add i64 {first}, {a}"))
