package nullserver

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// floodConn sends one request repeatedly and counts the responses. It does not allocate memory.
type floodConn struct {
	c       *rawClient
	batch   []byte // a batch of batchSize requests
	length  int    // length of one request in bytes
	headers int    // offset of the second frame in a request
	in      []byte
	held    int
}

const batchSize = 100

func newFloodConn(b *testing.B, address, path string, m proto.Message) *floodConn {
	h := &floodConn{c: dial(b, address, h2.Setting{ID: h2.SettingInitialWindowSize, Value: h2.MaxWindow}), in: make([]byte, 256<<10)}
	_ = h.c.net.SetDeadline(time.Time{})
	// The first request adds entries to the HPACK table; later requests refer to them.
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	body := grpcMessage(m)
	for range 2 {
		block.Reset()
		for _, f := range fields(path) {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // writing to a buffer cannot fail
		}
		if h.c.next == 1 {
			h.c.request(block.Bytes(), body)
			h.c.sync()
		}
	}
	head := block.Bytes()
	h.headers = h2.FrameHeaderLen + len(head)
	for range batchSize {
		h.batch = h2.AppendFrameHeader(h.batch, len(head), h2.FrameHeaders, h2.FlagEndHeaders, 0)
		h.batch = append(h.batch, head...)
		h.batch = h2.AppendFrameHeader(h.batch, len(body), h2.FrameData, h2.FlagEndStream, 0)
		h.batch = append(h.batch, body...)
	}
	h.length = len(h.batch) / batchSize
	return h
}

// send sends n requests. n must be at most batchSize.
func (h *floodConn) send(n int) error {
	for i := range n {
		at := i * h.length
		binary.BigEndian.PutUint32(h.batch[at+5:], h.c.next)
		binary.BigEndian.PutUint32(h.batch[at+h.headers+5:], h.c.next)
		h.c.next += 2
	}
	_, err := h.c.net.Write(h.batch[:n*h.length])
	return err
}

// receive reads from the connection once and returns how many responses this read completed.
func (h *floodConn) receive() (ended int, err error) {
	n, err := h.c.net.Read(h.in[h.held:])
	if err != nil {
		return 0, err
	}
	h.held += n
	at := 0
	for h.held-at >= h2.FrameHeaderLen {
		f := h2.ParseFrameHeader(h.in[at:])
		if h.held-at < h2.FrameHeaderLen+f.Length {
			break
		}
		if f.Type == h2.FrameHeaders && f.Flags&h2.FlagEndStream != 0 {
			ended++
		}
		if f.Type == h2.FrameGoAway {
			return ended, io.ErrUnexpectedEOF
		}
		at += h2.FrameHeaderLen + f.Length
	}
	h.held = copy(h.in, h.in[at:h.held])
	return ended, nil
}

// run keeps inFlight requests in flight until n requests have been answered.
func (h *floodConn) run(b *testing.B, n, inFlight int) {
	sent, ended := 0, 0
	for ended < n {
		if k := min(n-sent, batchSize, inFlight-(sent-ended)); k > 0 && (k >= min(batchSize, inFlight) || n-sent <= k) {
			if err := h.send(k); err != nil {
				b.Error(err)
				return
			}
			sent += k
			continue
		}
		k, err := h.receive()
		if err != nil {
			b.Error(err)
			return
		}
		ended += k
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkServe(b *testing.B, o store.NullOptions, connections, inFlight int, path string, m proto.Message) {
	address := start(b, 1, o, nil)[0]
	setup := dial(b, address)
	setup.put("12345678", string(make([]byte, 256)))
	setup.sync()
	conns := make([]*floodConn, connections)
	for i := range conns {
		conns[i] = newFloodConn(b, address, path, m)
		conns[i].run(b, 2*inFlight, inFlight)
	}
	b.ReportAllocs()
	b.ResetTimer()
	used := cpu()
	var wg sync.WaitGroup
	for _, h := range conns {
		wg.Go(func() { h.run(b, (b.N+connections-1)/connections, inFlight) })
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(cpu()-used)/float64(b.N), "cpu-ns/op") // client and server together
}

var benchRange = &pb.RangeRequest{Key: []byte("12345678"), Serializable: true}

// BenchmarkServeRange keeps 1,000 requests in flight on one connection. The reported allocations
// include those of the client.
func BenchmarkServeRange(b *testing.B) {
	benchmarkServe(b, store.NullOptions{Memory: true}, 1, 1000, pathRange, benchRange)
}

func BenchmarkServeRangeNoMemory(b *testing.B) {
	benchmarkServe(b, store.NullOptions{ValueSize: 256}, 1, 1000, pathRange, benchRange)
}

func BenchmarkServeRange100x10(b *testing.B) {
	benchmarkServe(b, store.NullOptions{Memory: true}, 100, 10, pathRange, benchRange)
}

func BenchmarkServeRangeScripted(b *testing.B) {
	benchmarkServe(b, options("error=unavailable every 1000"), 1, 1000, pathRange, benchRange)
}

func BenchmarkServeRangeDelayed(b *testing.B) {
	benchmarkServe(b, options("delay=1ms"), 1, 1000, pathRange, benchRange)
}

func BenchmarkServePut(b *testing.B) {
	benchmarkServe(b, store.NullOptions{Memory: true}, 1, 1000, pathPut, &pb.PutRequest{Key: []byte("12345678"), Value: make([]byte, 256)})
}

func BenchmarkServeCAS(b *testing.B) {
	put := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("12345678"), Value: make([]byte, 256)}}}
	benchmarkServe(b, store.NullOptions{Memory: true}, 1, 1000, "/etcdserverpb.KV/Txn", &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: []byte("12345678"), Target: pb.Compare_MOD, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_ModRevision{}}},
		Success: []*pb.RequestOp{put},
	})
}

// BenchmarkDelayPrecision measures how late delayed responses are. Each of 16 connections has
// one request in flight, whose response is delayed by 1 ms. That is about 15,000 requests per
// second in total.
func BenchmarkDelayPrecision(b *testing.B) {
	const delay, connections = time.Millisecond, 16
	address := start(b, 1, options("delay=1ms"), nil)[0]
	late := make([][]time.Duration, connections)
	var wg sync.WaitGroup
	var conns []*floodConn
	for range connections {
		conns = append(conns, newFloodConn(b, address, pathRange, benchRange))
	}
	b.ResetTimer()
	for i, h := range conns {
		wg.Go(func() {
			for range (b.N + connections - 1) / connections {
				begin := time.Now()
				h.run(b, 1, 1)
				late[i] = append(late[i], time.Since(begin)-delay)
			}
		})
	}
	wg.Wait()
	all := slices.Concat(late...)
	slices.Sort(all)
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50-µs-late", 0.5}, {"p99-µs-late", 0.99}, {"p99.9-µs-late", 0.999}} {
		b.ReportMetric(float64(all[int(p.of*float64(len(all)-1))].Nanoseconds())/1000, p.name)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
