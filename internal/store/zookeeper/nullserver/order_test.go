package nullserver

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// TestAnswersKeepTheirOrder uses a controlled clock to check that each reply waits for the previous
// reply, and that a reply without its own delay waits for nothing else.
func TestAnswersKeepTheirOrder(t *testing.T) {
	const delay = int64(60 * time.Millisecond)
	here, there := net.Pipe() // the test calls step instead of writing to the pipe
	defer func() { _, _ = here.Close(), there.Close() }()
	c := prepared(t, store.NullOptions{Memory: true, Script: "delay=60ms every 2"}).open(here, 0)
	client := jute.NewConn(jute.Config{Timeout: 30_000})
	const began = int64(1_000_000)
	ask := func() {
		t.Helper()
		for in := client.Out(); len(in) > 0; {
			n := c.step(in, began)
			if n == 0 {
				t.Fatalf("the server accepted none of the %d bytes", len(in))
			}
			in = in[n:]
		}
		client.Wrote(len(client.Out()))
	}
	// arrived releases the replies that are due at the given time and returns their tags.
	arrived := func(at int64) (tags []uint32) {
		t.Helper()
		c.scheduled = false
		c.release(at)
		replies, err := client.Feed(c.out)
		if err != nil {
			t.Fatal(err)
		}
		c.out = c.out[:0]
		for _, r := range replies {
			tags = append(tags, r.Tag)
		}
		return tags
	}
	ask()
	if tags := arrived(began); len(tags) > 0 || !client.Ready() {
		t.Fatalf("the session is not established, or operations have completed: %v", tags)
	}
	for tag := uint32(1); tag <= 4; tag++ {
		client.GetData(jute.Call{Tag: tag}, jute.Path{Rest: []byte("/k")}, false)
	}
	ask()
	for _, at := range []struct {
		time int64
		want []uint32
	}{{began, []uint32{1}}, {began + delay - 1, nil}, {began + delay, []uint32{2, 3, 4}}, {began + 2*delay, nil}} {
		if got := arrived(at.time); !slices.Equal(got, at.want) {
			t.Errorf("after %d ns the operations %v have completed, want %v", at.time-began, got, at.want)
		}
	}
}
