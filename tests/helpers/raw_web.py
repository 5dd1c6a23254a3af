"""A server that sends any bytes at all as its answers."""

import re
import socket
import threading
from contextlib import contextmanager


@contextmanager
def answering(*answers):
    """Serve ``answers`` in turn, the last for ever: bytes, or a list of bytes to send with a pause
    before each.

    Yields the address and a list of the requests as they came.
    """
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def serve():
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    request = b""
                    try:
                        while b"\r\n\r\n" not in request and (data := connection.recv(1 << 16)):
                            request += data
                        if not request:
                            continue
                        head, _, body = request.partition(b"\r\n\r\n")
                        length = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)", head)
                        # closed with something unread, a connection is reset, and the answer may be
                        # lost
                        while (
                            length
                            and len(body) < int(length[1])
                            and (data := connection.recv(1 << 16))
                        ):
                            request, body = request + data, body + data
                        asked.append(request.decode())
                        answer = answers[min(len(asked), len(answers)) - 1]
                        for part in answer if isinstance(answer, list) else [answer]:
                            if isinstance(answer, list) and stop.wait(0.02):
                                break
                            connection.sendall(part)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        finally:
            stop.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def answer(body, *headers, status="200 OK", length=True):
    """An HTTP answer, with the length of the body unless ``length`` is false."""
    lines = [
        f"HTTP/1.1 {status}",
        *headers,
        *([f"Content-Length: {len(body)}"] if length else []),
        "Connection: close",
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
