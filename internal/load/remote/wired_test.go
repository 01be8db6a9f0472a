package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// fill sets all values in v to values other than zero. It fails the test if v contains a type that
// cannot be encoded.
func fill(t *testing.T, r *rand.Rand, v reflect.Value, at string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() {
				t.Errorf("%s.%s cannot be encoded", at, f.Name)
			} else {
				fill(t, r, v.Field(i), at+"."+f.Name)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, r, v.Elem(), at)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, r, v.Index(i), at)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, r, v.Index(i), at)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, r, key, at)
		fill(t, r, value, at)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text of " + at)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(r.Float64() * 1e12)
	default:
		switch {
		case v.CanUint():
			v.SetUint(1 + uint64(r.IntN(100)))
		case v.CanInt():
			v.SetInt(1 + int64(r.IntN(100)))
		default:
			t.Errorf("%s is a %v, which cannot be encoded", at, v.Kind())
		}
	}
}

// Assignments and reports are encoded with all their fields.
func TestAllFieldsAreEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		var m message
		assigned := reflect.New(reflect.TypeFor[load.Assignment]())
		fill(t, r, assigned.Elem(), "assignment")
		m.Assignment = assigned.Interface().(*load.Assignment)
		m.Reply, m.PhaseChange, m.Progress = &reply{}, &load.PhaseChange{}, &load.Progress{}
		fill(t, r, reflect.ValueOf(m.Reply).Elem(), "answer")
		fill(t, r, reflect.ValueOf(m.PhaseChange).Elem(), "mark")
		fill(t, r, reflect.ValueOf(m.Progress).Elem(), "progress")
		b, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&m, got); d != "" {
			t.Fatal(d)
		}
	}
	e := load.Ending{
		Loops: 2, Opened: time.Unix(1e9, 123).UTC(), Length: 2e9,
		InWindow: engine.InWindow{
			InFlightArea: 1.25e-7, RestingArea: 1e18 / 3,
			ErrorTexts: map[kv.Outcome]string{kv.TimedOut: "late"}, MemberByEndpoint: map[string]uint64{"a:1": 1<<64 - 1}, Links: map[string]int{"a:1": 3},
			Connections: []measure.Connection{{Endpoint: "a:1", Completed: []uint64{3, 1 << 40}}, {Completed: []uint64{0}}},
		},
		Watching: &measure.WatchTotals{Watchers: 3, Created: measure.NewHistogram()}, Used: []load.Usage{{Machine: "m", Process: 3, CPUSeconds: 0.1}},
	}
	e.MaxInFlight, e.Paused = 7, 5
	measure.Record(e.Watching.Created, 12345)
	b, err := encode(message{Ending: encodeEnding(e)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Ending.decode()
	if err != nil || !reflect.DeepEqual(*got, e) {
		t.Errorf("%+v became %+v, %v", e, got, err)
	}
}

// scripted returns a worker whose other side is played by the function `say`.
func scripted(t *testing.T, say func(s Stream)) *Worker {
	return New(func(context.Context) (Stream, error) {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = there.Close() })
		go func() {
			s := NewFramed(there)
			_, _ = s.Receive()
			say(s)
		}()
		return NewFramed(here), nil
	})
}

// drain receives messages until the stream ends, so that the sender does not wait.
func drain(s Stream) {
	go func() {
		for {
			if _, err := s.Receive(); err != nil {
				return
			}
		}
	}()
}

func second(index int) []byte {
	return encodeSecond(&measure.Second{Phase: measure.Measured, Index: index})
}

// secondWith returns an encoded second in which the given number of operations were due.
func secondWith(due uint64, index int) []byte {
	s := &measure.Second{Phase: measure.Measured, Index: index}
	s.Due, s.Outcomes[kv.OK] = due, due
	times := measure.NewHistogram()
	for range due {
		measure.Record(times, 1e6)
	}
	s.Cells = []*measure.Cell{{Response: times}}
	return encodeSecond(s)
}

func encoded(m message) []byte {
	b, _ := encode(m)
	return b
}

