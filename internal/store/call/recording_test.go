package call_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestRecordsRoundTrip writes records of every form, with extreme values, and reads them again.
func TestRecordsRoundTrip(t *testing.T) {
	for seed := range uint64(settle.RandomCases(20, 2)) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "a.qbrec")
		head := call.Header{Store: "etcd", Tool: "devel", Started: time.Unix(1, 2).UTC(), Plain: seed%2 == 0}
		w, err := call.CreateRecording(path, &head)
		if err != nil {
			t.Fatal(err)
		}
		var want []call.Record
		for range 500 {
			if r.IntN(20) == 0 {
				g := call.Gap{At: r.Int64N(1 << 40), Conn: r.Uint32(), MissingCalls: r.Uint64(), Reason: "because"}
				w.Gap(g)
				want = append(want, call.Record{Gap: &g})
				continue
			}
			c := randomCall(r)
			w.Call(c)
			want = append(want, call.Record{Call: c})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []call.Record
		h, problem, err := call.ReadRecording(path, func(one call.Record) error {
			got = append(got, one)
			return nil
		})
		if err != nil || problem != "" || h != head {
			t.Fatalf("%v, %q, %v", err, problem, h)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func randomCall(r *rand.Rand) *call.Call {
	number := func() int64 { return r.Int64() >> r.IntN(64) }
	text := func() []byte {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	c := &call.Call{
		At: number() / 4, Duration: number()/4 - 1, Conn: r.Uint32(), Method: []string{"KV/Put", "KV/Txn", "", "a/b"}[r.IntN(4)],
		Pushed: r.IntN(4) == 0, Code: uint16(r.Uint32()), Guarded: r.IntN(2) == 0, GuardsHeld: r.IntN(2) == 0,
		RequestSize: int(number()), ReplySize: int(number()), Revision: number(), KeyCount: number(),
	}
	c.Duration = max(c.Duration, -1)
	if r.IntN(3) == 0 {
		c.Stream, c.Lease = r.Uint32(), -number()
	}
	for range r.IntN(4) {
		p := call.Part{
			Action: call.Action(r.IntN(13)), Branch: call.Branch(r.IntN(3)), Scope: call.Scope(r.IntN(5)),
			Target: call.Target(r.IntN(5)), Relation: call.Relation(r.IntN(4)), Flags: call.Flags(r.IntN(1 << 17)), Key: text(),
		}
		if r.IntN(2) == 0 {
			p.End, p.Number, p.Limit, p.Lease, p.Version = append(text(), 1), number(), -number(), number(), -number()
			p.Value = call.Value{Size: int(r.Int32()), Hash: r.Uint64() | 1, Text: text()}
		}
		c.Parts = append(c.Parts, p)
	}
	return c
}

// TestTruncatedRecordingIsReadable truncates a recording at every length and reads the remaining
// part. It checks that an error of the disk in the same place is reported, and does not count as the
// end of the recording.
func TestTruncatedRecordingIsReadable(t *testing.T) {
	settle.SkipUnderRace(t)
	path := filepath.Join(t.TempDir(), "a.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: "etcd"})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		w.Call(randomCall(r))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	errDisk := errors.New("input/output error")
	before := 0
	for n := range whole {
		calls := 0
		_, problem, err := call.ReadRecordingFrom(bytes.NewReader(whole[:n]), func(call.Record) error {
			calls++
			return nil
		})
		if err == nil && problem == "" {
			t.Fatalf("the first %d of %d bytes were read without an error or a problem", n, len(whole))
		}
		again := 0
		_, problem, failed := call.ReadRecordingFrom(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(errDisk)), func(call.Record) error {
			again++
			return nil
		})
		if again != calls || (failed == nil) != (err == nil) || !strings.Contains(fmt.Sprint(problem, failed), errDisk.Error()) {
			t.Fatalf("if the disk fails after %d bytes, the problem is %q and the error is %v after %d calls, want %v after %d calls", n, problem, failed, again, errDisk, calls)
		}
		if calls < before {
			t.Fatalf("%d bytes contain %d calls, but a shorter prefix contains %d", n, calls, before)
		}
		before = calls
	}
	if before != 20 {
		t.Errorf("%d of 20 calls were read before the last byte, want 20", before)
	}
}

func TestDamageIsReported(t *testing.T) {
	if _, _, err := call.ReadRecordingFrom(strings.NewReader("something else"), nil); err == nil || err.Error() != "the file does not begin with the bytes of a recording" {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "none")
	if _, _, err := call.ReadRecording(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestHashesKeepPrefixes checks that a prefix that ends with a separator is still a prefix
// after hashing. Keys may be equal after hashing only if they were equal before.
func TestHashesKeepPrefixes(t *testing.T) {
	v, other := call.NewRedactor(), call.NewRedactor()
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]string{}
	for range 3000 {
		var segments []string
		for range 1 + r.IntN(5) {
			segments = append(segments, strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(30)))
		}
		key := strings.Join(segments, "/")
		got := string(v.RedactKey([]byte(key)))
		for i, c := range key {
			if c == '/' && !strings.HasPrefix(got, string(v.RedactKey([]byte(key[:i+1])))) {
				t.Fatalf("the redacted form of %q is not a prefix of the redacted form of %q", key[:i+1], key)
			}
		}
		if was, ok := seen[got]; ok && was != key {
			t.Fatalf("the keys %q and %q have the same hash", was, key)
		}
		seen[got] = key
		if len(key) > 12 && strings.Trim(key, "/") != "" {
			if got == string(other.RedactKey([]byte(key))) {
				t.Fatalf("the hash of %q does not depend on the secret", key)
			}
			for _, s := range segments {
				if len(s) > 7 && strings.Contains(got, s) {
					t.Fatalf("the key's segment %q is readable in its redacted form %q", s, got)
				}
			}
		}
		if next := v.RedactKey([]byte(key + "\x00")); string(next) != got+"\x00" {
			t.Fatalf("the redacted form of %q with a zero byte is %q, want a zero byte after %q", key, next, got)
		}
	}
}

func TestScopes(t *testing.T) {
	for _, v := range []*call.Redactor{call.NewRedactor(), {}} {
		for _, test := range []struct {
			key, end string
			scope    call.Scope
			flags    call.Flags
			ends     string // the text from which End is computed
		}{
			{"/a/b", "", call.SingleKey, 0, ""},
			{"/a/b/", "/a/b0", call.Prefix, 0, ""},
			{"/a/b", "/a/c", call.Prefix, call.PartialSegment, ""},
			{"/a/b/c\x00", "/a/b0", call.LaterPage, 0, "/a/b/"},
			{"/a/b", "/b/c", call.Interval, 0, "/b/c"},
			{"/a/b", "/a0", call.LaterPage, 0, "/a/"},
		} {
			var p call.Part
			v.SetInterval(&p, []byte(test.key), []byte(test.end))
			if p.Scope != test.scope || p.Flags != test.flags || string(p.Key) != string(v.RedactKey([]byte(test.key))) || string(p.End) != string(v.RedactKey([]byte(test.ends))) {
				t.Errorf("the parts for the range %q to %q are wrong: %+v", test.key, test.end, p)
			}
		}
	}
}

func TestEqualValuesHaveEqualHashes(t *testing.T) {
	for _, v := range []*call.Redactor{call.NewRedactor(), {}} {
		long := strings.Repeat("x", 5000)
		for _, text := range []string{"", "a", long} {
			a, b, c := v.RedactValue([]byte(text)), v.RedactValue([]byte(text)), v.RedactValue([]byte(text+"y"))
			if a.Hash != b.Hash || a.Hash == c.Hash || a.Size != len(text) || (a.Text != nil) != v.Plain() {
				t.Errorf("%.10q: %v, %v, %v", text, a, b, c)
			}
		}
	}
}

// FuzzDecode checks that no block causes a panic, and that all decoded records are within the
// limits.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0})
	for _, s := range []string{"AQgAAAEABktWL1B1dAAAAAAA", "AQgCBAEABktWL1B1dAABAgMEAQEAAAABYQ"} {
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = call.DecodeBlock(b, func(r call.Record) error {
			switch c := r.Call; {
			case c == nil:
				if r.Gap.At < 0 {
					t.Fatal("a gap begins before the start of the recording")
				}
			case c.At < 0 || c.Duration < -1 || c.RequestSize < 0 || c.ReplySize < 0 || c.KeyCount < 0 || c.Revision < 0 || len(c.Parts) > call.MaxParts:
				t.Fatalf("%+v", c)
			}
			return nil
		})
	})
}
