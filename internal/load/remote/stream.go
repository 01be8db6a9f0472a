// Package remote has a load.Worker on the other side of a stream of messages: on
// another machine, whose agent serves it, or behind a pipe.
//
// Each call of a Worker is a stream of its own, so that whatever opens streams
// (a connection for each, or one that has many) needs to know nothing of what is
// said. The first message says what is asked for; of a job, messages go both ways
// until its ending. A message is the JSON of a struct, but for a second, of which
// there are many (measure.AppendSecond).
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

// Stream carries whole messages, in their order. Send and Receive may be called
// from different goroutines; Close ends both.
type Stream interface {
	Send(message []byte) error
	// Receive returns io.EOF when the other side has closed.
	Receive() ([]byte, error)
	Close() error
}

// MostBytes is the most that a message has: what the preload of some millions of
// keys leaves.
const MostBytes = 64 << 20

// Framed makes a stream of bytes a Stream: each message has its length before it.
func Framed(c io.ReadWriteCloser) Stream { return &framed{c: c} }

type framed struct {
	c  io.ReadWriteCloser
	mu sync.Mutex // to send
}

func (f *framed) Send(message []byte) error {
	if len(message) > MostBytes {
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
	if n > MostBytes {
		return nil, tooLong(uint64(n))
	}
	// Memory grows as the bytes come, not as they are announced.
	var b bytes.Buffer
	if _, err := io.CopyN(&b, f.c, int64(n)); err != nil {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return b.Bytes(), nil
}

func (f *framed) Close() error { return f.c.Close() }

func tooLong(n uint64) error {
	return fmt.Errorf("a message of %d bytes is longer than the %d that can cross between machines", n, MostBytes)
}

// call is what the first message asks for.
type call string

const (
	clock         call = "clock"
	check         call = "check"
	preload       call = "preload"
	writeVersions call = "write-versions"
	prepare       call = "prepare"
	readBack      call = "read-back"
)

// message is everything that is said but for seconds; what it is not about is
// left out.
type message struct {
	// The first says what is asked for.
	Call       call             `json:"call,omitempty"`
	Assignment *load.Assignment `json:"assignment,omitempty"`
	History    bool             `json:"history,omitempty"` // of prepare and read-back: the operations are wanted
	Level      kv.Consistency   `json:"level,omitempty"`   // of read-back

	// Of a job, to the worker.
	Connect  bool       `json:"connect,omitempty"`
	Run      *time.Time `json:"run,omitempty"` // when to begin
	Stop     bool       `json:"stop,omitempty"`
	Epoch    uint64     `json:"epoch,omitempty"`
	Retarget []string   `json:"retarget,omitempty"`

	// From the worker.
	Answer   *answer        `json:"answer,omitempty"`
	Changed  *changed       `json:"changed,omitempty"`
	Mark     *load.Mark     `json:"mark,omitempty"`
	Progress *load.Progress `json:"progress,omitempty"`
	Ending   *ending        `json:"ending,omitempty"`
}

// answer is to a call, and to Connect.
type answer struct {
	Error       string          `json:"error,omitempty"`
	NeverOpened bool            `json:"never_opened,omitempty"` // load.ErrNeverOpened
	Clock       time.Time       `json:"clock,omitzero"`
	Loops       int             `json:"loops,omitempty"`
	First       int64           `json:"first,omitempty"`
	Preloaded   *load.Preloaded `json:"preloaded,omitempty"`
	Found       uint64          `json:"found,omitempty"` // keys that were read back
}

type changed struct {
	Term uint64 `json:"term,omitempty"`
	Lost bool   `json:"lost,omitempty"`
}

// ending is a load.Ending; the histograms of its watchers are encoded.
type ending struct {
	load.Ending
	Created []byte `json:"created,omitempty"`
	Last    []byte `json:"last,omitempty"`
}

func endingOf(e load.Ending) *ending {
	out := &ending{Ending: e}
	if w := e.Watching; w != nil {
		one := *w
		if w.Created != nil {
			out.Created, one.Created = measure.AppendHistogram(nil, w.Created), nil
		}
		if w.Last != nil {
			out.Last, one.Last = measure.AppendHistogram(nil, w.Last), nil
		}
		out.Watching = &one
	}
	return out
}

func (e *ending) whole() (*load.Ending, error) {
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

// The first byte of a message says which kind it is.
const (
	isMessage = 'm'
	isSecond  = 's'
	isHistory = 'h'
)

func encode(m message) ([]byte, error) {
	b, err := json.Marshal(m)
	return append([]byte{isMessage}, b...), err
}

func encodeSecond(s *measure.Second) []byte { return measure.AppendSecond([]byte{isSecond}, s) }

// asSecond returns the bytes of a second, if the message is one.
func asSecond(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != isSecond {
		return nil, false
	}
	return b[1:], true
}

// part is some operations of one loop, whose clock stood at 0 at zero.
type part struct {
	loop uint64
	zero time.Time
	ops  []history.Op
}

func encodeHistory(loop uint64, zero time.Time, b *history.Block) []byte {
	out := make([]byte, 1, 1+2*binary.MaxVarintLen64+len(b.Bytes()))
	out[0] = isHistory
	out = binary.AppendVarint(binary.AppendUvarint(out, loop), zero.UnixNano())
	return append(out, b.Bytes()...)
}

// asHistory returns what readHistory reads, if the message is that.
func asHistory(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != isHistory {
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
		return p, errors.New("what came is no part of a history")
	}
	p.zero = time.Unix(0, zero)
	p.ops, err = history.Decode(b[n+m:], nil)
	return p, err
}

// decode returns a message that is no second.
func decode(b []byte) (*message, error) {
	if len(b) == 0 || b[0] != isMessage {
		return nil, errors.New("what came is neither a message nor a second")
	}
	m := &message{}
	if err := json.Unmarshal(b[1:], m); err != nil {
		return nil, fmt.Errorf("what came is not a message: %w", err)
	}
	return m, nil
}

// errorOf is the answer that says an error.
func errorOf(err error) *answer {
	return &answer{Error: err.Error(), NeverOpened: errors.Is(err, load.ErrNeverOpened)}
}

// err is the inverse.
func (a *answer) err() error {
	switch {
	case a.NeverOpened:
		return load.ErrNeverOpened
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}
