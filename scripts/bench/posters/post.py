import json
import os
import socket

s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.connect(os.environ["CLAUDE_CODE_MESSAGING_SOCKET"])
auth = {"type": "auth", "token": os.environ["CLAUDE_CODE_MESSAGING_TOKEN"]}
message = {"type": "user", "message": {"role": "user", "content": "the build is red"}}
s.sendall("".join(json.dumps(line) + "\n" for line in (auth, message)).encode())
s.shutdown(socket.SHUT_WR)
while s.recv(4096):
    pass
