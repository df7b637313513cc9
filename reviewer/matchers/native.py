"""What runs, loads or compiles code that is not Python."""

from __future__ import annotations

# Packages that are for nothing else. What they bring into a file is native, whatever is called on it.
_PACKAGES = (
    "ctypes _ctypes cffi _cffi_backend cppyy pyximport Cython cython weave llvmlite pycuda pynvrtc pyopencl tcc "
    "keystone jpype rpy2 julia lupa wasmtime wasmer cupy_backends pybind11 nanobind"
)
PACKAGES = frozenset(_PACKAGES.split())
_COMPILING = (
    "torch.utils.cpp_extension.load torch.utils.cpp_extension.load_inline torch.utils.cpp_extension.CppExtension "
    "torch.utils.cpp_extension.CUDAExtension torch.utils.cpp_extension.SyclExtension torch.cuda._compile_kernel "
    "torch.utils.cpp_extension.BuildExtension torch.mps.compile_shader "
    "torch.cuda.jiterator._create_jit_fn torch.cuda.jiterator._create_multi_output_jit_fn cupy.RawKernel "
    "cupy.ElementwiseKernel cupy.ReductionKernel cupyx.jit.rawkernel "
    " "
    "cupy.RawModule torch.cuda._utils._nvrtc_compile torch.cuda._utils._cuda_load_module "
    "torch._inductor.codecache.CppCodeCache.load "
    "torch._inductor.codecache.CUDACodeCache.load torch._inductor.cpp_builder.CppBuilder"
)
_LOADING = (
    "torch.ops.load_library torch.classes.load_library torch._ops.ops.load_library torch._classes.classes.load_library "
    "torch._export.aot_load torch._inductor.aoti_load_package torch._inductor.package.load_package "
    "torch._C._aoti.AOTIModelContainerRunnerCuda torch._C._aoti.AOTIModelContainerRunnerCpu "
    "importlib.machinery.ExtensionFileLoader _imp.create_dynamic imp.load_dynamic numpy.ctypeslib.load_library "
    "distutils.core.Extension setuptools.Extension"
)
COMPILING = frozenset(_COMPILING.split())
LOADING = frozenset(_LOADING.split())
# NVIDIA's own package: the runtime compiler and the driver, under both of its layouts.
DRIVERS = (
    "cuda.nvrtc.",
    "cuda.bindings.nvrtc.",
    "cuda.cuda.",
    "cuda.bindings.driver.",
    "cuda.core.",
    "nvmath.bindings.",
)
# Nothing else is called like this, whatever it is a part of.
_UNMISTAKABLE = (
    "CDLL PyDLL WinDLL OleDLL LoadLibrary dlopen load_inline RawKernel RawModule SourceModule ExtensionFileLoader "
    "create_dynamic load_dynamic nvrtcCreateProgram nvrtcCompileProgram cuModuleLoadData cuModuleLoad CFUNCTYPE "
    "PYFUNCTYPE _compile_kernel compile_shader"
)
UNMISTAKABLE = frozenset(_UNMISTAKABLE.split())
