package load

import (
	"strings"
	"testing"
)

func TestDetectsOneServerUnderTwoNames(t *testing.T) {
	for _, endpoints := range [][]string{
		{"127.0.0.1:2379", "localhost:2379"}, {"localhost:2379", "127.0.0.1:2379"}, {"127.0.0.1:1", "[::ffff:127.0.0.1]:1"},
		{"10.0.0.1:1", "[2001:db8::1]:2", "[2001:db8:0:0::1]:2"},
	} {
		err := checkDistinct(t.Context(), endpoints)
		if err == nil || !strings.Contains(err.Error(), "are the same server") {
			t.Errorf("the endpoints %v are one server, but the error is %v", endpoints, err)
		}
	}
	for _, endpoints := range [][]string{
		{"127.0.0.1:2379"}, {"127.0.0.1:2379", "localhost:2380"}, {"127.0.0.1:2379", "127.0.0.2:2379"}, {"not an endpoint", "127.0.0.1:1"},
	} {
		if err := checkDistinct(t.Context(), endpoints); err != nil {
			t.Errorf("the endpoints %v are refused: %v", endpoints, err)
		}
	}
}
