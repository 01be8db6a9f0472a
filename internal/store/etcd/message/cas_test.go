package message

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// TestAppendTextEqualsProtowire compares fields of different sizes with protowire's encoding. The
// sizes are near those at which the encoded length needs one more byte.
func TestAppendTextEqualsProtowire(t *testing.T) {
	for _, size := range []int{1, 127, 128, 129, 16_383, 16_384, 16_385, 3_000_000} {
		text := bytes.Repeat([]byte{'x'}, size)
		want := protowire.AppendBytes(protowire.AppendTag(nil, PutValue, protowire.BytesType), text)
		if got := AppendText(nil, PutValue, text); !bytes.Equal(got, want) || SizeText(text) != len(want) {
			t.Errorf("a text of %d bytes: AppendText appended %d bytes and SizeText returned %d, want %d", size, len(got), SizeText(text), len(want))
		}
	}
}

// TestCASEqualsAppendTxn compares the hand-written encoding of CAS with the table-driven encoding
// of AppendTxn.
func TestCASEqualsAppendTxn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(most int) []byte { return bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(most)) }
	for range 10_000 {
		key, value := text(1+rng.IntN(300)), text(1+rng.IntN(40_000))
		revision := rng.Uint64() >> rng.IntN(65)
		want := AppendTxn(nil, []call.Part{
			{Action: call.Compare, Target: call.Modified, Key: key, Number: int64(revision)},
			{Action: call.Write, Branch: call.Then, Key: key, Value: call.Value{Text: value}},
			{Action: call.Read, Branch: call.Else, Key: key, Flags: call.KeysOnly},
		})
		cas := NewCAS(key, value, revision)
		if got := cas.Append(nil); !bytes.Equal(got, want) || cas.Size() != len(want) {
			t.Fatalf("a key of %d bytes and a value of %d bytes at revision %d: got %x, want %x", len(key), len(value), revision, got, want)
		}
	}
}