// If a worker reports something that no load can report, the connection to the worker is closed,
// and the error contains the reason.
func TestCutsOffAWorkerWithImpossibleReports(t *testing.T) {
	ok := encoded(message{Reply: &reply{}})
	whole := func(change func(*load.Ending)) []byte {
		e := load.Ending{Loops: 1, Opened: time.Unix(1e9, 0), Length: 1e9}
		change(&e)
		return encoded(message{Ending: encodeEnding(e)})
	}
	for want, script := range map[string][][]byte{
		"second 0 of the measured phase follows second 1":       {second(1), second(0)},
		"second 1 of the measured phase follows":                {second(1), second(1)},
		"cannot decode a second":                                {{secondMark, 9}},
		"neither a message nor a per-second report":             {{'?'}},
		"malformed message":                                     {[]byte("m{")},
		"unknown phase":                                         {encoded(message{PhaseChange: &load.PhaseChange{Phase: 7}})},
		"replied without a request":                             {ok},
		"0 event loops":                                         {whole(func(e *load.Ending) { e.Loops = 0 })},
		"a window longer than 10 years":                         {whole(func(e *load.Ending) { e.Length = -1 })},
		"second 14, but the measurement window is only 2s long": {second(14)},
		"its part of the load has 50":                           {secondWith(40, 0), secondWith(60, 1)},
		"2 connections with 0 clients":                          {whole(func(e *load.Ending) { e.Connections = make([]measure.Connection, 2) })},
		"1 connections with 30 clients":                         {whole(func(e *load.Ending) { e.Connections = []measure.Connection{{Completed: make([]uint64, 30)}} })},
		"a negative time or number":                             {whole(func(e *load.Ending) { e.MaxInFlight = -5 })},
		"the worker was lost":                                   {},
		"malformed part of a history":                           {{historyMark}},
		"the history is damaged":                                {{historyMark, 0, 0, 9}},
		"of loop 2000":                                          {encodeHistory(2000, time.Now(), blockOf(history.Op{}))},
		"that its load cannot contain":                          {encodeHistory(0, time.Now(), blockOf(history.Op{Key: 7}))},
		"the store said so":                                     {encoded(message{Reply: &reply{Error: "the store said so"}})},
		load.ErrNoWindow.Error():                                {encoded(message{Reply: errorReply(load.ErrNoWindow)})},
	} {
		w := scripted(t, func(s Stream) {
			_ = s.Send(ok) // reply to Prepare
			_, _ = s.Receive()
			_ = s.Send(ok) // reply to Connect
			_, _ = s.Receive()
			drain(s)
			for _, b := range script {
				_ = s.Send(b)
			}
			if len(script) == 0 {
				_ = s.Close()
			}
		})
		half := &load.Assignment{Load: scenario.Load{Total: 100, Duration: 2 * time.Second, Timeout: 10 * time.Second, Connections: 2, Clients: 20, KeySpace: 5}, Shard: load.Shard{I: 1, N: 2}}
		job, err := w.Prepare(t.Context(), half, load.Reports{NewRecorder: forgetful})
		if err != nil {
			t.Fatal(err)
		}
		_, err = load.RunJob(t.Context(), job)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want an error with %q: %v", want, err)
		}
		if want == load.ErrNoWindow.Error() && !errors.Is(err, load.ErrNoWindow) {
			t.Errorf("%v is not ErrNoWindow", err)
		}
	}
}

// When a worker reads keys back, it may report only reads of its load's keys, and only reads that
// took place after the load.
func TestCutsOffAWorkerWithImpossibleReads(t *testing.T) {
	last := history.Op{Kind: kv.Get, Final: true}
	for want, script := range map[string][][]byte{
		"of loop 2000":                                  {encodeHistory(2000, time.Now(), blockOf(last))},
		"that its load cannot contain":                  {encodeHistory(0, time.Now(), blockOf(history.Op{Kind: kv.Get}))},
		"its load cannot":                               {encodeHistory(0, time.Now(), blockOf(history.Op{Kind: kv.Put, Final: true}))},
		"an operation that":                             {encodeHistory(0, time.Now(), blockOf(history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Final: true}))},
		"reports an operation":                          {encodeHistory(0, time.Now(), blockOf(history.Op{Kind: kv.Delete}))},
		"malformed part":                                {{historyMark}},
		"neither a message":                             {{'?'}},
		"found 6 keys, but its load has at most 5 keys": {encodeHistory(0, time.Now(), blockOf(last)), encoded(message{Reply: &reply{Found: 6}})},
		"found 7 keys, but its load has at most 5 keys": {encodeHistory(0, time.Now(), blockOf(history.PossibleDelete(4, 0, 0, 9))), encoded(message{Reply: &reply{Found: 7}})},
		"more reads than":                               slices.Repeat([][]byte{encodeHistory(0, time.Now(), blockOf(history.PossibleDelete(4, 0, 0, 9)))}, 5*maxRounds+1),
		"does not respond":                              {encodeHistory(0, time.Now(), blockOf(last))},
	} {
		w := scripted(t, func(s Stream) {
			for _, b := range script {
				_ = s.Send(b)
			}
			_ = s.Close()
		})
		a := &load.Assignment{Load: scenario.Load{KeySpace: 5}}
		_, err := w.ReadBack(t.Context(), a, kv.Linearizable, forgetful)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q: %v", want, err)
		}
	}
}

func forgetful(time.Time, time.Duration) *history.Recorder {
	return &history.Recorder{Take: history.NewBlock, Deliver: func(*history.Block) {}}
}

func blockOf(o history.Op) *history.Block {
	b := history.NewBlock()
	b.Append(&o)
	return b
}

