"""What Python itself knows of the folders of the machine that it runs on: where it, its packages and its parts lie."""

from __future__ import annotations

from reviewer.files.paths import HOLE, OUT, WORK

_INSTALLED = (
    "prefix base_prefix exec_prefix base_exec_prefix executable path _base_executable _stdlib_dir _home pycache_prefix "
    "path_importer_cache"
)
TEXTS = {
    "os.sep": "/",
    "os.path.sep": "/",
    "os.pardir": "..",
    "os.path.pardir": "..",
    "os.curdir": ".",
    "os.path.curdir": ".",
    "os.devnull": "/dev/null",
    "os.path.devnull": "/dev/null",
    "tempfile.tempdir": "/tmp",  # noqa: S108 - private to a run
    **dict.fromkeys([f"sys.{name}" for name in _INSTALLED.split()], OUT),
    **dict.fromkeys(["site.PREFIXES", "site.USER_SITE", "site.USER_BASE", "torch.utils.cmake_prefix_path"], OUT),
}
_ASKED = (
    "site.getsitepackages site.getusersitepackages site.getuserbase sysconfig.get_path sysconfig.get_paths "
    "sysconfig.get_config_var sysconfig.get_config_vars sysconfig.get_python_lib sysconfig.get_makefile_filename "
    "sysconfig.get_config_h_filename distutils.sysconfig.get_python_lib distutils.sysconfig.get_python_inc "
    "numpy.get_include torch.utils.cpp_extension.include_paths torch.utils.cpp_extension.library_paths "
    "torch.hub.get_dir importlib.resources.files importlib.resources.path importlib_resources.files shutil.which "
    "ctypes.util.find_library os.get_exec_path os.path.commonpath os.path.commonprefix"
)
FOLDERS = {
    "os.getcwd": WORK,
    "os.getcwdb": WORK,
    "tempfile.gettempdir": "/tmp",  # noqa: S108
    "tempfile.mkdtemp": f"/tmp/{HOLE}",  # noqa: S108
    **dict.fromkeys(_ASKED.split(), OUT),
}
# Where the code of something from elsewhere lies.
SOURCES = frozenset([f"inspect.{name}" for name in ("getfile", "getsourcefile", "getabsfile", "getmodule().__file__")])
_KIT = "prepare"
_OWN = "__main__"


def place_of(path: str) -> str | None:
    """Return where something from outside the script lies, or what it says about that; None where it says nothing."""
    if path in TEXTS:
        return TEXTS[path]
    module, _, name = path.rpartition(".")
    if name in ("__file__", "__path__", "__cached__"):
        root = module.partition(".")[0]
        return f"{WORK}/{HOLE}" if root == _OWN else HOLE if root == _KIT else OUT
    is_spec = module.endswith(("__spec__", "find_spec()"))
    return OUT if is_spec and name in ("origin", "submodule_search_locations", "cached") else None
