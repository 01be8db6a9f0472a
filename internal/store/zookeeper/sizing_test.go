package zookeeper

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// TestRequestSizeAdvice checks that the limit jute.maxbuffer applies to the whole request.
func TestRequestSizeAdvice(t *testing.T) {
	settings, err := json.Marshal(&Settings{MaxBuffer: 2000})
	if err != nil {
		t.Fatal(err)
	}
	const keySize = 20
	for _, c := range []struct {
		settings json.RawMessage
		limit    int
	}{{nil, jute.DefaultMaxBuffer}, {settings, 2000}} {
		for size, want := range map[int]bool{c.limit - keySize - 20: false, c.limit - keySize - 19: true} {
			_, advice, err := New().Size(store.SizingInput{Settings: c.settings, Keys: 10, KeySize: keySize, ValueSize: size})
			if err != nil {
				t.Fatal(err)
			}
			got := false
			for _, a := range advice {
				got = got || strings.Contains(a.Text, "jute.maxbuffer")
			}
			if got != want {
				t.Errorf("limit %d, values of %d bytes: the advice mentions jute.maxbuffer: %v, want %v", c.limit, size, got, want)
			}
		}
	}
}
