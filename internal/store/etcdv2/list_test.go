package etcdv2

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func listOf(nodes string) string {
	return `{"action":"get","node":{"key":"/f","dir":true,"nodes":[` + nodes + `],"modifiedIndex":3,"createdIndex":3}}` + "\n"
}

func TestListsAreRead(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, tc := range []struct {
		name, list string
		want       []removal
	}{
		{"nothing", `{"action":"get","node":{"key":"/","dir":true}}`, nil},
		{"keys", listOf(`{"key":"/f/a","value":"v","modifiedIndex":4},{"key":"/f/ab","value":"{\"nodes\":[","ttl":5}`), []removal{{"/f/a", false, 1}, {"/f/ab", false, 1}}},
		{"others", listOf(`{"key":"/f/b","value":"v"},{"key":"/g","value":"v"},{"key":"f/a"},{"value":"/f/a"}`), nil},
		{"folders", listOf(`{"key":"/f/a","dir":true,"nodes":[{"key":"/f/a/1","value":""},{"key":"/f/a/d","dir":true,"nodes":[{"key":"/f/a/d/1"}]},{"key":"/f/a/e","dir":true}]}`),
			[]removal{{"/f/a", true, 2}}},
		{"another order", `{"node":{"nodes":[{"nodes":[{"key":"/f/a/1"}],"dir":true,"more":{"a":[1,{}]},"key":"/f/a"}]},"action":"get"}`, []removal{{"/f/a", true, 1}}},
		{"blanks", listOf(strings.Repeat(" \n", 1<<20) + `{"key":"/f/a"}`), []removal{{"/f/a", false, 1}}},
		{"a long value", listOf(`{"key":"/f/a","value":"` + strings.Repeat("v", maxPiece/2) + `"}`), []removal{{"/f/a", false, 1}}},
	} {
		p := page{prefix: "f/a"}
		if err := p.read(strings.NewReader(tc.list)); err != nil || p.full || !slices.Equal(p.removals, tc.want) {
			t.Errorf("%s: %+v, %v", tc.name, p, err)
		}
	}
}

func TestInvalidListsAreReported(t *testing.T) {
	settle.SkipUnderRace(t)
	for list, want := range map[string]string{
		"": "not a list", "[]": "not a list", "null": "not a list", `{"node":[]}`: "not a list", `{"node":{"nodes":{}}}`: "not a list",
		`{"node":{"nodes":[{"key":"/f/a"}`:                         "not a list",
		`{"node":{"nodes":[{"key":7}]}}`:                           "not a list",
		`{"node":{"nodes":["/f/a"]}}`:                              "not a list",
		listOf(strings.Repeat(`{"nodes":[`, 100_000)):              "not a list",
		strings.Repeat(" ", 2*maxPiece):                            "a value longer than the limit of 8388608 bytes",
		listOf(`{"key":"` + strings.Repeat("k", 2*maxPiece) + `"`): "a value longer than the limit of 8388608 bytes",
	} {
		p := page{prefix: "f/a"}
		if err := p.read(strings.NewReader(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", list, err)
		}
	}
}

// repeated returns a reader for text, repeated the given number of times.
func repeated(text string, times int) io.Reader {
	parts := make([]io.Reader, times)
	for i := range parts {
		parts[i] = strings.NewReader(text)
	}
	return io.MultiReader(parts...)
}

// TestLongListsHavePages checks that a list of any length can be read if each token is short, and
// that the size of a page is limited.
func TestLongListsHavePages(t *testing.T) {
	settle.SkipUnderRace(t)
	open := `{"node":{"nodes":[{"key":"/f/a"}`
	p := page{prefix: "f/a"}
	values := `,{"key":"/f/b","value":"` + strings.Repeat("v", 1<<20) + `"}`
	if err := p.read(io.MultiReader(strings.NewReader(open), repeated(values, 40), strings.NewReader("]}}"))); err != nil || len(p.removals) != 1 {
		t.Errorf("%d pieces, %v", len(p.removals), err)
	}
	for text, want := range map[string]int{`,{"key":"/f/a"}`: pageRemovals, `,{"key":"/f/a` + strings.Repeat("k", 1<<20) + `"}`: 9} {
		if err := p.read(io.MultiReader(strings.NewReader(open), repeated(text, pageRemovals+5))); err != nil || !p.full || len(p.removals) != want {
			t.Errorf("%d pieces, full: %v, %v", len(p.removals), p.full, err)
		}
	}
}

// TestPagesAreRemoved checks that DeletePrefix removes page after page, and that it stops if the
// server does not remove the keys.
func TestPagesAreRemoved(t *testing.T) {
	settle.SkipUnderRace(t)
	const name = 900 << 10 // length of a name; ten such names fill a page
	for _, removes := range []bool{true, false} {
		left := 25
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				return
			}
			var nodes []string
			for i := 25 - left; i < 25; i++ {
				nodes = append(nodes, fmt.Sprintf(`{"key":"/f/a%02d%s"}`, i, strings.Repeat("k", name)))
			}
			if removes {
				left = max(0, left-10)
			}
			_, _ = w.Write([]byte(listOf(strings.Join(nodes, ",")))) // the client closes the connection once its page is full
		}))
		a := &admin{access: store.Access{Endpoints: []string{server.Listener.Addr().String()}}, client: server.Client(), timeout: store.Access{}.Timeout()}
		n, err := a.DeletePrefix(t.Context(), []byte("f/a"))
		if removes && (n != 25 || err != nil) || !removes && (err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "still exists")) {
			t.Errorf("the server removes keys: %v; DeletePrefix returned %d, %v", removes, n, err)
		}
		server.Close()
	}
}
