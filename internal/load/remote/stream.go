// Package remote implements a load.Worker that runs at the other end of a stream of messages: on
// another machine, where an agent serves it, or behind a pipe.
//
// Each call of a Worker uses its own stream. So the code that opens streams does not depend on the
// messages. That code may use one connection per stream, or one connection for several streams. The
// first message contains the call. During a job, both sides send messages until the job has ended.
// A message is a struct encoded as JSON. Only seconds and parts of a history have their own
// encodings (measure.AppendSecond, encodeHistory) because they are numerous.
package remote

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Stream carries whole messages in order. Send and Receive may be called from different goroutines.
// Close ends both calls.
type Stream interface {
	Send(message []byte) error
	// Receive returns io.EOF when the other side has closed the stream.
	Receive() ([]byte, error)
	Close() error
}

// MaxMessage is the maximum size of a message. A message of this size can contain the reply to a
// preload of several million keys.
const MaxMessage = 64 << 20

// NewFramed returns a Stream over c. Each message is preceded by its length in 4 bytes.
func NewFramed(c io.ReadWriteCloser) Stream { return &framed{c: c} }

type framed struct {
	c  io.ReadWriteCloser
	mu sync.Mutex // held while sending
}

func (f *framed) Send(message []byte) error {
	if len(message) > MaxMessage {
		return tooLong(uint64(len(message)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.c.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(message)), uint32(len(message))), message...))
	return err
}

func (f *framed) Receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.c, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return nil, tooLong(uint64(n))
	}
	// Allocate memory for the bytes that have arrived, and not for the announced length.
	var b bytes.Buffer
	if _, err := io.CopyN(&b, f.c, int64(n)); err != nil {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return b.Bytes(), nil
}

func (f *framed) Close() error { return f.c.Close() }

func tooLong(n uint64) error {
	return fmt.Errorf("a message of %d bytes exceeds the limit of %d bytes for messages between machines", n, MaxMessage)
}

// call is the kind of request in a stream's first message.
type call string

const (
	clock         call = "clock"
	check         call = "check"
	preload       call = "preload"
	writeVersions call = "write-versions"
	prepare       call = "prepare"
	readBack      call = "read-back"
)

// message is any message that is not a second or a part of a history. Fields that do not apply are
// omitted.
type message struct {
	// Fields of the first message.
	Call       call             `json:"call,omitempty"`
	Assignment *load.Assignment `json:"assignment,omitempty"`
	// History is set in a `prepare` or `read-back` call if the worker must report its operations.
	History bool           `json:"history,omitempty"`
	Level   kv.Consistency `json:"level,omitempty"` // read-back

	// Fields of messages to the worker during a job.
	Connect  bool       `json:"connect,omitempty"`
	Run      *time.Time `json:"run,omitempty"` // when to start
	Stop     bool       `json:"stop,omitempty"`
	Epoch    uint64     `json:"epoch,omitempty"`
	Retarget []string   `json:"retarget,omitempty"`

	// Fields of messages from the worker.
	Reply       *reply            `json:"reply,omitempty"`
	Changed     *changed          `json:"changed,omitempty"`
	PhaseChange *load.PhaseChange `json:"mark,omitempty"`
	Progress    *load.Progress    `json:"progress,omitempty"`
	Ending      *ending           `json:"ending,omitempty"`
}

// reply is the reply to a call, to Connect, or to a Run that failed.
type reply struct {
	Error     string          `json:"error,omitempty"`
	NoWindow  bool            `json:"never_opened,omitempty"` // the error is load.ErrNoWindow
	Clock     time.Time       `json:"clock,omitzero"`
	Loops     int             `json:"loops,omitempty"`
	First     int64           `json:"first,omitempty"`
	Preloaded *load.Preloaded `json:"preloaded,omitempty"`
	Found     uint64          `json:"found,omitempty"` // number of keys that exist
}

type changed struct {
	Term uint64 `json:"term,omitempty"`
	Lost bool   `json:"lost,omitempty"`
}

// ending is a load.Ending whose histograms for watchers are encoded.
type ending struct {
	load.Ending
	Created []byte `json:"created,omitempty"`
	Last    []byte `json:"last,omitempty"`
}

func encodeEnding(e load.Ending) *ending {
	out := &ending{Ending: e}
	if w := e.Watching; w != nil {
		summary := *w
		if w.Created != nil {
			out.Created, summary.Created = measure.AppendHistogram(nil, w.Created), nil
		}
		if w.Last != nil {
			out.Last, summary.Last = measure.AppendHistogram(nil, w.Last), nil
		}
		out.Watching = &summary
	}
	return out
}

func (e *ending) decode() (*load.Ending, error) {
	if e.Watching != nil && len(e.Created) > 0 {
		var err error
		if e.Watching.Created, err = measure.ReadHistogram(e.Created); err != nil {
			return nil, err
		}
	}
	if e.Watching != nil && len(e.Last) > 0 {
		var err error
		if e.Watching.Last, err = measure.ReadHistogram(e.Last); err != nil {
			return nil, err
		}
	}
	return &e.Ending, e.Valid()
}

// The first byte of a message identifies its kind.
const (
	messageMark = 'm'
	secondMark  = 's'
	historyMark = 'h'
)

func encode(m message) ([]byte, error) {
	b, err := json.Marshal(m)
	return append([]byte{messageMark}, b...), err
}

func encodeSecond(s *measure.Second) []byte { return measure.AppendSecond([]byte{secondMark}, s) }

// cutSecond returns the encoded second that a message contains. ok is false if the message contains
// no second.
func cutSecond(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != secondMark {
		return nil, false
	}
	return b[1:], true
}

// part contains operations of one event loop. The operations' times are relative to the field zero.
type part struct {
	loop uint64
	zero time.Time
	ops  []history.Op
}

func encodeHistory(loop uint64, zero time.Time, b *history.Block) []byte {
	out := make([]byte, 1, 1+2*binary.MaxVarintLen64+len(b.Bytes()))
	out[0] = historyMark
	out = binary.AppendVarint(binary.AppendUvarint(out, loop), zero.UnixNano())
	return append(out, b.Bytes()...)
}

// cutHistory returns the encoded part of a history that a message contains. ok is false if the
// message contains no such part.
func cutHistory(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != historyMark {
		return nil, false
	}
	return b[1:], true
}

func readHistory(b []byte) (p part, err error) {
	var zero int64
	n, m := 0, 0
	if p.loop, n = binary.Uvarint(b); n > 0 {
		zero, m = binary.Varint(b[n:])
	}
	if n <= 0 || m <= 0 || len(b)-n-m > history.BlockSize {
		return p, errors.New("received a malformed part of a history")
	}
	p.zero = time.Unix(0, zero)
	p.ops, err = history.Decode(b[n+m:], nil)
	return p, err
}

// decode decodes a message that is not a second or a part of a history.
func decode(b []byte) (*message, error) {
	if len(b) == 0 || b[0] != messageMark {
		return nil, errors.New("received data that is neither a message nor a per-second report")
	}
	m := &message{}
	if err := json.Unmarshal(b[1:], m); err != nil {
		return nil, fmt.Errorf("received a malformed message: %w", err)
	}
	return m, nil
}

// errorReply returns the reply for an error.
func errorReply(err error) *reply {
	return &reply{Error: err.Error(), NoWindow: errors.Is(err, load.ErrNoWindow)}
}

// asError returns the error in a reply, or nil.
func (a *reply) asError() error {
	switch {
	case a.NoWindow:
		return load.ErrNoWindow
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}
