package etcd

import (
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// pageOf returns a page with numbered keys. The numbers range from first to end-1.
func pageOf(first, end int, more bool) *pb.RangeResponse {
	r := &pb.RangeResponse{Header: testHeader, More: more, Count: int64(end - first)}
	if more {
		r.Count += 1000
	}
	for i := first; i < end; i++ {
		r.Kvs = append(r.Kvs, &mvccpb.KeyValue{Key: fmt.Appendf(nil, "k%03d", i), ModRevision: 5, Version: 1, Value: []byte("v")})
	}
	return r
}

func scanServer(t *testing.T) *scripted {
	return greeted(t, newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"}))
}

func pagedOp(tag uint32) store.Op {
	return store.Op{Tag: tag, Kind: kv.Range, Key: []byte("k"), Consistency: kv.Local, Range: &store.RangeOp{End: []byte("l"), PageSize: 10, KeysOnly: true}}
}

// TestPageRequests checks the requests for pages. Each page starts after the last key of the
// previous page, is read at the first page's revision, and requests no more keys than the range's
// limit still allows.
func TestPageRequests(t *testing.T) {
	s := scanServer(t)
	op := pagedOp(7)
	op.Range.Limit = 25
	s.submit(op)
	clear(op.Key) // the codec must have copied the key
	for i, want := range []*pb.RangeRequest{
		{Key: []byte("k"), Limit: 10},
		{Key: []byte("k009\x00"), Limit: 10, Revision: testHeader.Revision},
		{Key: []byte("k019\x00"), Limit: 5, Revision: testHeader.Revision},
	} {
		want.RangeEnd, want.Serializable, want.KeysOnly = []byte("l"), true, true
		got := &pb.RangeRequest{}
		call := s.call("/etcdserverpb.KV/Range", got)
		if !proto.Equal(got, want) {
			t.Fatalf("page %d: %v, want %v", i, got, want)
		}
		s.answer(call.id, pageOf(10*i, 10*i+int(want.Limit), true))
		if i < 2 {
			if events := s.feed(); len(events) != 0 {
				t.Fatalf("page %d: %+v", i, events)
			}
		}
	}
	if e := s.event(7); e.Outcome != kv.OK || e.Count != 25 || e.ExtraRequests != 2 || string(e.Key) != "k000" || string(e.Value) != "v" || e.Member != testHeader.MemberId {
		t.Fatalf("%+v", e)
	}
}

// TestImpossiblePages checks that an impossible page ends the range with an error that explains
// the mistake.
func TestImpossiblePages(t *testing.T) {
	for what, page := range map[string]*pb.RangeResponse{
		"no key":       pageOf(0, 0, true),
		"an empty key": {Header: testHeader, More: true, Count: 9, Kvs: []*mvccpb.KeyValue{{}}},
		"going back":   {Header: testHeader, More: true, Count: 9, Kvs: []*mvccpb.KeyValue{{Key: []byte("a")}}},
	} {
		s := scanServer(t)
		s.submit(pagedOp(7))
		s.answer(s.call("/etcdserverpb.KV/Range", &pb.RangeRequest{}).id, page)
		if e := s.event(7); e.Outcome != kv.WrongResponse || len(e.Text) == 0 {
			t.Errorf("%s: %+v (%s)", what, e, e.Text)
		}
	}
}

// TestImpossibleStreams sends streams. A stream must be refused if it is incomplete, or if its
// number of keys contradicts its count field.
func TestImpossibleStreams(t *testing.T) {
	part := func(r *pb.RangeResponse, count int64) *pb.RangeStreamResponse {
		if r.Count = count; count < 0 {
			r.Count, r.Header = 0, nil
		}
		return &pb.RangeStreamResponse{RangeResponse: r}
	}
	for _, tc := range []struct {
		what  string
		parts []*pb.RangeStreamResponse
		want  kv.Outcome
		count int64
	}{
		{"whole", []*pb.RangeStreamResponse{part(pageOf(0, 10, false), -1), part(pageOf(10, 13, false), 13)}, kv.OK, 13},
		{"limited", []*pb.RangeStreamResponse{part(pageOf(0, 10, true), 50)}, kv.OK, 10},
		{"nothing", []*pb.RangeStreamResponse{part(pageOf(0, 0, false), 0)}, kv.OK, 0},
		{"too few", []*pb.RangeStreamResponse{part(pageOf(0, 10, false), 11)}, kv.WrongResponse, 0},
		{"too many", []*pb.RangeStreamResponse{part(pageOf(0, 10, true), 9)}, kv.WrongResponse, 0},
		{"cut off", []*pb.RangeStreamResponse{part(pageOf(0, 10, false), -1)}, kv.WrongResponse, 0},
		{"no part", nil, kv.WrongResponse, 0},
	} {
		s := scanServer(t)
		s.submit(store.Op{Tag: 7, Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l"), Streamed: true}})
		out := s.c.Out()
		s.c.Wrote(len(out))
		in := beginAnswer(1)
		for _, p := range tc.parts {
			in = append(in, onStream(1, encoded(t, p))...)
		}
		s.out.Write(in)
		s.headers(1, true, "grpc-status", "0")
		if e := s.event(7); e.Outcome != tc.want || e.Count != tc.count {
			t.Errorf("%s: %+v (%s)", tc.what, e, e.Text)
		}
	}
}

// TestPagesOnEndingConnection drains or closes a connection while ranges still have pages to
// request. It also checks that replies for abandoned ranges are skipped.
func TestPagesOnEndingConnection(t *testing.T) {
	s := scanServer(t)
	s.submit(pagedOp(7))
	call := s.call("/etcdserverpb.KV/Range", &pb.RangeRequest{})
	s.must(s.framer.WriteGoAway(call.id, http2.ErrCodeNo, nil))
	s.answer(call.id, pageOf(0, 10, true))
	if e := s.event(7); e.Outcome != kv.ConnectionLost || !strings.Contains(string(e.Text), "pages of the range are still missing") {
		t.Fatalf("%+v (%s)", e, e.Text)
	}

	s = scanServer(t)
	for tag := range uint32(2) {
		s.submit(pagedOp(7 + tag))
	}
	calls := s.calls()
	s.answer(calls[0].id, pageOf(0, 10, true))
	s.answer(calls[1].id, pageOf(0, 10, true))
	s.feed()
	s.calls()
	s.c.Cancel(7)
	lost := s.c.Lost(nil)
	if len(lost) != 1 || lost[0].Tag != 8 || lost[0].Outcome != kv.ConnectionLost {
		t.Fatalf("%+v", lost)
	}
}

// TestPagesDoNotAllocate checks that a range reuses the memory that an earlier range of the same
// size has allocated.
func TestPagesDoNotAllocate(t *testing.T) {
	c := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"}).(*codec)
	page, last := encoded(t, pageOf(0, 10, true)), encoded(t, pageOf(10, 15, false))
	var s scan
	read := func() {
		s = scan{memory: s.memory[:0], first: s.first[:0]}
		if !c.parsePage(page, &s) || !s.more || !c.parsePage(last, &s) || s.more || s.found.Count != 15 {
			t.Fatalf("%+v", s)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
