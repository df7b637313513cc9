"""Which functions take the path of a file or folder, to open it, list it or ask whether it is there."""

from __future__ import annotations

from collections.abc import Iterator

from reviewer.files.pathflow import JOINING

_OS = (
    "open listdir scandir walk fwalk stat lstat access chdir chroot readlink remove unlink rename renames replace "
    "mkdir makedirs rmdir removedirs link symlink statvfs truncate utime chmod chown mkfifo mknod listxattr getxattr"
)
_OS_PATH = "exists lexists isfile isdir islink ismount isjunction getsize getmtime getatime getctime samefile"
_SHUTIL = "copy copy2 copyfile copytree copymode copystat move rmtree disk_usage make_archive unpack_archive"
_TORCH = (
    "load save from_file jit.load jit.save export.load serialization.load serialization.save ops.load_library "
    "classes.load_library UntypedStorage.from_file package.PackageImporter package.PackageExporter "
    "utils.tensorboard.SummaryWriter distributed.checkpoint.load distributed.checkpoint.FileSystemReader"
)
_NUMPY = (
    "load save savez savez_compressed memmap fromfile loadtxt genfromtxt savetxt fromregex lib.format.open_memmap "
    "lib.npyio.DataSource DataSource"
)
_PANDAS = "csv table json parquet feather pickle hdf orc fwf excel xml html stata sas spss"
_OTHERS = (
    "builtins.open io.open io.open_code io.FileIO codecs.open tokenize.open glob.glob glob.iglob glob.glob1 "
    "safetensors.safe_open safetensors.torch.load_file safetensors.torch.save_file safetensors.numpy.load_file "
    "h5py.File sqlite3.connect zipfile.ZipFile zipfile.Path zipfile.is_zipfile zipimport.zipimporter tarfile.open "
    "tarfile.TarFile gzip.open gzip.GzipFile bz2.open bz2.BZ2File lzma.open lzma.LZMAFile dbm.open shelve.open "
    "fileinput.input fileinput.FileInput linecache.getline linecache.getlines linecache.updatecache pyarrow.memory_map "
    "pyarrow.OSFile pyarrow.parquet.read_table pyarrow.parquet.ParquetFile joblib.load joblib.dump PIL.Image.open "
    "sentencepiece.SentencePieceProcessor tokenizers.Tokenizer.from_file datasets.load_from_disk ctypes.CDLL "
    "ctypes.cdll.LoadLibrary ctypes.PyDLL site.addsitedir sys.path.append sys.path.insert sys.path.extend "
    "logging.FileHandler logging.basicConfig tempfile.mkdtemp tempfile.mkstemp tempfile.NamedTemporaryFile "
    "tempfile.TemporaryDirectory tempfile.TemporaryFile importlib.util.spec_from_file_location filecmp.cmp "
    "filecmp.dircmp os.path.walk mimetypes.guess_file_type"
)


def _all() -> Iterator[str]:
    for module in ("os", "posix", "nt"):
        yield from (f"{module}.{name}" for name in _OS.split())
    for module in ("os.path", "posixpath", "genericpath", "ntpath"):
        yield from (f"{module}.{name}" for name in _OS_PATH.split())
    yield from (f"shutil.{name}" for name in _SHUTIL.split())
    yield from (f"torch.{name}" for name in _TORCH.split())
    yield from (f"numpy.{name}" for name in _NUMPY.split())
    for module in ("pandas", "polars"):
        yield from (f"{module}.read_{name}" for name in _PANDAS.split())
    yield from _OTHERS.split()
    yield from (path for path in JOINING if path.startswith("pathlib."))  # a path object is made to be used


OPENING = frozenset(_all())
# Methods of path objects that look at the place itself.
_METHODS = (
    "open read_text read_bytes write_text write_bytes exists is_file is_dir is_symlink iterdir glob rglob walk stat "
    "lstat touch mkdir unlink rmdir readlink symlink_to hardlink_to rename chmod owner samefile joinpath"
)
METHODS = frozenset(_METHODS.split())
