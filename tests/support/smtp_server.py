"""A mail server on loopback that keeps what it receives."""

import asyncio
import contextlib
from email import message_from_bytes, policy


class MailServer:
    """Answers as an SMTP server does. `refuses`: whether it refuses each message for now."""

    def __init__(self):
        self.port = 0
        self.mails = []
        self.refuses = False

    async def handle(self, reader, writer):
        async def answer(text):
            writer.write(f"{text}\r\n".encode())
            await writer.drain()

        await answer("220 test")
        to = []
        while line := await reader.readline():
            word = line.split()[0].upper() if line.split() else b""
            if word == b"DATA" and self.refuses:
                await answer("451 later")
            elif word == b"DATA":
                await answer("354 go on")
                body = b""
                while (part := await reader.readline()) != b".\r\n":
                    body += part
                self.mails.append((to, message_from_bytes(body, policy=policy.default)))
                to = []
                await answer("250 kept")
            elif word == b"QUIT":
                await answer("221 bye")
                break
            else:
                if word == b"RCPT":
                    to.append(line.decode().partition("<")[2].partition(">")[0])
                await answer("250 ok")
        writer.close()


@contextlib.asynccontextmanager
async def mail_server():
    """Run a mail server."""
    made = MailServer()
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
