package drift

import "maps"

// What differs from the captures because it is another session, and always will.
var (
	record = subject{where: "record", file: "registry-record.json", rules: likes(
		"sessionId", "startedAt", "procStart", "version", "pidDomain", "nameSince", "updatedAt", "statusUpdatedAt",
	), ours: map[string]any{"name": name, "entrypoint": "sdk-cli"}} // PROTOCOL.md, What the stand-in does

	key = subject{where: "key", file: "registry-key.json", rules: likes("peerToken", "procStart", "pidDomain")}

	authLine = subject{where: "auth line", file: "sender-frames.ndjson", rules: likes("token")}
	userLine = subject{where: "message line", file: "sender-frames.ndjson", line: 1, rules: likes("msg_id"),
		ours: map[string]any{"message.content.from-name": name}}

	held      = receipt("held", 0)
	expired   = receipt("expired", 3)
	refused   = receipt("refused", 4)
	duplicate = receipt("duplicate", 5)

	enqueueRow = row("enqueue", 0)
	dequeueRow = row("dequeue", 1)
	userRow    = row("user", 2,
		"promptId", "uuid", "origin.from", "origin.verifiedPeerProcStart", "sentAtMs", "turnPosition.turnIndex", "version",
	).with("parentUuid", nil). // it is the first one
					with("origin.name", sender).with("origin.body", posted).with("origin.fromMode", gone{}).
					with("origin.verifiedLocal", free{}) // told of a message behind the right token
)

// likes is the rule like for each field.
func likes(fields ...string) map[string]rule {
	rules := map[string]rule{}
	for _, field := range fields {
		rules[field] = like
	}
	return rules
}

func receipt(status string, line int) subject {
	return subject{where: "receipt " + status, file: "receipts.ndjson", line: line, rules: likes("reason", "msg_id")}
}

func row(kind string, line int, like ...string) subject {
	s := subject{where: kind + " row of the transcript", file: "transcript-rows.ndjson", line: line, rules: likes(like...)}
	maps.Copy(s.rules, likes("timestamp"))
	s.rules["message.content"] = holds
	return s
}

// hookInput is what the hook of an event reads. name is the capture's.
func hookInput(event string) subject {
	s := subject{where: "hook input " + event, file: "hook-input/" + event + ".json", rules: likes(
		"transcript_path", "prompt_id", "effort.level", "tool_use_id", "duration_ms", "tool_calls.0.tool_use_id",
	)}
	switch event {
	case "SessionStart":
		return s.with("session_title", name)
	case "SessionEnd":
		return s
	case "UserPromptSubmit":
		s = s.with("session_title", name).with("prompt", runTool)
	case "UserPromptSubmit-from-peer":
		s = s.with("session_title", name).with("prompt", envelopeOf(sender, posted))
	}
	return s.with("permission_mode", "default")
}
