// Package agent gives a controller access to another machine, as a host.Host and a load.Worker,
// over gRPC with mutual TLS. Serve runs on that machine, and Dial on the controller. The controller
// uses a remote host or worker like a local one.
//
// Each request opens a gRPC stream. The stream exists as long as its subject: a session, a process,
// a claimed folder, a port lease, followed files, or a job. Subjects have no names or numbers that
// a peer could guess. A message is a struct encoded as JSON, except for the messages of a load (see
// package remote).
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
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The methods of the service. Every stream except that of sessionMethod carries the session's token
// in its metadata.
const (
	serviceName   = "quorumbench.Agent"
	sessionMethod = "Session"
	hostMethod    = "Host"
	workMethod    = "Work"
	reachMethod   = "Reach"
	tokenKey      = "quorumbench-session"
)

// maxMessageBytes is the maximum size of a gRPC message in bytes: a load's message and its
// envelope.
const maxMessageBytes = remote.MaxMessage + 64

// Flow-control windows: the maximum number of bytes that may be sent but not yet read, for one
// stream and for the whole connection. With fixed windows, gRPC does not measure the link. To
// measure it, gRPC would send a ping for each message, and the acknowledgment of the ping would
// wake both sides again.
const (
	streamWindow = 4 << 20
	connWindow   = 16 << 20
)

// network splits an agent's address into a network and an address for package net.
func network(address string) (networkName, socketAddress string) {
	if path, ok := strings.CutPrefix(address, scenario.UnixPrefix); ok {
		return "unix", path
	}
	return "tcp", address
}

// IsUnix reports whether an address is that of a Unix socket, which needs no certificates.
func IsUnix(address string) bool { return strings.HasPrefix(address, scenario.UnixPrefix) }

// hello is the first message of a session, from the controller. Its JSON form and the name of its
// method must never change, because an agent must be able to decode this message in order to refuse
// a controller of another version.
type hello struct {
	Version    string // the controller's version of quorumbench
	Controller string // how the agent describes this controller to other controllers
}

// welcome is the agent's reply to hello.
type welcome struct {
	Token            string // the session's token
	Heartbeat        time.Duration
	OpensConnections bool // whether the agent opens connections for the controller
}

// heartbeat is the message for a heartbeat and for the reply to a heartbeat. The two messages
// exchange timestamps as in NTP.
type heartbeat struct {
	Number                     uint64
	RequestReceived, ReplySent time.Time // times on the agent's clock
}

// Requests on a stream of hostMethod. A request is the first on its stream unless a comment "after"
// lists the requests that must precede it.
const (
	describeAction       = "describe"
	startAction          = "start"
	portsAction          = "ports"
	claimAction          = "claim"
	makeDirAction        = "make-dir"
	writeFileAction      = "write-file"
	followAction         = "follow"
	fsyncAction          = "fsync"
	sampleAction         = "sample"
	measureFoldersAction = "weigh"
	copyLogAction        = "copy-log"
	emptyAction          = "empty"
	checkLaunchAction    = "launch" // checks whether a cluster can be started
	renewAction          = "renew"  // replaces a member's credentials
	signalAction         = "signal" // after startAction
	serveDiskAction      = "disk"
	setDiskFaultsAction  = "set-disk"   // after serveDiskAction
	powerLossAction      = "power-loss" // after serveDiskAction
	writeBackAction      = "write-back" // after serveDiskAction
	noteProcessAction    = "note"       // after claimAction
	releaseAction        = "release"    // after claimAction or serveDiskAction
	readLinesAction      = "more"       // after followAction
	limitsAction         = "limits"
	writeLogAction       = "write-log"
	echoAction           = "echo"
	roundTripsAction     = "round-trips"
)

// request is a request to a host. Fields that the request does not need are omitted.
type request struct {
	Action   string
	Command  *host.Command      `json:",omitempty"`
	Launch   *host.Launch       `json:",omitempty"`
	Path     string             `json:",omitempty"`
	Paths    []string           `json:",omitempty"`
	Contents []byte             `json:",omitempty"`
	Count    int                `json:",omitempty"` // number of ports or writes
	PIDs     []int              `json:",omitempty"`
	Machine  bool               `json:",omitempty"`
	Signal   host.Signal        `json:",omitempty"`
	Process  *host.Identity     `json:",omitempty"`
	Disk     *disk.Faults       `json:",omitempty"`
	Writes   *probe.PacedWrites `json:",omitempty"`
	Address  string             `json:",omitempty"` // of an echo server
	Token    string             `json:",omitempty"` // of an echo server
}

// reply is a host's reply.
type reply struct {
	Error        string                 `json:",omitempty"`
	Description  *host.Description      `json:",omitempty"`
	Process      *host.Identity         `json:",omitempty"` // for a disk, only the process ID is set
	DamagedFiles int                    `json:",omitempty"` // number of files that lost data in the power loss
	Exit         *host.Exit             `json:",omitempty"` // in the last reply to a start request
	Path         string                 `json:",omitempty"`
	Env          string                 `json:",omitempty"`
	Address      string                 `json:",omitempty"`
	Ports        []int                  `json:",omitempty"`
	Lines        []host.Line            `json:",omitempty"`
	HasMore      bool                   `json:",omitempty"`
	Text         []byte                 `json:",omitempty"` // part of a copied log
	OmittedBytes int64                  `json:",omitempty"` // number of bytes omitted from the log
	Sizes        []int64                `json:",omitempty"` // sizes of folders
	Cost         time.Duration          `json:",omitempty"`
	Fsync        []probe.FsyncResult    `json:",omitempty"`
	Sample       *host.Sample           `json:",omitempty"`
	Limits       *measure.HostLimits    `json:",omitempty"`
	Second       *measure.WrittenSecond `json:",omitempty"`
	Token        string                 `json:",omitempty"`
	Trips        *measure.RoundTrips    `json:",omitempty"`
}

// messageStream is the interface that both sides of a gRPC stream implement.
type messageStream interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// stream is a remote.Stream over gRPC.
type stream struct {
	messageStream
	sending   sync.Mutex
	close     func()
	checkOpen func() error      // if not nil, returns an error when no message can be sent anymore
	endReason func(error) error // if not nil, returns why the session ended, or nil if the stream failed for another reason
}

// Send implements remote.Stream.
func (s *stream) Send(b []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.checkOpen != nil {
		if err := s.checkOpen(); err != nil {
			return err
		}
	}
	return s.simplifyError(s.SendMsg(&wrapperspb.BytesValue{Value: b}))
}

// Receive implements remote.Stream.
func (s *stream) Receive() ([]byte, error) {
	var m wrapperspb.BytesValue
	if err := s.RecvMsg(&m); err != nil {
		return nil, s.simplifyError(err)
	}
	return m.Value, nil
}

// Close implements remote.Stream.
func (s *stream) Close() error {
	s.close()
	return nil
}

// simplifyError removes gRPC's wording from an error.
func (s *stream) simplifyError(err error) error {
	if err == nil {
		return nil
	}
	if s.endReason != nil {
		if why := s.endReason(err); why != nil {
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

// stripPort returns an address without its port.
func stripPort(address string) string {
	if name, _, err := net.SplitHostPort(address); err == nil {
		return name
	}
	return address
}

// newStreamDesc returns gRPC's description of a method of the service.
func newStreamDesc(name string, serve grpc.StreamHandler) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, Handler: serve, ServerStreams: true, ClientStreams: true}
}
