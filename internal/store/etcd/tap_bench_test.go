package etcd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// speaker encodes one side of a connection in the same way as the gRPC library.
type speaker struct {
	enc  *hpack.Encoder
	head bytes.Buffer
	out  []byte
}

func newSpeaker() *speaker {
	s := &speaker{}
	s.enc = hpack.NewEncoder(&s.head)
	return s
}

func (s *speaker) frame(kind, flags byte, stream uint32, p []byte) {
	s.out = append(s.out, byte(len(p)>>16), byte(len(p)>>8), byte(len(p)), kind, flags)
	s.out = binary.BigEndian.AppendUint32(s.out, stream)
	s.out = append(s.out, p...)
}

func (s *speaker) headers(stream uint32, ends bool, fields ...string) {
	s.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = s.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	flags := byte(h2.FlagEndHeaders)
	if ends {
		flags |= h2.FlagEndStream
	}
	s.frame(h2.FrameHeaders, flags, stream, s.head.Bytes())
}

func (s *speaker) data(b *testing.B, stream uint32, ends bool, m proto.Message) {
	body, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	flags := byte(0)
	if ends {
		flags = h2.FlagEndStream
	}
	s.frame(h2.FrameData, flags, stream, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
}

// BenchmarkTap measures how long it takes to decode and record one call. Three of every ten calls
// write a value of 256 bytes, and the others are local reads of these values.
func BenchmarkTap(b *testing.B) {
	const calls = 10
	client, server := newSpeaker(), newSpeaker()
	stream := uint32(1)
	var asks, answers [calls][2][]byte // the stream IDs are set when the bytes are fed
	for round := range 2 {             // in the second round, HPACK's tables no longer change
		for i := range calls {
			client.out, server.out = nil, nil
			method, key := methodRange, []byte(fmt.Sprintf("bench/%08d", i))
			value := bytes.Repeat([]byte{'v'}, 256)
			if i < 3 {
				method = methodPut
			}
			client.headers(stream, false, ":method", "POST", ":scheme", "http", ":path", "/etcdserverpb."+method, ":authority", "127.0.0.1:2379",
				"content-type", "application/grpc", "user-agent", "grpc-go/1.83.2", "te", "trailers")
			server.headers(stream, false, ":status", "200", "content-type", "application/grpc")
			header := &etcdserverpb.ResponseHeader{ClusterId: 1 << 60, MemberId: 1 << 61, Revision: 123456, RaftTerm: 3}
			if method == methodPut {
				client.data(b, stream, true, &etcdserverpb.PutRequest{Key: key, Value: value})
				server.data(b, stream, false, &etcdserverpb.PutResponse{Header: header})
			} else {
				client.data(b, stream, true, &etcdserverpb.RangeRequest{Key: key, Serializable: true})
				server.data(b, stream, false, &etcdserverpb.RangeResponse{Header: header, Count: 1, Kvs: []*mvccpb.KeyValue{{Key: key, Value: value, CreateRevision: 5, ModRevision: 6, Version: 7}}})
			}
			server.headers(stream, true, "grpc-status", "0", "grpc-message", "")
			asks[i][round], answers[i][round] = client.out, server.out
			stream += 2
		}
	}
	w, err := call.CreateRecording(b.TempDir()+"/a.qbrec", &call.Header{Store: "etcd"})
	if err != nil {
		b.Fatal(err)
	}
	heard := 0
	tap := New().Tap(store.TapConfig{
		Conn: 1, Redactor: call.NewRedactor(),
		Call: func(c *call.Call) { heard++; w.Call(c) }, Gap: func(g call.Gap) { b.Fatal(g.Reason) },
	})
	feed := func(ofClient bool, at int64, p []byte) {
		if err := tap.Feed(ofClient, at, p); err != nil {
			b.Fatal(err)
		}
	}
	feed(true, 0, []byte(h2.Preface))
	at := int64(0)
	one := func(i, round int) {
		at += 200_000
		feed(true, at, asks[i][round])
		feed(false, at+100_000, answers[i][round])
	}
	for i := range calls {
		one(i, 0)
	}
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		one(n%calls, 1)
		n++
	}
	b.StopTimer()
	if heard != n+calls {
		b.Fatalf("%d of %d calls were decoded", heard, n+calls)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
