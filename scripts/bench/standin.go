package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"ccpost/golden"
)

// standinArg makes this program a stand-in session, so that a session's work is
// on another process's account than the harness's.
const standinArg = "-standin"

// standin is that session. It announces itself on standard output, and when its
// standard input ends it says how many messages it took.
func standin(config string) error {
	var c golden.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	s, err := golden.Start(c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	err = out.Encode(s.Environ())
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	if err == nil {
		err = out.Encode(len(s.Messages()))
	}
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// session is a running stand-in.
type session struct {
	environ []string
	cmd     *exec.Cmd
	in      io.Closer
	out     *json.Decoder
}

// rowDelay is what a real session takes to write down a message that it took:
// 45 to 91 ms were measured (golden/PROTOCOL.md, What becomes of it).
const rowDelay = 60 * time.Millisecond

// startSession starts a stand-in whose record lies under home. writes makes it
// write the transcript's rows; without them it is silent.
func startSession(home, sockets, name string, writes bool) (*session, error) {
	config, err := json.Marshal(struct {
		ConfigDir, SocketDir, Name, Cwd string
		Transcript                      bool
		TranscriptDelay                 time.Duration
	}{home + "/.claude", sockets, name, home, writes, rowDelay})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &session{cmd: exec.Command(self, standinArg, string(config))}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.out = json.NewDecoder(out)
	if err := s.out.Decode(&s.environ); err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("stand-in session: %w", err)
	}
	return s, nil
}

// end ends the session and says how many messages it took.
func (s *session) end() (taken int, err error) {
	_ = s.in.Close()
	err = s.out.Decode(&taken)
	if e := s.cmd.Wait(); err == nil {
		err = e
	}
	return taken, err
}
