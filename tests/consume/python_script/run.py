# tests/consume/python_script/run.py -- a saved neural ODE from Python: ctypes and the shared
# library, nothing to compile.
#
#   python3 run.py LIBRARY PROGRAM NUMBERS
import array
import ctypes
import math
import sys

F32 = 11


class Argument(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_uint32), ("shape", ctypes.c_int64 * 8),
                ("bytes", ctypes.c_uint64)]


lib = ctypes.CDLL(sys.argv[1])
lib.gnomon_last_error.restype = ctypes.c_char_p
lib.gnomon_runtime_device.restype = ctypes.c_char_p
lib.gnomon_runtime_device.argtypes = [ctypes.c_void_p]
lib.gnomon_runtime_modules_emitted.restype = ctypes.c_uint64
lib.gnomon_runtime_modules_emitted.argtypes = [ctypes.c_void_p]


def call(function, *arguments):
    status = getattr(lib, function)(*arguments)
    if status != 0:
        raise RuntimeError(f"{function}: status {status}: {lib.gnomon_last_error().decode()}")


runtime, program = ctypes.c_void_p(), ctypes.c_void_p()
call("gnomon_runtime_create", None, ctypes.byref(runtime))
call("gnomon_program_load", runtime, sys.argv[2].encode(), None, ctypes.byref(program))
with open(sys.argv[3], "rb") as file:
    numbers = file.read()

arguments = (ctypes.c_void_p * 5)()
for i in range(5):
    about = Argument(size=ctypes.sizeof(Argument))
    call("gnomon_program_argument", program, 0, i, ctypes.byref(about))
    assert about.dtype == F32, about.path
    elements, numbers = numbers[:about.bytes], numbers[about.bytes:]
    made = ctypes.c_void_p()
    call("gnomon_array_create", runtime, about.dtype, about.rank, about.shape, elements,
         ctypes.c_size_t(about.bytes), ctypes.byref(made))
    arguments[i] = made

results = (ctypes.c_void_p * 2)()
call("gnomon_call", program, b"solve", arguments, 5, results, 2)
y, steps = (ctypes.c_float * 2)(), ctypes.c_int32()
call("gnomon_array_read", runtime, ctypes.c_void_p(results[0]), y, ctypes.c_size_t(8))
call("gnomon_array_read", runtime, ctypes.c_void_p(results[1]), ctypes.byref(steps),
     ctypes.c_size_t(4))
wanted = array.array("f", numbers)
print(f"{lib.gnomon_runtime_device(runtime).decode()}: y = {list(y)} after {steps.value} steps, "
      f"{list(wanted)} wanted")
assert all(math.isclose(a, b, abs_tol=2e-5) for a, b in zip(y, wanted)) and len(wanted) == 2
assert steps.value > 3
assert lib.gnomon_runtime_modules_emitted(runtime) == 0
try:
    call("gnomon_call", program, b"other", arguments, 5, results, 2)
    raise SystemExit("a function that is not there was called")
except RuntimeError as error:
    assert "there is no entry `other`" in str(error), error
for handle in list(arguments) + list(results):
    lib.gnomon_array_destroy(ctypes.c_void_p(handle))
lib.gnomon_program_destroy(program)
lib.gnomon_runtime_destroy(runtime)
