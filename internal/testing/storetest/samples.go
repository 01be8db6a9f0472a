package storetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// Bytes returns n bytes with a fixed pattern.
func Bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

// Values returns short, unusual values, and one value of each given size.
func Values(sizes ...int) [][]byte {
	values := [][]byte{nil, {0}, []byte("v")}
	for _, n := range sizes {
		values = append(values, Bytes(n))
	}
	return values
}

// EveryByte returns all 256 byte values.
func EveryByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// KeysOfBytes returns a key for each byte, except for the bytes in `excluded`. Each key is the
// prefix followed by the byte. In CI, it returns keys only for bytes that encodings treat
// differently from others.
func KeysOfBytes(prefix, excluded string) (keys []string) {
	for _, b := range EveryByte() {
		if strings.IndexByte(excluded, b) < 0 && (settle.Long() || SpecialByte(b)) {
			keys = append(keys, prefix+string([]byte{b}))
		}
	}
	return keys
}

// SpecialByte reports whether an encoding, for example of URLs, JSON or UTF-8, may treat a byte
// differently from the bytes next to it.
func SpecialByte(b byte) bool {
	return strings.IndexByte("\x00\x01\t\n\r\x1b\x1f !\"#$%&'*+,./09:;<=>?@AZ[\\]`az{|~\x7f\x80\xbf\xc2\xf4\xff", b) >= 0
}

// HTTPNullAdmin tests the administration of a three-member null cluster that speaks HTTP. It also
// checks that the cluster verifies the password.
func HTTPNullAdmin(t *testing.T, st interface {
	store.Store
	store.NullServerProvider
}) {
	endpoints := ServeNull(t, st, 3, store.NullOptions{Memory: true, User: "u:secret"})
	a, err := st.Admin(store.Access{Endpoints: endpoints, User: "u", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	s, err := a.Status(t.Context())
	if err != nil || s.Leader() == nil || s.Leader().Endpoint != endpoints[0] || s.Members[2].Role != kv.Follower || s.Members[1].ID == s.Members[2].ID {
		t.Errorf("%+v %v", s, err)
	}
	if m, err := a.Members(t.Context()); err != nil || !slices.Equal(store.Endpoints(m), endpoints) {
		t.Errorf("%v %v", m, err)
	}
	w := Dial(t, st, store.Access{Endpoints: endpoints[1:], User: "u", Password: "secret"})
	w.Want(kv.OK, Put("p/1", nil))
	w.Want(kv.OK, Put("p/2", nil))
	if n, err := a.(store.Cleaner).DeletePrefix(t.Context(), []byte("/p/")); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	w = Dial(t, st, store.Access{Endpoints: endpoints, User: "u", Password: "wrong"})
	w.Want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("p/1")})
}
