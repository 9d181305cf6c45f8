import net from "node:net";

const auth = { type: "auth", token: process.env.CLAUDE_CODE_MESSAGING_TOKEN };
const message = { type: "user", message: { role: "user", content: "the build is red" } };
const s = net.connect(process.env.CLAUDE_CODE_MESSAGING_SOCKET);
s.end([auth, message].map((line) => JSON.stringify(line) + "\n").join(""));
s.resume();
