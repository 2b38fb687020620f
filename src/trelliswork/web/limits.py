"""How much may be asked: sizes, counts, seconds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "Refused"]


class Refused(Exception):
    """A request that is answered by an error status and one line.

    Parameters
    ----------
    status : int
        Status of HTTP.
    message : str
        What was wrong, and what to do.
    retry : int or None
        Seconds after which to try again.

    Examples
    --------
    >>> from trelliswork.web.limits import Refused
    >>> Refused(413, "too long").status
    413
    """

    def __init__(self, status: int, message: str, *, retry: int | None = None):
        super().__init__(message)
        self.status, self.message, self.retry = status, message, retry


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    Attributes
    ----------
    body : int
        Bytes of a request with JSON.
    file : int
        Bytes of a file.
    unpacked : int
        Bytes that a compressed file may unpack to.
    inputs : int
        Inputs of a request.
    rows : int
        Inputs of a file.
    k : int
        Candidates, and samples, of an input.
    seconds : float
        Estimated time of a request; what would take longer is refused before it starts.
    patience : float
        Time after which a request is answered with 503, although its work goes on.
    sending : float
        Time that a client may take to send the body of a request, or to read an answer, ...
    rate : int
        ... and one second more for so many bytes.
    head : float
        Time that a client may take to send the head of a request once it has begun.
    idle : float
        Time that a connection may stay open without a request.
    header : int
        Bytes of the head of a request.
    received : int
        Bytes of all requests that are being sent, wait or run; the next one is answered with 503.
    short : float
        Estimated time up to which requests are answered together, by threads of their own.
    waiting : int
        Requests that may wait or run; the next one is answered with 503.
    share : int
        Of these from one address; its next one is answered with 429.
    connections : int
        Open connections; for one more the one that has been idle for longest is closed.
    cells : int
        Probabilities of all inputs of a request that are sent.
    symbols : int
        Labels, letters or words of all outputs of a request that are sent.

    Examples
    --------
    >>> from trelliswork.web.limits import Limits
    >>> Limits(seconds=2.0).seconds
    2.0
    """

    body: int = 1 << 20
    file: int = 8 << 20
    unpacked: int = 32 << 20
    inputs: int = 1000
    rows: int = 20_000
    k: int = 50
    seconds: float = 10.0
    patience: float = 120.0
    sending: float = 15.0
    rate: int = 1 << 16
    head: float = 10.0
    idle: float = 20.0
    header: int = 1 << 16
    received: int = 128 << 20
    short: float = 0.1
    waiting: int = 400
    share: int = 256
    connections: int = 500
    cells: int = 1_000_000
    symbols: int = 2_000_000

    def check_work(self, seconds: float, what: str) -> None:
        """Refuse what would take too long.

        Parameters
        ----------
        seconds : float
            Estimate.
        what : str
            What is asked, for the message.
        """
        if seconds > self.seconds:
            raise Refused(
                422,
                f"{what} would take about {seconds:,.0f} s here; the limit is {self.seconds:g} s. "
                "Ask for less, or use the command line, which has no such limit",
            )
