"""What says something about the machine, its user, its clock or its files, by kinds."""

from __future__ import annotations

from typing import Literal

Kind = Literal["host", "clock", "device", "file"]

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
    "time.altzone time.daylight"
)
_CLOCK = (
    "time.time time.time_ns time.localtime time.gmtime time.ctime time.strftime time.asctime time.perf_counter "
    "time.perf_counter_ns time.monotonic time.monotonic_ns time.process_time time.clock_gettime datetime.datetime.now "
    "datetime.datetime.utcnow datetime.datetime.today datetime.date.today timeit.default_timer"
)
# Common and honest where they only choose a kernel or a type of numbers.
_DEVICE = (
    "torch.cuda.get_device_capability torch.cuda.get_device_properties torch.cuda.is_bf16_supported "
    "torch.cuda.device_count torch.cuda.get_arch_list torch.xpu.device_count torch.version.cuda torch.version.hip "
    "torch.backends.cudnn.version torch.__version__"
)
CALLED: dict[str, Kind] = {
    **dict.fromkeys((p for p in _MACHINE.split() if not p.endswith(".")), "host"),
    **dict.fromkeys(_CLOCK.split(), "clock"),
    **dict.fromkeys(_DEVICE.split(), "device"),
}
FAMILIES = tuple(p for p in _MACHINE.split() if p.endswith("."))
SAID: dict[str, Kind] = {**dict.fromkeys(_SAID.split(), "host"), **dict.fromkeys(_DEVICE.split(), "device")}
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