// A call ends when its context ends, even if the worker sends nothing.
func TestCallEndsWithItsContext(t *testing.T) {
	why := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := scripted(t, func(Stream) { cancel(why) })
	if _, err := w.Check(ctx, &load.Assignment{}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// A job's Connect returns when its context ends, even if the worker sends nothing.
func TestConnectingEndsWithItsContext(t *testing.T) {
	why := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := scripted(t, func(s Stream) {
		_ = s.Send(encoded(message{Reply: &reply{}})) // reply to Prepare
		_, _ = s.Receive()
		cancel(why)
	})
	job, err := w.Prepare(t.Context(), &load.Assignment{}, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Connect(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// talkative is a worker whose loads send more than `limit` bytes of reports.
type talkative struct {
	load.Worker
	limit int
}

func (w talkative) Prepare(_ context.Context, _ *load.Assignment, to load.Reports) (load.Job, error) {
	s := &measure.Second{}
	h := measure.NewHistogram()
	for i := range int64(30_000) {
		measure.Record(h, i*i)
	}
	for i := range uint64(100) {
		s.Cells = append(s.Cells, &measure.Cell{Series: measure.Series{Member: i}, Response: h})
	}
	for range w.limit/len(encodeSecond(s)) + 2 {
		to.Second(s)
	}
	return silent{}, nil
}

type silent struct{ load.Job }

func (silent) Close() {}

// Serve returns even if the other side receives nothing and keeps the stream open.
func TestServeEndsIfTheOtherSideReceivesNothing(t *testing.T) {
	const limit = 1 << 20
	here, there := net.Pipe()
	defer func() { _ = here.Close() }()
	ended := make(chan struct{})
	go func() {
		_ = serve(context.Background(), NewFramed(there), talkative{limit: limit}, limit) // the error is not tested
		close(ended)
	}()
	if err := NewFramed(here).Send(encoded(message{Call: prepare})); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// refusing is a worker that supports only Clock.
type refusing struct{ load.Worker }

func (refusing) Clock(ctx context.Context) (time.Time, error) {
	<-ctx.Done()
	return time.Time{}, ctx.Err()
}

// A call ends when the other side closes the stream.
func TestServeEndsWithTheStream(t *testing.T) {
	here, there := net.Pipe()
	ended := make(chan struct{})
	serve := func(c net.Conn) {
		_ = Serve(context.Background(), NewFramed(c), refusing{})
		ended <- struct{}{}
	}
	go serve(there)
	if err := NewFramed(here).Send(encoded(message{Call: clock})); err != nil {
		t.Fatal(err)
	}
	_ = here.Close()
	<-ended
	for _, first := range [][]byte{encoded(message{Call: "run a command"}), encoded(message{Call: writeVersions})} {
		here, there = net.Pipe()
		go serve(there)
		s := NewFramed(here)
		if err := s.Send(first); err != nil {
			t.Fatal(err)
		}
		m, err := receive(s, nil)
		if err != nil || m.Reply == nil || m.Reply.Error == "" {
			t.Errorf("%s: %+v, %v", first, m, err)
		}
		<-ended
	}
}

// claiming is a stream whose messages announce more bytes than they contain.
type claiming struct{ io.Reader }

func (claiming) Write(p []byte) (int, error) { return len(p), nil }
func (claiming) Close() error                { return nil }

func TestMessagesAreBounded(t *testing.T) {
	for want, b := range map[string]string{"exceeds the limit of": "\xff\xff\xff\xff", "unexpected EOF": "\x03\x00\x00\x00abc"} {
		if _, err := NewFramed(claiming{strings.NewReader(b)}).Receive(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	a := &load.Assignment{}
	a.Load.Prefix = "\xff"
	if _, err := New(nil).Check(t.Context(), a); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a prefix that JSON would change: %v", err)
	}
	if err := NewFramed(claiming{}).Send(make([]byte, MaxMessage+1)); err == nil {
		t.Error("a message over the limit was sent")
	}
	if _, err := NewFramed(claiming{strings.NewReader("")}).Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// Every message from another machine is either decoded or refused. If an ending is accepted, it can
// be merged.
func FuzzDecode(f *testing.F) {
	f.Add(second(3))
	f.Add(encoded(message{Call: prepare, Assignment: &load.Assignment{Store: "etcd"}}))
	f.Add(encoded(message{Ending: encodeEnding(load.Ending{Loops: 1, Opened: time.Unix(1e9, 0), Watching: &measure.WatchTotals{Created: measure.NewHistogram()}})}))
	f.Add([]byte(`m{"answer":{"loops":3},"mark":{"Phase":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all := load.NewMerger(&load.Assignment{}, 1, func(*measure.Second) {}, nil)
		var m *message
		if second, ok := cutSecond(b); ok {
			_ = (&measure.Reader{}).Read(bytes.Clone(second), func(s *measure.Second) error {
				all.Add(0, s)
				return nil
			})
		} else if got, err := decode(bytes.Clone(b)); err == nil {
			m = got
		}
		all.End(0)
		if m != nil && m.Ending != nil {
			if e, err := m.Ending.decode(); err == nil {
				all.Merge(e)
				_, _ = all.Result()
			}
		}
	})
}
