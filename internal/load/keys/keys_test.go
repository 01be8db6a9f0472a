package keys

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// This test guards against a flaw of other benchmarks: they reuse a buffer that still contains the
// bytes of an earlier key. As a result, a key space of 1,000 keys has 1,169 keys, and one-byte keys
// cause a panic.
func TestKeysNeverLeaveTheKeySpace(t *testing.T) {
	for _, c := range []struct {
		size int
		n    uint64
	}{{1, 1}, {1, 10}, {1, 64}, {2, 1000}, {2, 4096}, {8, 100_000}, {8, 1000}, {256, 5000}} {
		s, err := NewSpace("p/", c.size, c.n)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		var keys []string
		buf := make([]byte, 0, 300)
		for i := range c.n {
			buf = s.Append(buf[:0], i)
			if len(buf) != s.Len() || len(buf) != c.size+2 || !strings.HasPrefix(string(buf), "p/") {
				t.Fatalf("key %d of %d bytes is %q", i, c.size, buf)
			}
			seen[string(buf)] = true
			keys = append(keys, string(buf))
		}
		if uint64(len(seen)) != c.n {
			t.Errorf("%d keys of %d bytes include %d different keys", c.n, c.size, len(seen))
		}
		if !sort.StringsAreSorted(keys) {
			t.Errorf("keys of %d bytes are not sorted by their numbers", c.size)
		}
	}
}

func TestRefusesMoreKeysThanTheirSizeAllows(t *testing.T) {
	if _, err := NewSpace("", 1, 65); err == nil || !strings.Contains(err.Error(), "64") {
		t.Errorf("65 keys of one byte: %v", err)
	}
	if _, err := NewSpace("", 0, 1); err != nil {
		t.Errorf("one key that consists only of its prefix: %v", err)
	}
}

func choosers(n uint64) map[string]Chooser {
	return map[string]Chooser{
		"sequential": Sequential{n},
		"uniform":    Uniform{n, 1},
		"zipfian":    NewZipfian(n, 0.99, 1),
		"hotspot":    NewHotspot(n, 0.2, 0.8, 1),
	}
}

func TestChoiceStaysInTheKeySpace(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 1000, 1 << 40} {
		for name, c := range choosers(n) {
			for i := range uint64(2000) {
				if k := c.Choose(i); k >= n {
					t.Fatalf("%s chose key %d of %d", name, k, n)
				}
			}
		}
	}
}

func TestChoiceIsAFunctionOfSeedAndNumber(t *testing.T) {
	again := choosers(1000)
	for name, c := range choosers(1000) {
		for i := uint64(500); i > 0; i-- {
			if c.Choose(i) != again[name].Choose(i) {
				t.Fatalf("%s: operation %d has different keys in two choosers with the same seed", name, i)
			}
		}
	}
}

