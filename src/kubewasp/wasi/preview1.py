"""WASI preview 1: functions with their parameters and purposes, error numbers."""

from __future__ import annotations

from dataclasses import dataclass

MODULE = "wasi_snapshot_preview1"

# A parameter is an i32 by default, `i64`, or `text`: address and length.
_PARAMETERS = {
    "args_get": "argv argv_buf",
    "args_sizes_get": "argc argv_buf_size",
    "environ_get": "environ environ_buf",
    "environ_sizes_get": "count environ_buf_size",
    "clock_res_get": "clock resolution",
    "clock_time_get": "clock precision:i64 time",
    "fd_advise": "fd offset:i64 length:i64 advice",
    "fd_allocate": "fd offset:i64 length:i64",
    "fd_close": "fd",
    "fd_datasync": "fd",
    "fd_fdstat_get": "fd stat",
    "fd_fdstat_set_flags": "fd flags",
    "fd_fdstat_set_rights": "fd rights:i64 inheriting:i64",
    "fd_filestat_get": "fd stat",
    "fd_filestat_set_size": "fd size:i64",
    "fd_filestat_set_times": "fd accessed:i64 modified:i64 which",
    "fd_pread": "fd buffers count offset:i64 read",
    "fd_prestat_get": "fd stat",
    "fd_prestat_dir_name": "fd name length",
    "fd_pwrite": "fd buffers count offset:i64 written",
    "fd_read": "fd buffers count read",
    "fd_readdir": "fd buffer length cookie:i64 used",
    "fd_renumber": "fd to",
    "fd_seek": "fd offset:i64 whence position",
    "fd_sync": "fd",
    "fd_tell": "fd position",
    "fd_write": "fd buffers count written",
    "path_create_directory": "fd path:text",
    "path_filestat_get": "fd flags path:text stat",
    "path_filestat_set_times": "fd flags path:text accessed:i64 modified:i64 which",
    "path_link": "fd flags path:text new_fd new_path:text",
    "path_open": "fd flags path:text oflags rights:i64 inheriting:i64 fdflags opened",
    "path_readlink": "fd path:text buffer length used",
    "path_remove_directory": "fd path:text",
    "path_rename": "fd path:text new_fd new_path:text",
    "path_symlink": "target:text fd path:text",
    "path_unlink_file": "fd path:text",
    "poll_oneoff": "subscriptions events count happened",
    "proc_exit": "code",
    "proc_raise": "signal",
    "random_get": "buffer length",
    "sched_yield": "",
    "sock_accept": "fd flags accepted",
    "sock_recv": "fd buffers count flags received out_flags",
    "sock_send": "fd buffers count flags sent",
    "sock_shutdown": "fd how",
}

# Purposes of functions by name prefix; the first match counts.
_PURPOSES = (
    ("arguments", ("args_",)),
    ("environment variables", ("environ_",)),
    ("clocks", ("clock_",)),
    ("random numbers", ("random_",)),
    ("files and directories", ("path_", "fd_readdir", "fd_prestat")),
    ("standard streams and open files", ("fd_",)),
    ("sleeping and waiting", ("poll_",)),
    ("process exit and yield", ("proc_", "sched_")),
    ("sockets", ("sock_",)),
)

# Functions that modify a directory with any arguments.
CHANGING = frozenset(
    {
        "path_create_directory",
        "path_filestat_set_times",
        "path_link",
        "path_remove_directory",
        "path_rename",
        "path_symlink",
        "path_unlink_file",
    }
)
OPEN_CREATE, OPEN_TRUNCATE = 1, 8
RIGHT_TO_WRITE = 1 << 6

BAD_ADDRESS = 21
ERRORS = {
    0: "SUCCESS", 1: "2BIG", 2: "ACCES", 6: "AGAIN", 8: "BADF", 10: "BUSY", 20: "EXIST", 21: "FAULT", 22: "FBIG",
    25: "ILSEQ", 27: "INTR", 28: "INVAL", 29: "IO", 31: "ISDIR", 32: "LOOP", 33: "MFILE", 34: "MLINK",
    37: "NAMETOOLONG", 41: "NFILE", 44: "NOENT", 48: "NOMEM", 51: "NOSPC", 52: "NOSYS", 54: "NOTDIR", 55: "NOTEMPTY",
    57: "NOTSOCK", 58: "NOTSUP", 59: "NOTTY", 60: "NXIO", 61: "OVERFLOW", 63: "PERM", 64: "PIPE", 68: "RANGE",
    69: "ROFS", 70: "SPIPE", 73: "TIMEDOUT", 74: "TXTBSY", 75: "XDEV", 76: "NOTCAPABLE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a function. A `text` takes two numbers: address and length."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Function:
    """Function of WASI preview 1. All return an error number, except proc_exit."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """WebAssembly types of the parameters."""
        return tuple(kind for parameter in self.parameters for kind in _TYPES[parameter.kind])

    @property
    def returns(self) -> bool:
        return self.name != "proc_exit"

    def place(self, name: str) -> int:
        """Index of a parameter in the WebAssembly signature; -1 if absent."""
        at = 0
        for parameter in self.parameters:
            if parameter.name == name:
                return at
            at += len(_TYPES[parameter.kind])
        return -1


_TYPES = {"i32": ("i32",), "i64": ("i64",), "text": ("i32", "i32")}


def _function(name: str, parameters: str) -> Function:
    pairs = (parameter.partition(":")[::2] for parameter in parameters.split())
    return Function(name, tuple(Parameter(key, kind or "i32") for key, kind in pairs))


FUNCTIONS = {name: _function(name, parameters) for name, parameters in _PARAMETERS.items()}


def purpose(name: str) -> str:
    """Purpose of a function."""
    return next(words for words, starts in _PURPOSES if name.startswith(starts))
