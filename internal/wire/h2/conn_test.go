package h2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

func TestGreeting(t *testing.T) {
	s := newServer(t, Config{})
	s.read()
	if s.settings[http2.SettingInitialWindowSize] != MaxWindow || s.updates != MaxWindow-DefaultWindow {
		t.Errorf("the settings are %v, and the connection's window was increased by %d", s.settings, s.updates)
	}
	if push, ok := s.settings[http2.SettingEnablePush]; !ok || push != 0 {
		t.Error("push was not turned off")
	}
	if s.c.SettingsReceived() || s.c.Room() != 100 {
		t.Errorf("before SETTINGS: SettingsReceived %v, room %d", s.c.SettingsReceived(), s.c.Room())
	}
	s.sendSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7})
	s.mustFeed()
	s.read()
	if !s.c.SettingsReceived() || s.acks != 1 || s.c.Room() != 7 {
		t.Errorf("after SETTINGS: SettingsReceived %v, %d acks, room %d", s.c.SettingsReceived(), s.acks, s.c.Room())
	}
}

func TestCall(t *testing.T) {
	s := greet(t, Config{Authority: "example.com:2379", TLS: true})
	want := map[string]string{
		":method": "POST", ":scheme": "https", ":path": testPath, ":authority": "example.com:2379",
		"te": "trailers", "content-type": "application/grpc",
	}
	for i, message := range []string{"", "x", strings.Repeat("y", 1000)} {
		s.call(uint32(i), []byte(message))
		s.read()
		r := s.requests[s.order[i]]
		if fmt.Sprint(r.fields) != fmt.Sprint(want) {
			t.Errorf("call %d has headers %v", i, r.fields)
		}
		if !r.ended || !bytes.Equal(r.body, prefixed([]byte(message))) {
			t.Errorf("call %d has body %q, ended: %v", i, r.body, r.ended)
		}
		if i > 0 && r.block > 6 {
			t.Errorf("call %d has %d bytes of headers", i, r.block)
		}
	}
	s.answer(s.order[1], []byte("the answer"))
	r := onlyReply(t, s.mustFeed(), 1)
	if r.End != Answered || r.Code != StatusOK || string(r.Body) != "the answer" {
		t.Errorf("reply %+v", r)
	}
}

func TestMetadata(t *testing.T) {
	s := greet(t, Config{})
	bare := s.c.Register("/test.Service/Bare", false)
	for i := range 200 { // enough to replace all entries of the header table
		token := fmt.Sprintf("token-%d", i)
		if err := s.c.SetMetadata("token", token); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.call(1, nil)
			s.read()
			r := s.requests[s.order[len(s.order)-1]]
			if r.fields["token"] != token || r.fields[":path"] != testPath || len(r.fields) != 7 {
				t.Fatalf("headers %v, want %s", r.fields, token)
			}
		}
		s.c.Call(bare, 1, 1, 0)
		s.read()
		if r := s.requests[s.order[len(s.order)-1]]; len(r.fields) != 6 || r.fields[":path"] != "/test.Service/Bare" {
			t.Fatalf("headers without metadata %v", r.fields)
		}
	}
	if s.c.SetMetadata("token", strings.Repeat("x", 1<<14)) == nil {
		t.Error("a huge header was accepted")
	}
}

func TestHeaderTableSize(t *testing.T) {
	for _, sizes := range [][]uint32{{0}, {100}, {1500}, {65536}, {0, 4096}, {200, 1024, 0, 4096, 2000}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			s := greet(t, Config{})
			s.decoder.SetAllowedMaxDynamicTableSize(4096)
			blocks := 0
			use := func() {
				for i := range 20 {
					_ = s.c.SetMetadata("token", strings.Repeat("t", i*20))
					s.call(9, nil)
					s.read()
					r := s.requests[s.order[len(s.order)-1]]
					if len(r.fields) != 7 || len(r.fields["token"]) != i*20 {
						t.Fatalf("headers %v", r.fields)
					}
					blocks += r.block
				}
			}
			use()
			for _, size := range sizes {
				s.sendSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size})
			}
			s.mustFeed()
			s.decoder.SetAllowedMaxDynamicTableSize(sizes[len(sizes)-1])
			use()
		})
	}
}

func TestMaxConcurrentStreams(t *testing.T) {
	s := greet(t, Config{}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3})
	for i := range uint32(3) {
		s.call(i, nil)
	}
	if s.c.Room() != 0 || s.c.Open() != 3 {
		t.Fatalf("room %d with %d open", s.c.Room(), s.c.Open())
	}
	s.sendSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	s.answer(3, nil)
	s.mustFeed()
	if s.c.Room() != 0 {
		t.Fatalf("room is %d with 2 open streams and a limit of 1, want 0", s.c.Room())
	}
	s.answer(1, nil)
	s.answer(5, nil)
	s.mustFeed()
	if s.c.Room() != 1 {
		t.Fatalf("room is %d with no open streams and a limit of 1, want 1", s.c.Room())
	}
}

