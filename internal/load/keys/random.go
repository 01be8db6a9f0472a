package keys

// RandomAt returns the n-th 64-bit number of the generator SplitMix64 with the given seed
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). The
// n-th number does not depend on earlier ones, so any loop can compute it at any time.
func RandomAt(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// RandomUnit returns the n-th number of the seed in [0, 1).
func RandomUnit(seed, n uint64) float64 { return float64(RandomAt(seed, n)>>11) / (1 << 53) }

// DeriveSeed returns a seed for the named use. The seeds of different uses are independent.
func DeriveSeed(seed uint64, use string) uint64 {
	for i := 0; i < len(use); i++ {
		seed = RandomAt(seed^uint64(use[i]), uint64(i))
	}
	return RandomAt(seed, uint64(len(use)))
}
