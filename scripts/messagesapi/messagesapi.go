// Package messagesapi is a stand-in for the Messages API on loopback, so that a
// real Claude Code session runs without a model.
//
// Contract: a Server answers POST /v1/messages, streamed or whole, with the one
// block that its Script decides ("ok" without one), answers
// /v1/messages/count_tokens, and says not_found_error to anything else. It keeps
// every body it was asked with, in order: what a session puts there is what the
// model would have been given, which is the proof that a message arrived.
//
// It checks no key, knows no model by name, counts no tokens truthfully and
// never fails on purpose. It is for tests and the doctor, not for the binary.
package messagesapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxBody bounds one request, in bytes: a session sends its whole conversation
// each time, some 100 KiB at the start.
const maxBody = 64 << 20

// Script decides the answer to one request. It may be called from several
// goroutines at once: a session asks for a title beside its turn.
type Script func(Request) Reply

// Reply is one assistant block: a tool_use where Tool is set, else a text.
type Reply struct {
	Text  string
	Tool  string         // name of the tool to run, for instance "Bash"
	Input map[string]any // the tool's input
}

// Server is a running stand-in. Its methods may be called from any goroutine.
type Server struct {
	url    string
	http   *http.Server
	script Script

	mu       sync.Mutex
	requests []Request
	arrived  chan struct{} // closed and replaced at each request
}

// Start listens on a free port of 127.0.0.1 and serves until Close. A nil script
// answers "ok".
func Start(script Script) (*Server, error) {
	if script == nil {
		script = func(Request) Reply { return Reply{Text: "ok"} }
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("messages api: %w", err)
	}
	s := &Server{
		url:     "http://" + listener.Addr().String(),
		script:  script,
		arrived: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "not_found_error", r.Method+" "+r.URL.Path)
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(listener) // ends with ErrServerClosed at Close
	return s, nil
}

// URL is what ANTHROPIC_BASE_URL takes.
func (s *Server) URL() string { return s.url }

// Close ends the server and the connections it holds.
func (s *Server) Close() error { return s.http.Close() }

// Requests returns what POST /v1/messages was asked so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// WaitFor returns the first request, past or to come, that match accepts. The
// error is the context's, with the number of requests that it looked at.
func (s *Server) WaitFor(ctx context.Context, match func(Request) bool) (Request, error) {
	for seen := 0; ; {
		s.mu.Lock()
		requests, arrived := s.requests, s.arrived
		s.mu.Unlock()
		for ; seen < len(requests); seen++ {
			if match(requests[seen]) {
				return requests[seen], nil
			}
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("messages api: none of %d requests: %w", seen, context.Cause(ctx))
		}
	}
}

func (s *Server) record(r Request) (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return len(s.requests)
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	request, ok := read(w, r)
	if !ok {
		return
	}
	number := s.record(request)
	reply := s.script(request)
	if request.Stream {
		stream(w, request, reply, number)
		return
	}
	whole := envelope(request, number)
	whole["content"] = []any{reply.block(number)}
	whole["stop_reason"] = reply.stopReason()
	answer(w, http.StatusOK, whole)
}

// countTokens takes four bytes for a token: only the order of magnitude matters.
func countTokens(w http.ResponseWriter, r *http.Request) {
	if request, ok := read(w, r); ok {
		answer(w, http.StatusOK, map[string]any{"input_tokens": len(request.Body)/4 + 1})
	}
}

// read takes the body, or has answered with the error.
func read(w http.ResponseWriter, r *http.Request) (Request, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return Request{}, false
	}
	request, err := parse(body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return Request{}, false
	}
	return request, true
}

func fail(w http.ResponseWriter, status int, kind, message string) {
	answer(w, status, map[string]any{
		"type":  "error",
		"error": map[string]any{"type": kind, "message": message},
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}
