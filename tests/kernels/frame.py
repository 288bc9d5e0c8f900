"""Calls of a compiled XLA handler, as XLA makes them for a GPU: a call frame by hand."""

import ctypes

import numpy as np

_P, _I = ctypes.c_void_p, ctypes.c_int64
_ASK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_I))
STREAM = 4711


class Frame:
    """A frame on NumPy arrays, and the errors that a handler makes; `stream` None: there is none."""

    def __init__(self, inputs, outputs, stream=STREAM):
        self.errors: list[tuple[str, int]] = []
        self.stream = stream
        self._callbacks = _ASK(self._stream), _ASK(self._error)
        self.api = (_I * 11)()
        self.api[10], self.api[6] = (ctypes.cast(f, _P).value for f in self._callbacks)
        self._references = []
        # size, extensions, interface, context, stage, then (size, extensions, number, kinds, arrays)
        self.words = (_I * 20)(0, 0, ctypes.addressof(self.api), 5, 3)
        self.words[7], self.words[9] = len(inputs), self._buffers(inputs)
        self.words[12], self.words[14] = len(outputs), self._buffers(outputs)

    def _buffers(self, arrays):
        addresses = []
        for x in arrays:
            extents = (_I * max(x.ndim, 1))(*x.shape)
            buffer = (_I * 6)(48, 0, 12, x.ctypes.data, x.ndim, ctypes.addressof(extents))
            self._references += [x, extents, buffer]
            addresses.append(ctypes.addressof(buffer))
        self._references.append((_I * len(addresses))(*addresses))
        return ctypes.addressof(self._references[-1])

    def _stream(self, words):
        assert list(words[0:3]) == [32, 0, 5]
        if self.stream is None:
            return 99
        words[3] = self.stream
        return None

    def _error(self, words):
        self.errors.append((ctypes.string_at(words[2]).decode(), words[3]))
        return 77

    def call(self, address):
        """What the handler returns: None, or the address of an error."""
        return ctypes.CFUNCTYPE(_P, _P)(address)(ctypes.addressof(self.words))


def traits(address):
    """The version and traits that a handler declares."""
    metadata = (_I * 5)()
    extension = (_I * 4)(32, 1, 0, ctypes.addressof(metadata))
    words = (_I * 20)(0, ctypes.addressof(extension))
    assert ctypes.CFUNCTYPE(_P, _P)(address)(ctypes.addressof(words)) is None
    return np.frombuffer(metadata, np.int32)[6:9].tolist()
