package replay_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// relayedTo starts a relay that records to the file `path`, and a capture of the traffic between
// the clients and the relay. It calls `speak` with the relay's address. The relay and the capture
// must record the same calls.
func relayedTo(t *testing.T, st recorded, to, path string, redactor *call.Redactor, speak func(address string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	compare := captured(t, st, l.Addr().(*net.TCPAddr), redactor, began)
	w, err := call.CreateRecording(path, &call.Header{Store: st.Name(), Plain: redactor.Plain()})
	if err != nil {
		t.Fatal(err)
	}
	r := passive.NewRelay(passive.RelayConfig{
		MemberAddress: to, Tap: passive.TapConfig{Provider: st, Redactor: redactor, Sink: w}, ALPN: st.Capabilities().ALPN,
		Now: func() int64 { return int64(time.Since(began)) }, Notify: func(why string) { t.Log(why) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l) }()
	speak(l.Addr().String())
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	compare(path)
}

// captured starts a capture of the traffic to and from an address. It returns a function that ends
// the capture and compares the captured calls with a relay's recording.
func captured(t *testing.T, st store.TapProvider, at *net.TCPAddr, redactor *call.Redactor, began time.Time) (compare func(path string)) {
	t.Helper()
	packets, err := passive.Open(uint16(at.Port))
	if err != nil {
		t.Logf("the capture did not start: %v", err)
		return func(string) {}
	}
	path := filepath.Join(t.TempDir(), "captured.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: "captured", Plain: redactor.Plain()})
	if err != nil {
		t.Fatal(err)
	}
	c := passive.NewCapture(passive.CaptureConfig{Tap: passive.TapConfig{Provider: st, Redactor: redactor, Sink: w}, StartTime: began})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- c.Serve(ctx, packets) }()
	return func(relayed string) {
		t.Helper()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		got, want := connections(t, path), connections(t, relayed)
		if len(got) != len(want) {
			t.Errorf("%d connections captured, %d relayed", len(got), len(want))
		}
		for i := range min(len(got), len(want)) {
			sameCalls(t, got[i], want[i])
		}
	}
}

// connections returns the calls on each connection. The order of the connections depends only on
// the calls.
func connections(t *testing.T, path string) [][]*call.Call {
	t.Helper()
	of := map[uint32][]*call.Call{}
	_, problem, err := call.ReadRecording(path, func(one call.Record) error {
		if one.Gap != nil {
			t.Logf("%s: missing: %+v", filepath.Base(path), one.Gap)
			return nil
		}
		of[one.Call.Conn] = append(of[one.Call.Conn], one.Call)
		return nil
	})
	if err != nil || problem != "" {
		t.Fatal(err, problem)
	}
	// Connections that start at the same time may have different numbers in the two recordings.
	var all [][]*call.Call
	for _, calls := range of {
		all = append(all, calls)
	}
	slices.SortFunc(all, func(a, b []*call.Call) int { return strings.Compare(textOf(a...), textOf(b...)) })
	return all
}

// textOf describes calls, without their times and connections.
func textOf(calls ...*call.Call) string {
	var s strings.Builder
	for _, c := range calls {
		other := *c
		other.At, other.Duration, other.Conn = 0, min(c.Duration, 0), 0
		fmt.Fprintf(&s, "%+v\n", other)
	}
	return s.String()
}

// sameCalls compares the calls of one connection: those that the capture saw in front of the relay,
// and those that the relay recorded. The capture must see each request earlier than the relay does,
// and each response later.
func sameCalls(t *testing.T, got, want []*call.Call) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d calls captured, %d relayed:\n%s\n%s", len(got), len(want), textOf(got...), textOf(want...))
		return
	}
	for i, w := range want {
		g := got[i]
		if textOf(g) != textOf(w) {
			t.Errorf("captured\n%srelayed\n%s", textOf(g), textOf(w))
		}
		// The two clocks are read some microseconds apart.
		if apart := int64(50 * time.Microsecond); !w.Pushed && w.Answered() && (g.At > w.At+apart || g.At+g.Duration < w.At+w.Duration-apart) {
			t.Errorf("%s lasted from %d to %d in front of the relay, and from %d to %d in the relay", w.Method, g.At, g.At+g.Duration, w.At, w.At+w.Duration)
		}
	}
}
