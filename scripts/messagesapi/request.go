package messagesapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Request is one body of POST /v1/messages.
type Request struct {
	Body   []byte // as it arrived
	Model  string
	Stream bool

	turns []turn
	tools []string
}

type turn struct {
	role  string
	texts []string // text blocks and the texts of tool results, in order
}

// Text is what the model is newly given: the text of every turn since the
// assistant last spoke, tool results included, a newline between blocks. It is
// not the last user turn alone: what reaches a session while a tool runs is
// given in a turn of role system behind the tool's result.
func (r Request) Text() string {
	return joinTexts(r.fresh())
}

// AllText is the text of every turn of the conversation, whoever spoke; the
// request's system prompt and its tools' descriptions are not in it.
func (r Request) AllText() string {
	return joinTexts(r.turns)
}

// HasTool says that the model may use the tool. A session's requests beside its
// turns, for a title or a summary, offer none.
func (r Request) HasTool(name string) bool {
	return slices.Contains(r.tools, name)
}

func (r Request) fresh() []turn {
	i := len(r.turns)
	for i > 0 && r.turns[i-1].role != "assistant" {
		i--
	}
	return r.turns[i:]
}

func joinTexts(turns []turn) string {
	var texts []string
	for _, t := range turns {
		texts = append(texts, t.texts...)
	}
	return strings.Join(texts, "\n")
}

func parse(body []byte) (Request, error) {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content content
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("request body: %w", err)
	}
	r := Request{Body: body, Model: in.Model, Stream: in.Stream}
	for _, m := range in.Messages {
		r.turns = append(r.turns, turn{role: m.Role, texts: m.Content})
	}
	for _, tool := range in.Tools {
		r.tools = append(r.tools, tool.Name)
	}
	return r, nil
}

// content is the texts of a plain string or of a list of blocks, of which a
// tool_result holds content of its own.
type content []string

func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		*c = content{text}
		return err
	}
	var blocks []struct {
		Type    string
		Text    string
		Content content
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return err
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			*c = append(*c, b.Text)
		case "tool_result":
			*c = append(*c, b.Content...)
		}
	}
	return nil
}
