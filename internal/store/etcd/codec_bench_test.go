package etcd

import (
	"bytes"
	"encoding/binary"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// cannedAnswers returns encoded replies from a gRPC server. first is one reply with the header
// blocks of the first reply on a connection. later contains n replies with the header blocks of
// later replies. The caller must set the stream IDs with patch.
func cannedAnswers(b *testing.B, n int, m proto.Message) (first, later []byte) {
	b.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
	message = append(message, body...)
	var out, block bytes.Buffer
	framer, encoder := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	headers := func(end bool, fields ...string) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end,
		})
	}
	answer := func() {
		headers(false, ":status", "200", "content-type", "application/grpc")
		_ = framer.WriteData(1, false, message)
		headers(true, "grpc-status", "0", "grpc-message", "")
	}
	answer()
	first = bytes.Clone(out.Bytes())
	out.Reset()
	for range n {
		answer()
	}
	return first, out.Bytes()
}

// patch writes stream IDs into canned replies, each of which has three frames. The first reply gets
// the ID in the parameter `id`, and each further reply gets the next odd number.
func patch(p []byte, id uint32) {
	for frame := 0; len(p) > 0; frame++ {
		h := h2.ParseFrameHeader(p)
		binary.BigEndian.PutUint32(p[5:], id)
		if frame%3 == 2 {
			id += 2
		}
		p = p[h2.FrameHeaderLen+h.Length:]
	}
}

func benchmark(b *testing.B, op store.Op, m proto.Message) {
	const batch = 10
	c := newCodec(h2.Config{Authority: "127.0.0.1:2379"}, nil, 0)
	first, later := cannedAnswers(b, batch, m)
	var events []store.Event
	var err error
	feed := func(p []byte) {
		if events, err = c.Feed(p, events[:0]); err != nil {
			b.Fatal(err)
		}
	}
	feed(h2.AppendSettings(nil))
	c.Submit(&op)
	c.Wrote(len(c.Out()))
	feed(first)
	id := uint32(3)
	b.ReportAllocs()
	b.SetBytes(int64(len(later) / batch))
	b.ResetTimer()
	feed(h2.AppendWindowUpdate(nil, 0, 1<<30))
	window, written := make([]byte, 0, 16), 0
	for n := 0; n < b.N; n += batch {
		for i := range batch {
			op.Tag = uint32(n + i)
			c.Submit(&op)
		}
		patch(later, id) // takes about 5 ns per operation, in addition to the codec's time
		id += 2 * batch
		written += len(c.Out())
		c.Wrote(len(c.Out()))
		if n%(1000*batch) == 0 {
			feed(h2.AppendWindowUpdate(window[:0], 0, uint32(written)))
			written = 0
		}
		feed(later)
		if len(events) != batch || events[batch-1].Outcome != kv.OK {
			b.Fatalf("%d events, the first %+v", len(events), events[0])
		}
	}
}

var (
	benchKey    = []byte("/bench/k")
	benchValue  = bytes.Repeat([]byte("v"), 256)
	benchHeader = &pb.ResponseHeader{
		ClusterId: 0xcdf818194e3a8c32, MemberId: 0x8e9e05c52164694d, Revision: 123456, RaftTerm: 7,
	}
)

func BenchmarkRange(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Get, Consistency: kv.Local, Key: benchKey}, &pb.RangeResponse{
		Header: benchHeader, Count: 1,
		Kvs: []*mvccpb.KeyValue{{Key: benchKey, CreateRevision: 1000, ModRevision: 123000, Version: 12, Value: benchValue}},
	})
}

func BenchmarkPut(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Put, Key: benchKey, Value: benchValue}, &pb.PutResponse{Header: benchHeader})
}

func BenchmarkCAS(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.CAS, Key: benchKey, Value: benchValue, Revision: 123000}, &pb.TxnResponse{
		Header: benchHeader, Succeeded: true,
		Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{
			Header: &pb.ResponseHeader{Revision: 123457}}}}},
	})
}
