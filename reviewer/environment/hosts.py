"""What says something about the machine, its user, its clock or its files, by kinds."""

from __future__ import annotations

from typing import Literal

# A "chance" or a "setting" of the process matters where it is counted with; a test of it chooses a colour of the
# log, a kernel that is there or not, and the like.
Kind = Literal["host", "clock", "device", "file", "chance", "setting"]

_MACHINE = (
    "socket.gethostname socket.getfqdn socket.gethostbyname socket.gethostbyaddr socket.if_nameindex platform.node "
    "platform.machine platform.uname platform.system platform.platform platform.processor platform.release "
    "platform.version platform.architecture platform.freedesktop_os_release platform.libc_ver os.uname os.getlogin "
    "getpass.getuser os.getuid os.geteuid os.getgid os.getegid os.getgroups pwd.getpwuid pwd.getpwnam pwd.getpwall "
    "os.path.expanduser os.path.expandvars pathlib.Path.home os.getcwd os.getcwdb pathlib.Path.cwd os.cpu_count "
    "os.process_cpu_count multiprocessing.cpu_count torch.multiprocessing.cpu_count os.sched_getaffinity os.getloadavg "
    "os.times os.getpid os.getppid os.getpgid os.getsid os.ttyname os.isatty os.ctermid os.statvfs os.sysconf "
    "os.get_terminal_size shutil.get_terminal_size shutil.disk_usage shutil.which uuid.getnode uuid.uuid1 "
    "locale.getlocale "
    "locale.getdefaultlocale locale.getpreferredencoding sys.getfilesystemencoding resource.getrusage "
    "resource.getrlimit "
    "threading.get_native_id threading.get_ident threading.active_count sysconfig.get_platform sys.getwindowsversion "
    "torch.get_num_threads torch.get_num_interop_threads torch.cuda.get_device_name torch.cuda.mem_get_info "
    "torch.cuda.utilization torch.cuda.temperature torch.cuda.clock_rate torch.cuda.power_draw torch.cuda.memory_usage "
    "torch.cuda.list_gpu_processes psutil. pynvml. GPUtil. cpuinfo. distro."
)
_SAID = (
    "sys.platform sys.executable sys.prefix sys.base_prefix sys.exec_prefix os.name time.tzname time.timezone "
    "time.altzone time.daylight builtins.__debug__ sys.flags sys._xoptions sys.warnoptions"
)
_CHANCE = "os.urandom os.getrandom uuid.uuid4 builtins.id torch.seed secrets. random.SystemRandom()."
_SETTING = (
    "sys.stdout.isatty sys.stderr.isatty sys.stdin.isatty sys.getdefaultencoding sys.getrecursionlimit "
    "sys.getswitchinterval gc.get_count gc.get_stats gc.get_threshold gc.isenabled importlib.metadata. "
    "importlib.util.find_spec signal.getsignal signal.getitimer signal.pthread_sigmask multiprocessing.current_process "
    "multiprocessing.get_start_method multiprocessing.parent_process threading.current_thread os.nice os.umask "
    "os.getpriority os.sched_getscheduler os.sched_getparam tempfile.gettempdir tempfile.mkdtemp tempfile.mktemp "
    "os.path.getmtime os.path.getctime os.path.getatime sysconfig.get_config_var sysconfig.get_config_vars "
    "sysconfig.get_paths sysconfig.get_path site.getsitepackages pkgutil.iter_modules platform.python_version "
    "platform.python_build platform.python_compiler torch.get_float32_matmul_precision torch.backends.mkl.is_available "
    "torch.backends.mkldnn.is_available torch.backends.openmp.is_available torch.backends.cpu.get_cpu_capability "
    "torch.__config__. torch.distributed.is_torchelastic_launched torch.get_num_threads warnings.catch_warnings "
    "logging.getLogger().getEffectiveLevel sys.getallocatedblocks"
)
_SETTING_SAID = (
    "sys.path sys.stdout.encoding sys.stdout.name sys.meta_path sys.dont_write_bytecode warnings.filters "
    "builtins.__file__ logging.getLogger().level logging.root.level"
)
_CLOCK = (
    "time.time time.time_ns time.localtime time.gmtime time.ctime time.strftime time.asctime time.perf_counter "
    "time.perf_counter_ns time.monotonic time.monotonic_ns time.process_time time.clock_gettime datetime.datetime.now "
    "datetime.datetime.utcnow datetime.datetime.today datetime.date.today timeit.default_timer email.utils.localtime "
    "email.utils.formatdate"
)
# Common and honest where they only choose a kernel or a type of numbers.
_DEVICE = (
    "torch.cuda.get_device_capability torch.cuda.get_device_properties torch.cuda.is_bf16_supported "
    "torch.cuda.device_count torch.cuda.get_arch_list torch.xpu.device_count torch.version.cuda torch.version.hip "
    "torch.backends.cudnn.version torch.__version__"
)
_SPOKEN: dict[Kind, str] = {
    "setting": _SETTING,
    "chance": _CHANCE,
    "host": _MACHINE,
    "clock": _CLOCK,
    "device": _DEVICE,
}  # where two say the same, the later one counts
CALLED: dict[str, Kind] = {p: kind for kind, paths in _SPOKEN.items() for p in paths.split() if p[-1] != "."}
FAMILIES: dict[str, Kind] = {p: kind for kind, paths in _SPOKEN.items() for p in paths.split() if p[-1] == "."}
SAID: dict[str, Kind] = {
    **dict.fromkeys(_SETTING_SAID.split(), "setting"),
    **dict.fromkeys(_SAID.split(), "host"),
    **dict.fromkeys(_DEVICE.split(), "device"),
}
# Of what is known about a file, these are of the place and the moment.
OF_FILES = frozenset({"st_mtime", "st_ctime", "st_atime", "st_ino", "st_dev", "st_uid", "st_gid", "st_mtime_ns"})
ASKING = frozenset(
    [
        f"{m}.{n}"
        for m in ("os.path", "posixpath")
        for n in ("exists", "isfile", "isdir", "lexists", "islink", "getsize")
    ]
    + ["os.access", "os.listdir", "os.scandir", "glob.glob", "os.stat", "os.path.getmtime"]
)
ASKING_METHODS = frozenset({"exists", "is_file", "is_dir", "is_symlink"})
# Of the properties of a device, these two tell one card from another.
TELLING = frozenset({"name", "total_memory", "uuid", "multi_processor_count", "pci_bus_id"})
