"""The exceptions that nandscope raises. Their messages are those of the command line."""


class Error(ValueError):
    """Wrong input: an unknown device, a fault of a profile or of a job, an impossible value."""

    __module__ = "nandscope"


class FileError(Error, OSError):
    """The system refuses: a file that is missing or unreadable, no space, not enough memory."""

    __module__ = "nandscope"


class BusyError(Error):
    """The device is in use by another call, in this thread or another one; use `Device.fork` for each thread."""

    __module__ = "nandscope"


class InternalError(RuntimeError):
    """A fault of nandscope itself; please report it."""

    __module__ = "nandscope"
