package nullserver

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// conversation returns the bytes that a plausible client sends on a connection.
func conversation(settings []h2.Setting, calls ...func(*rawClient)) []byte {
	c := &rawClient{next: 1}
	c.out = append(c.out, h2.Preface...)
	c.out = h2.AppendSettings(c.out, settings...)
	for _, call := range calls {
		call(c)
	}
	return c.out
}

func request(path string, m proto.Message) func(*rawClient) {
	return func(c *rawClient) { c.call(path, m) }
}

// FuzzServerInput checks that for any input from a client the server does not panic, does not
// consume more than the input, and keeps only a limited amount of state.
func FuzzServerInput(f *testing.F) {
	key := []byte("key")
	put := &pb.PutRequest{Key: key, Value: []byte("value"), PrevKv: true}
	get := &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, Limit: 3, SortTarget: 2, SortOrder: 2}
	txn := &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: key, Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: 2}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: get}}},
	}
	f.Add(uint8(0), conversation(nil, request(pathPut, put), request(pathRange, get),
		request("/etcdserverpb.KV/Txn", txn), request("/etcdserverpb.KV/DeleteRange", &pb.DeleteRangeRequest{Key: key, PrevKv: true}),
		request("/etcdserverpb.Maintenance/Status", &pb.StatusRequest{}), request("/etcdserverpb.Watch/Watch", put)))
	f.Add(uint8(1), conversation([]h2.Setting{{ID: h2.SettingInitialWindowSize, Value: 7}}, request(pathPut, put), request(pathRange, get),
		func(c *rawClient) {
			c.out = h2.AppendWindowUpdate(c.out, 3, 9)
			c.out = h2.AppendRSTStream(c.out, 1, h2.ErrCodeCancel)
			c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingHeaderTableSize}, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 1 << 20})
			c.out = h2.AppendPing(c.out, 0, []byte("are you?"))
		}, request(pathRange, get)))
	f.Add(uint8(2), []byte("GET /metrics HTTP/1.1\r\n\r\n"))
	scripts := [...]string{
		"", "delay=1ms; error=no_leader every 3; never every 4; wrong=value every 5; reset=refused every 7",
		"goaway every 3; wrong=key every 2; huge=frame every 5; huge=message every 7; half every 9; delay=1ms every 2",
	}
	f.Fuzz(func(t *testing.T, choice uint8, in []byte) {
		script, err := null.Parse(scripts[int(choice)%len(scripts)], errorNames())
		if err != nil {
			t.Fatal(err)
		}
		m := &member{identity: newIdentity(1), backend: newMemory(nil, 0, nil), members: []string{"http://127.0.0.1:1"}, errors: scriptErrors()}
		s := newSession(m, script)
		if !script.Immediate() {
			run := null.NewRun(script)
			s.arrive = func(now int64) (null.Action, int64) {
				a, due, _ := run.Arrive(now, 1)
				return a, due
			}
		}
		for {
			n, err := s.step(in)
			if n < 0 || n > len(in) {
				t.Fatalf("%d of %d bytes consumed", n, len(in))
			}
			if err != nil || n == 0 {
				break
			}
			in = in[n:]
			s.now++
			if len(s.later) > 3 {
				s.fireAll()
			}
			if s.open < 0 {
				t.Fatalf("%d requests are open", s.open)
			}
		}
		s.fireAll()
	})
}

// fireAll sends all scheduled replies at once.
func (s *session) fireAll() {
	for _, it := range s.later {
		if !s.closing {
			s.sendReply(it.Value)
		}
	}
	s.later = s.later[:0]
}
