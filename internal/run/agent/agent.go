// Package agent serves a machine to a controller on another one: a host.Host and a
// load.Worker, over gRPC with mutual TLS. Serve is the machine's side, Dial the
// controller's. The controller uses both as it uses the local ones.
//
// Each request opens a gRPC stream, which lives as long as its subject: a session, a
// process, a claimed folder, a lease of ports, followed files, a job. These have no names
// or numbers, so a peer cannot make one up. A message is the JSON of a struct, except those
// of a load (package remote).
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

// The methods of the service. Every stream except sessionMethod's carries the session's
// token in its metadata.
const (
	serviceName   = "quorumbench.Agent"
	sessionMethod = "Session"
	hostMethod    = "Host"
	workMethod    = "Work"
	reachMethod   = "Reach"
	tokenKey      = "quorumbench-session"
)

// mostBytes is the greatest size of a gRPC message: a message of a load and its envelope.
const mostBytes = remote.MostBytes + 64

// How many unread bytes a stream, and all streams together, may have sent. The windows are
// fixed: gRPC would otherwise measure the link with a ping for each message, whose
// acknowledgement wakes both sides once more.
const (
	streamWindow = 4 << 20
	connWindow   = 16 << 20
)

// network splits an agent's address into a network and an address for package net.
func network(address string) (of, at string) {
	if path, ok := strings.CutPrefix(address, scenario.UnixPrefix); ok {
		return "unix", path
	}
	return "tcp", address
}

// IsUnix reports whether an address is a Unix socket's, which needs no certificates.
func IsUnix(address string) bool { return strings.HasPrefix(address, scenario.UnixPrefix) }

// hello is the first message of a session, from the controller.
type hello struct {
	Version    string // of the controller's program
	Controller string // how the agent names it to other controllers
}

// welcome is the agent's reply to hello.
type welcome struct {
	Token     string // of the session
	Heartbeat time.Duration
	Reaches   bool // the agent opens connections for the controller
}

// beat is a heartbeat and its reply, which exchange times as in NTP.
type beat struct {
	N                  uint64
	Received, Answered time.Time // by the agent's clock
}

// Requests on a stream of hostMethod; those with a note are not the first on a stream.
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
	launch    = "launch" // asks whether a cluster can be started
	renew     = "renew"  // replaces a member's credentials
	signal    = "signal" // of start
	onDisk    = "disk"
	setDisk   = "set-disk"   // of disk
	powerLoss = "power-loss" // of disk
	writeBack = "write-back" // of disk
	note      = "note"       // of claim
	release   = "release"    // of claim and disk
	more      = "more"       // of follow
)

// request is a request to a host; fields that do not belong to it are left out.
type request struct {
	Do       string
	Command  *host.Command  `json:",omitempty"`
	Launch   *host.Launch   `json:",omitempty"`
	Path     string         `json:",omitempty"`
	Paths    []string       `json:",omitempty"`
	Contents []byte         `json:",omitempty"`
	Count    int            `json:",omitempty"` // of ports or of writes
	PIDs     []int          `json:",omitempty"`
	Machine  bool           `json:",omitempty"`
	Signal   host.Signal    `json:",omitempty"`
	Process  *host.Identity `json:",omitempty"`
	Disk     *disk.Faults   `json:",omitempty"`
}

// reply is a host's reply.
type reply struct {
	Error       string              `json:",omitempty"`
	Description *host.Description   `json:",omitempty"`
	Process     *host.Identity      `json:",omitempty"` // of a disk, only its number
	Lost        int                 `json:",omitempty"` // files that lost data in the power loss
	Exit        *host.Exit          `json:",omitempty"` // the last reply of start
	Path        string              `json:",omitempty"`
	Env         string              `json:",omitempty"`
	Address     string              `json:",omitempty"`
	Ports       []int               `json:",omitempty"`
	Lines       []host.Line         `json:",omitempty"`
	More        bool                `json:",omitempty"`
	Text        []byte              `json:",omitempty"` // of a copied log
	Left        int64               `json:",omitempty"` // bytes that were left out of the log
	Sizes       []int64             `json:",omitempty"` // of folders
	Cost        time.Duration       `json:",omitempty"`
	Fsync       []probe.FsyncResult `json:",omitempty"`
	Sample      *host.Sample        `json:",omitempty"`
}

// ends is implemented by both sides of a gRPC stream.
type ends interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// stream is a remote.Stream over gRPC.
type stream struct {
	ends
	sending sync.Mutex
	close   func()
	open    func() error      // returns why nothing can be sent any more, or nil; may be nil
	why     func(error) error // returns the session's end if it made the stream fail, or nil; may be nil
}

// Send implements remote.Stream.
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

// Receive implements remote.Stream.
func (s *stream) Receive() ([]byte, error) {
	var m wrapperspb.BytesValue
	if err := s.RecvMsg(&m); err != nil {
		return nil, s.plain(err)
	}
	return m.Value, nil
}

// Close implements remote.Stream.
func (s *stream) Close() error {
	s.close()
	return nil
}

// plain removes gRPC's wording from an error.
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
		err = fmt.Errorf("the peer sent an invalid message: %w", err)
	}
	return v, err
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	if name, _, err := net.SplitHostPort(address); err == nil {
		return name
	}
	return address
}

// method returns gRPC's description of one of the service's methods.
func method(name string, serve grpc.StreamHandler) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, Handler: serve, ServerStreams: true, ClientStreams: true}
}
