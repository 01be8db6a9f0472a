// Package agent serves a machine to another one: a host.Host and a load.Worker,
// over gRPC with mutual TLS. Serve is the machine's side, Dial the controller's,
// whose use is the same as that of the local ones.
//
// Everything that is asked for is a gRPC stream of its own, which lives as long as
// what it is about: a session, a process, a claimed folder, a lease of ports, files
// that are followed, a job. There are no names or numbers for these, so that none
// can be made up. A message is the JSON of a struct, but for those of a load
// (package wired).
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/quorumbench/quorumbench/internal/load/remote"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The methods of the service. A stream of any but sessionMethod carries the
// session's token in its metadata.
const (
	serviceName   = "quorumbench.Agent"
	sessionMethod = "Session"
	hostMethod    = "Host"
	workMethod    = "Work"
	reachMethod   = "Reach"
	tokenKey      = "quorumbench-session"
)

// mostBytes is the most that a gRPC message has: a message of a load, and its
// envelope.
const mostBytes = remote.MostBytes + 64

// What a stream and all together may have sent that is not read yet, in bytes. They do
// not grow by themselves: gRPC would measure the way with a ping for each message, whose
// answer wakes both sides once more.
const (
	streamWindow = 4 << 20
	connWindow   = 16 << 20
)

// network is what an address is for package net.
func network(address string) (of, at string) {
	if path, ok := strings.CutPrefix(address, scenario.UnixPrefix); ok {
		return "unix", path
	}
	return "tcp", address
}

// IsUnix reports whether an address is that of a Unix socket, which needs no
// certificates.
func IsUnix(address string) bool { return strings.HasPrefix(address, scenario.UnixPrefix) }

// hello is the first message of a session, from the controller.
type hello struct {
	Version    string // of its program
	Controller string // how an agent calls it to others
}

// welcome is the answer.
type welcome struct {
	Token     string // of this session
	Heartbeat time.Duration
	Reaches   bool // it opens connections for the controller
}

// beat is a heartbeat and its answer: an exchange of times as NTP has it.
type beat struct {
	N                  uint64
	Received, Answered time.Time // by the agent's clock
}

// What a stream of hostMethod begins with, or says later.
const (
	describe  = "describe"
	start     = "start"
	ports     = "ports"
	claim     = "claim"
	makeDir   = "make-dir"
	writeFile = "write-file"
	follow    = "follow"
	fsync     = "fsync"
	sample    = "sample"
	weigh     = "weigh"
	copyLog   = "copy-log"
	empty     = "empty"
	launch    = "launch" // whether a cluster can be started
	renew     = "renew"  // a member's credentials
	signal    = "signal" // of start
	onDisk    = "disk"
	setDisk   = "set-disk"   // of disk
	powerLoss = "power-loss" // of disk
	writeBack = "write-back" // of disk
	note      = "note"       // of claim
	release   = "release"    // of claim and disk
	more      = "more"       // of follow
)

// request is what is asked of a host; what it is not about is left out.
type request struct {
	Do       string
	Command  *host.Command  `json:",omitempty"`
	Launch   *host.Launch   `json:",omitempty"`
	Path     string         `json:",omitempty"`
	Paths    []string       `json:",omitempty"`
	Contents []byte         `json:",omitempty"`
	Count    int            `json:",omitempty"` // of ports, or of writes
	PIDs     []int          `json:",omitempty"`
	Machine  bool           `json:",omitempty"`
	Signal   host.Signal    `json:",omitempty"`
	Process  *host.Identity `json:",omitempty"`
	Disk     *disk.Faults   `json:",omitempty"`
}

// reply is what a host says.
type reply struct {
	Error       string              `json:",omitempty"`
	Description *host.Description   `json:",omitempty"`
	Process     *host.Identity      `json:",omitempty"` // of a disk, its number alone
	Lost        int                 `json:",omitempty"` // files that lost something with the power
	Exit        *host.Exit          `json:",omitempty"` // the last of start
	Path        string              `json:",omitempty"`
	Env         string              `json:",omitempty"`
	Address     string              `json:",omitempty"`
	Ports       []int               `json:",omitempty"`
	Lines       []host.Line         `json:",omitempty"`
	More        bool                `json:",omitempty"`
	Text        []byte              `json:",omitempty"` // of a log that is copied
	Left        int64               `json:",omitempty"` // of it, in bytes
	Sizes       []int64             `json:",omitempty"` // of folders
	Cost        time.Duration       `json:",omitempty"`
	Fsync       []probe.FsyncResult `json:",omitempty"`
	Sample      *host.Sample        `json:",omitempty"`
}

// ends are what both sides of a gRPC stream have.
type ends interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// stream is a wired.Stream over gRPC.
type stream struct {
	ends
	sending sync.Mutex
	close   func()
	open    func() error      // why nothing is sent any more, nil as long as it is; may be nil
	why     func(error) error // the session's end, if that is why the stream failed; may be nil
}

// Send implements wired.Stream.
func (s *stream) Send(b []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.open != nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	return s.plain(s.SendMsg(&wrapperspb.BytesValue{Value: b}))
}

// Receive implements wired.Stream.
func (s *stream) Receive() ([]byte, error) {
	var m wrapperspb.BytesValue
	if err := s.RecvMsg(&m); err != nil {
		return nil, s.plain(err)
	}
	return m.Value, nil
}

// Close implements wired.Stream.
func (s *stream) Close() error {
	s.close()
	return nil
}

// plain is an error without gRPC's words around it.
func (s *stream) plain(err error) error {
	if err == nil {
		return nil
	}
	if s.why != nil {
		if why := s.why(err); why != nil {
			return why
		}
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return errors.New(status.Convert(err).Message())
}

func sendJSON(s *stream, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.Send(b)
}

func receiveJSON[T any](s *stream) (v T, err error) {
	b, err := s.Receive()
	if err != nil {
		return v, err
	}
	if err = json.Unmarshal(b, &v); err != nil {
		err = fmt.Errorf("what came is not a message: %w", err)
	}
	return v, err
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if name, _, err := net.SplitHostPort(address); err == nil {
		return name
	}
	return address
}

// method describes one of the service's methods to gRPC.
func method(name string, serve grpc.StreamHandler) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, Handler: serve, ServerStreams: true, ClientStreams: true}
}