func TestStreamIDsUsedUp(t *testing.T) {
	s := greet(t, Config{FirstStream: LastStreamID - 8})
	calls, replies := 0, 0
	for ; s.c.Room() > 0; calls++ {
		if s.c.Draining() {
			t.Fatal("the connection is draining although it has room")
		}
		s.call(uint32(calls), nil)
	}
	s.read()
	if calls != 5 || !s.c.Draining() || len(s.order) != 5 {
		t.Fatalf("%d calls, %d arrived, draining: %v", calls, len(s.order), s.c.Draining())
	}
	for _, id := range s.order[1:] {
		s.answer(id, nil)
	}
	replies = len(s.mustFeed())
	if lost := s.c.Lost(); replies != 4 || len(lost) != 1 || lost[0].Tag != 0 || lost[0].End != Broken {
		t.Fatalf("%d replies, lost %+v", replies, lost)
	}
}

func TestLostReportsUnwrittenCalls(t *testing.T) {
	s := greet(t, Config{})
	var ends []int
	for i := range uint32(4) {
		s.call(i, []byte("message"))
		ends = append(ends, len(s.c.Out()))
	}
	s.c.Wrote(ends[0])
	s.c.Wrote(ends[2] - ends[0] - 1) // all but the last byte of call 2
	for i, r := range s.c.Lost() {
		want := Broken
		if i >= 2 {
			want = NotSent
		}
		if r.Tag != uint32(i) || r.End != want {
			t.Errorf("lost %+v, want call %d with end %d", r, i, want)
		}
	}
	if s.c.Open() != 0 || s.c.Room() != 0 || len(s.c.Lost()) != 0 {
		t.Error("Lost left open calls")
	}
}

// Every call must get exactly one reply, no matter in which order responses, cancellations and
// resets arrive, and even if some calls stay open for a long time.
func TestEveryCallEndsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := greet(t, Config{})
	open := map[uint32]uint32{} // maps a tag to a stream ID
	ended := map[uint32]bool{}
	tag := uint32(0)
	for range 20_000 {
		switch n := rng.IntN(100); {
		case n < 50 && len(open) < 300:
			id := s.c.next
			s.call(tag, []byte("x"))
			open[tag] = id
			tag++
		case n < 98:
			for some, id := range open { // pick a random call
				if id < 5 {
					continue // keep the first two calls open
				}
				delete(open, some)
				switch {
				case n < 80:
					s.answer(id, []byte{byte(some)})
				case n < 90:
					s.must(s.framer.WriteRSTStream(id, http2.ErrCodeInternal))
				default:
					s.c.Cancel(some)
					s.answer(id, nil)
					ended[some] = true
				}
				break
			}
		}
		if rng.IntN(4) == 0 {
			s.read()
			for _, r := range s.mustFeed() {
				if ended[r.Tag] {
					t.Fatalf("call %d ended twice", r.Tag)
				}
				ended[r.Tag] = true
				if r.End == Answered && r.Body[0] != byte(r.Tag) {
					t.Fatalf("call %d got %q", r.Tag, r.Body)
				}
			}
		}
	}
	s.mustFeed()
	if len(s.c.Lost()) != len(open) {
		t.Errorf("Lost did not return the %d calls that are open at the end", len(open))
	}
	if len(s.c.table) > 1024 {
		t.Errorf("the table has grown to %d", len(s.c.table))
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, size := range []int{100, 100_000} {
		s := greet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: MaxWindow})
		s.must(s.framer.WriteWindowUpdate(0, 1<<30))
		s.mustFeed()
		message := make([]byte, size)
		answers := [2][]byte{}
		ids := uint32(1)
		turn := 0
		prepare := func(i int) {
			for range 10 {
				s.answer(ids, message)
				ids += 2
			}
			answers[i] = bytes.Clone(s.out.Bytes())
			s.out.Reset()
		}
		round := func(in []byte) {
			for range 10 {
				s.call(1, message)
			}
			s.c.Wrote(len(s.c.Out()))
			for n := 0; len(in) > 0; in = in[n:] {
				n = min(len(in), 70_001)
				if _, err := s.c.Feed(in[:n]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 5 {
			prepare(0)
			round(answers[0])
		}
		prepare(0)
		prepare(1)
		if n := testing.AllocsPerRun(1, func() { round(answers[turn]); turn++ }); n != 0 {
			t.Errorf("%v allocations with messages of %d bytes", n, size)
		}
	}
}