func TestOnePassOfSequentialTouchesEveryKey(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range uint64(1000) {
		seen[Sequential{1000}.Choose(i)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d keys were chosen, want all 1000", len(seen))
	}
}

func counts(c Chooser, n, draws uint64) []float64 {
	out := make([]float64, n)
	for i := range draws {
		out[c.Choose(i)]++
	}
	return out
}

func TestUniformIsEven(t *testing.T) {
	const n, draws = 100, 1_000_000
	for k, c := range counts(Uniform{n, 9}, n, draws) {
		if math.Abs(c/(draws/n)-1) > 0.05 {
			t.Errorf("key %d was drawn %v times of %d", k, c, draws)
		}
	}
}

func TestHotspotFollowsItsShares(t *testing.T) {
	const n, draws = 1000, 1_000_000
	c := counts(NewHotspot(n, 0.1, 0.9, 5), n, draws)
	hot := 0.0
	for _, x := range c[:100] {
		hot += x
	}
	if math.Abs(hot/draws-0.9) > 0.01 {
		t.Errorf("a tenth of the keys got %v of the operations, want 0.9", hot/draws)
	}
}

func TestZipfianFollowsItsLaw(t *testing.T) {
	const n, draws, theta = 1000, 2_000_000, 0.99
	c := counts(NewZipfian(n, theta, 5), n, draws)
	sort.Sort(sort.Reverse(sort.Float64Slice(c)))
	total := zeta(n, theta)
	// In this method, the probabilities of the first two ranks are exact, and the others are
	// approximate.
	for rank, tolerance := range map[int]float64{1: 0.02, 2: 0.02, 10: 0.25, 100: 0.25} {
		want := math.Pow(float64(rank), -theta) / total * draws
		if got := c[rank-1]; math.Abs(got/want-1) > tolerance {
			t.Errorf("rank %d was drawn %v times, want %v", rank, got, want)
		}
	}
}

func TestZetaApproximatesTheTail(t *testing.T) {
	sum := zeta(1_000_000, 0.99)
	for i := 1_000_001; i <= 3_000_000; i++ {
		sum += math.Pow(float64(i), -0.99)
	}
	if got := zeta(3_000_000, 0.99); math.Abs(got/sum-1) > 1e-9 {
		t.Errorf("zeta is %v, want %v", got, sum)
	}
}

func TestValuesHaveTheExactSizeAndAlphabet(t *testing.T) {
	for _, size := range []int{0, 1, 15, 16, 17, 256, 1 << 20} {
		v := NewValues(size, 1)
		b := v.Append(nil, []byte("k"), 3, 12345)
		if len(b) != size {
			t.Errorf("a value of size %d has %d bytes", size, len(b))
		}
		if i := bytes.IndexFunc(b, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }); i >= 0 {
			t.Errorf("a value of %d bytes has %q at %d", size, b[i], i)
		}
		want := OriginOwn
		if size < HeadLen {
			want = OriginUnknown
		}
		if got := v.Judge([]byte("k"), b); got != want {
			t.Errorf("a value of %d bytes is judged %d, want %d", size, got, want)
		}
	}
}

func TestValuesDiffer(t *testing.T) {
	v := NewValues(HeadLen, 1)
	seen := map[string]bool{}
	for client := range uint32(50) {
		for n := range uint64(50) {
			seen[string(v.Append(nil, []byte("k"), client, n))] = true
		}
	}
	if len(seen) != 2500 {
		t.Errorf("2500 writes have %d different values", len(seen))
	}
}

func TestJudgeDetectsForeignValues(t *testing.T) {
	v := NewValues(64, 1)
	key := []byte("key")
	good := v.Append(nil, key, 1, 2)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if v.Judge(key, bad) != OriginForeign {
			t.Errorf("a value that is damaged at byte %d is not judged foreign", i)
		}
	}
	for what, got := range map[string]Origin{
		"another key's value": v.Judge([]byte("kez"), good),
		"a shorter value":     v.Judge(key, good[:63]),
		"a longer value":      v.Judge(key, append(bytes.Clone(good), 'x')),
		"its head alone":      v.Judge(key, good[:HeadLen]),
	} {
		if got != OriginForeign {
			t.Errorf("%s is judged %d", what, got)
		}
	}
}

// The checksum covers only the key and the value, so Judge recognizes values from other runs with
// any seed, size, client and operation.
func TestJudgeRecognizesValuesOfEveryRun(t *testing.T) {
	settle.SkipUnderRace(t)
	key := []byte("some/key")
	sizes := []int{0, 1, 8, HeadLen - 1, HeadLen, HeadLen + 1, 64, 256, 1 << 16}
	for _, mine := range sizes {
		v := NewValues(mine, 1)
		for i, size := range sizes {
			for seed := range uint64(5) {
				value := NewValues(size, seed).Append(nil, key, uint32(seed)*7919, 1<<41|seed<<20|uint64(i))
				want := OriginOtherSize
				switch {
				case size < HeadLen:
					want = OriginUnknown
				case size == mine:
					want = OriginOwn
				}
				if got := v.Judge(key, value); got != want {
					t.Fatalf("a value of %d bytes and seed %d is judged %d by a load of %d bytes, want %d", size, seed, got, mine, want)
				}
			}
		}
	}
}

func BenchmarkValue(b *testing.B) {
	for _, size := range []int{256, 1024} {
		v := NewValues(size, 1)
		buf, key := make([]byte, 0, size), []byte("00000001")
		b.Run(fmt.Sprint("append/", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				buf = v.Append(buf[:0], key, 1, uint64(i))
			}
		})
		b.Run(fmt.Sprint("judge/", size), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				v.Judge(key, buf)
			}
		})
	}
}
