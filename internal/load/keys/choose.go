package keys

import (
	"math"
	"math/bits"
)

// Chooser chooses the key of each operation.
//
// Invariant: the result of Choose depends only on n, and is less than the number of keys in the key
// space. So an operation has the same key in every run with the same seed, no matter which event
// loop sends the operation.
type Chooser interface {
	// Choose returns the number of operation n's key.
	Choose(n uint64) uint64
}

// Sequential walks through the key space repeatedly.
type Sequential struct{ N uint64 }

// Choose returns n modulo N.
func (s Sequential) Choose(n uint64) uint64 { return n % s.N }

// Uniform chooses every key with the same probability.
type Uniform struct{ N, Seed uint64 }

// Choose returns a number in [0, N) by means of multiplication (Lemire, "Fast random integer
// generation in an interval", 2019). The bias is below N/2^64.
func (u Uniform) Choose(n uint64) uint64 {
	hi, _ := bits.Mul64(RandomAt(u.Seed, n), u.N)
	return hi
}

// Hotspot sends a certain share of the operations to a certain share of the keys. Within each of
// the two groups of keys, the distribution is uniform.
//
// Example: NewHotspot(1000, 0.1, 0.9, seed) sends 90 % of the operations to keys 0 to 99.
type Hotspot struct {
	n, hot            uint64
	hotOperationShare float64
	seed              uint64
}

// NewHotspot returns a chooser for n keys. `keys` is the share of popular keys (at least one key is
// popular), and `hotOperationShare` is the share of operations that use popular keys. Both shares
// must be in (0, 1).
func NewHotspot(n uint64, keys, hotOperationShare float64, seed uint64) Hotspot {
	hot := uint64(math.Ceil(keys * float64(n)))
	return Hotspot{n: n, hot: min(max(hot, 1), n), hotOperationShare: hotOperationShare, seed: seed}
}

// Choose implements Chooser. It first draws one of the two groups of keys, and then a key in that
// group.
func (h Hotspot) Choose(n uint64) uint64 {
	if h.hot == h.n || RandomUnit(h.seed^0x5bd1e995, n) < h.hotOperationShare {
		return Uniform{N: h.hot, Seed: h.seed}.Choose(n)
	}
	return h.hot + Uniform{N: h.n - h.hot, Seed: h.seed}.Choose(n)
}

// Zipfian chooses the key with rank r with a probability that is proportional to 1/r^theta. Ranks
// are spread over the key space, so that popular keys are not next to each other.
type Zipfian struct {
	n                       uint64
	theta, alpha, zeta, eta float64
	seed                    uint64
	stride                  uint64
}

// NewZipfian returns a chooser for n keys. theta must be in (0, 1). Like YCSB, it uses the method
// by Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994).
func NewZipfian(n uint64, theta float64, seed uint64) Zipfian {
	z := Zipfian{n: n, theta: theta, alpha: 1 / (1 - theta), zeta: zeta(n, theta), seed: seed, stride: 1}
	z.eta = (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(min(n, 2), theta)/z.zeta)
	// If the stride is coprime to n, every key is reached exactly once.
	for s := uint64(float64(n)*0.6180339887) | 1; s > 1; s -= 2 {
		if gcd(s, n) == 1 {
			z.stride = s
			break
		}
	}
	return z
}

// Choose implements Chooser. It draws a rank and returns the key with that rank.
func (z Zipfian) Choose(n uint64) uint64 {
	hi, lo := bits.Mul64(z.rank(n), z.stride)
	_, key := bits.Div64(hi, lo, z.n)
	return key
}

// rank returns the rank of operation n's key, starting at 0.
func (z Zipfian) rank(n uint64) uint64 {
	u := RandomUnit(z.seed, n)
	uz := u * z.zeta
	if uz < 1 || z.n == 1 {
		return 0
	}
	if uz < 1+math.Pow(0.5, z.theta) || z.n == 2 {
		return 1
	}
	return min(uint64(float64(z.n)*math.Pow(z.eta*u-z.eta+1, z.alpha)), z.n-1)
}

// zeta returns the sum of 1/i^theta for i from 1 to n. It adds at most a million terms, and
// approximates the sum of the remaining terms by the Euler-Maclaurin formula. The error is far
// below the resolution of the results.
func zeta(n uint64, theta float64) float64 {
	const exact = 1_000_000
	sum := 0.0
	for i := uint64(1); i <= min(n, exact); i++ {
		sum += math.Pow(float64(i), -theta)
	}
	if n > exact {
		a, b := float64(exact), float64(n)
		sum += (math.Pow(b, 1-theta)-math.Pow(a, 1-theta))/(1-theta) +
			(math.Pow(b, -theta)-math.Pow(a, -theta))/2
	}
	return sum
}

// gcd returns the greatest common divisor.
func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
