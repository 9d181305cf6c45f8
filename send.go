package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ccpost/inbox"
)

const (
	sendTimeout = 10 * time.Second

	// maxBody bounds what is read from standard input, in bytes. A session
	// takes a line of a million characters, which can be four times the bytes,
	// and cleaning shortens coloured text; beyond that it can't fit.
	maxBody = 8 << 20
)

var errTerminal = errors.New("it is a terminal")

type sendCmd struct {
	posting
	Raw     bool   `help:"Send the text without the envelope that names the sender."`
	Quiet   bool   `short:"q" help:"Say nothing about success, and give no hints."`
	JSON    bool   `name:"json" help:"Print one JSON object instead."`
	Message string `arg:"" help:"The message; - reads it from standard input."`
}

func (c *sendCmd) run(a *app) int {
	a.ui.quiet, a.ui.verbose, a.ui.json = c.Quiet, c.Verbose, c.JSON
	if a.off() {
		return a.ui.fail(inbox.Fail(inbox.ChannelOff, "", nil))
	}
	body := c.Message
	if body == "-" {
		var err error
		if body, err = a.readBody(); err != nil {
			return a.ui.fail(err)
		}
	}
	// From here on, so that `make | ccpost send -` may take its time.
	ctx, cancel := c.budget(a.ctx, sendTimeout)
	defer cancel()
	return c.deliver(a, ctx, body, c.Raw, nil)
}

// readBody reads standard input to its end.
func (a *app) readBody() (string, error) {
	if isTerminal(a.stdin) {
		return "", inbox.Fail(inbox.NoInput, "", errTerminal)
	}
	type read struct {
		body []byte
		err  error
	}
	// In a goroutine, because a read of a pipe can't be called off.
	c := make(chan read, 1)
	a.start(a.cancel, func() {
		body, err := io.ReadAll(io.LimitReader(a.stdin, maxBody+1))
		c <- read{body, err}
	})
	select {
	case <-a.ctx.Done():
		return "", a.calledOff()
	case r := <-c:
		switch {
		case r.err != nil:
			return "", inbox.Fail(inbox.NoInput, "", r.err)
		case len(r.body) == 0:
			return "", inbox.Fail(inbox.NoInput, "", errors.New("it is empty"))
		case len(r.body) > maxBody:
			return "", inbox.Fail(inbox.BadRequest, inbox.ReasonTooLarge,
				fmt.Errorf("standard input has more than %d bytes, and a session takes a line of %d characters", maxBody, inbox.MaxLine))
		}
		return string(r.body), nil
	}
}
