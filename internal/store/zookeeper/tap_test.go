package zookeeper

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// TestTapSessionTimeout checks that the decoder rounds the requested session timeout up to seconds.
func TestTapSessionTimeout(t *testing.T) {
	for timeout, want := range map[int32]int64{1000: 1, 1001: 2, math.MaxInt32: 2147484} {
		var got []int64
		tap := NewTap(store.TapConfig{Conn: 1, Redactor: &call.Redactor{}, Call: func(c *call.Call) { got = append(got, c.Parts[0].Number) }})
		if err := tap.Feed(true, 1, jute.NewConn(jute.Config{Timeout: timeout}).Out()); err != nil {
			t.Fatal(err)
		}
		if tap.End(2); len(got) != 1 || got[0] != want {
			t.Errorf("the recorded timeouts for a request of %d ms are %d, want [%d]", timeout, got, want)
		}
	}
}
