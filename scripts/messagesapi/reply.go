package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// block is the content block as the whole answer bears it.
func (r Reply) block(number int) map[string]any {
	if r.Tool == "" {
		return map[string]any{"type": "text", "text": r.Text}
	}
	input := r.Input
	if input == nil {
		input = map[string]any{}
	}
	return map[string]any{
		"type":  "tool_use",
		"id":    fmt.Sprintf("toolu_%06d", number),
		"name":  r.Tool,
		"input": input,
	}
}

func (r Reply) stopReason() string {
	if r.Tool == "" {
		return "end_turn"
	}
	return "tool_use"
}

// delta empties the block, as content_block_start wants it, and returns what
// content_block_delta then adds.
func delta(block map[string]any) map[string]any {
	if block["type"] == "text" {
		d := map[string]any{"type": "text_delta", "text": block["text"]}
		block["text"] = ""
		return d
	}
	input, err := json.Marshal(block["input"])
	if err != nil { // a script's own mistake, shown to the session as the tool's input
		input, _ = json.Marshal(map[string]any{"error": err.Error()})
	}
	block["input"] = map[string]any{}
	return map[string]any{"type": "input_json_delta", "partial_json": string(input)}
}

func envelope(request Request, number int) map[string]any {
	return map[string]any{
		"id":            fmt.Sprintf("msg_%06d", number),
		"type":          "message",
		"role":          "assistant",
		"model":         request.Model,
		"content":       []any{},
		"stop_reason":   nil,
		"stop_sequence": nil,
		"usage":         map[string]any{"input_tokens": len(request.Body)/4 + 1, "output_tokens": 1},
	}
}

func stream(w http.ResponseWriter, request Request, reply Reply, number int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	block := reply.block(number)
	added := delta(block)
	for _, event := range []map[string]any{
		{"type": "message_start", "message": envelope(request, number)},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": added},
		{"type": "content_block_stop", "index": 0},
		{
			"type":  "message_delta",
			"delta": map[string]any{"stop_reason": reply.stopReason(), "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": 1},
		},
		{"type": "message_stop"},
	} {
		data, err := json.Marshal(event)
		if err != nil {
			return // nothing here fails to marshal: the input is text by now
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data)
	}
}
