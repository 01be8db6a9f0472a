package engine

import (
	"encoding/binary"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// mirror is a Poller whose servers immediately send each request back to the loop. Its clock
// advances by 100 ns whenever it is read.
type mirror struct {
	now    int64
	in     [][]byte // by connection: bytes to be read
	dialed []int
}

func (m *mirror) Now() int64 { m.now += 100; return m.now }

func (m *mirror) Wait(until int64, ready []poll.Ready) []poll.Ready {
	for _, i := range m.dialed {
		ready = append(ready, poll.Ready{Conn: i, Reason: poll.Dialed})
	}
	m.dialed = m.dialed[:0]
	for i := range m.in {
		if len(m.in[i]) > 0 {
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Readable})
		}
	}
	if len(ready) == 0 {
		m.now = max(m.now, until)
	}
	return ready
}

func (m *mirror) Dial(conn int, _ string) { m.dialed = append(m.dialed, conn) }

func (m *mirror) Read(conn int, p []byte) (int, error) {
	if len(m.in[conn]) == 0 {
		return 0, poll.ErrAgain
	}
	n := copy(p, m.in[conn])
	m.in[conn] = m.in[conn][:copy(m.in[conn], m.in[conn][n:])]
	return n, nil
}

func (m *mirror) Write(conn int, p []byte) (int, error) {
	m.in[conn] = append(m.in[conn], p...)
	return len(p), nil
}

func (m *mirror) Close(int)   {}
func (m *mirror) Wake()       {}
func (m *mirror) Attach() int { return 0 }
func (m *mirror) Release()    {}

// tagCodec is a Codec for a protocol in which each request and each reply consists of the tag only.
type tagCodec struct{ out []byte }

func (c *tagCodec) Room() int                           { return 1000 }
func (c *tagCodec) Submit(op *store.Op)                 { c.out = binary.LittleEndian.AppendUint32(c.out, op.Tag) }
func (c *tagCodec) Cancel(uint32) bool                  { return true }
func (c *tagCodec) Tick(int64) int64                    { return 0 }
func (c *tagCodec) Out() []byte                         { return c.out }
func (c *tagCodec) Wrote(n int)                         { c.out = c.out[:copy(c.out, c.out[n:])] }
func (c *tagCodec) Draining() bool                      { return false }
func (c *tagCodec) Lost(to []store.Event) []store.Event { return to }

func (c *tagCodec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	for ; len(in) >= 4; in = in[4:] {
		to = append(to, store.Event{Tag: binary.LittleEndian.Uint32(in), Member: 7, Term: 1})
	}
	return to, nil
}

// samePut is a Source that repeats one put.
type samePut struct{ key, value []byte }

func (s *samePut) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put, Key: s.key, Value: s.value}
	return n
}

func (*samePut) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Put, kv.NoConsistency
}
func (*samePut) Shares(measure.Phase) []Share                          { return []Share{{Kind: kv.Put, Fraction: 1}} }
func (*samePut) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome { return ev.Outcome }

// BenchmarkOpenLoop measures the loop's CPU time per operation in an open loop in which each turn
// handles one operation.
func BenchmarkOpenLoop(b *testing.B) {
	const rate = 20_000
	m := &mirror{now: secondNS, in: make([][]byte, 8)}
	cfg := benchConfig(len(m.in))
	total := uint64(b.N)
	cfg.Phases = []Phase{{Kind: measure.Measured, Total: total, Pacer: pace.NewConstant(rate), Duration: int64(total) * secondNS / rate}}
	benchLoop(b, cfg, m)
}

// BenchmarkClosedLoop measures an event loop's CPU time per operation in a closed loop. The
// benchmark makes no system calls and uses a trivial protocol.
func BenchmarkClosedLoop(b *testing.B) {
	const conns, clients = 100, 1000
	m := &mirror{now: secondNS, in: make([][]byte, conns)}
	cfg := benchConfig(conns)
	cfg.Phases = []Phase{{Kind: measure.Measured, Total: uint64(b.N)}}
	for i := range clients {
		cfg.Clients = append(cfg.Clients, i%conns)
	}
	benchLoop(b, cfg, m)
}

// benchConfig returns the configuration of a load that repeats one put on conns connections.
func benchConfig(conns int) Config {
	cfg := Config{
		Source: &samePut{key: []byte("key"), value: []byte("value")}, Stride: 1,
		Timeout: 10 * secondNS, MaxInFlight: 1000, DrainOnStop: secondNS,
		Codecs: func(store.ConnectionInfo) store.Codec { return &tagCodec{} }, Deliver: func(*measure.Second) {},
	}
	for range conns {
		cfg.Endpoints = append(cfg.Endpoints, "server")
	}
	return cfg
}

// benchLoop runs a load of b.N operations.
func benchLoop(b *testing.B, cfg Config, m *mirror) {
	b.Helper()
	loop := New(cfg, m)
	b.ReportAllocs()
	loop.Run(2*secondNS, func(err error) {
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		loop.Start(m.now + millisecond)
	})
	if done := loop.Live.Done.Load(); done != uint64(b.N) {
		b.Fatalf("%d of %d operations are done", done, b.N)
	}
}
