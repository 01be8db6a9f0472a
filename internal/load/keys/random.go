package keys

// RandomAt returns number n of the 64-bit numbers that the generator SplitMix64 produces from the
// given seed (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014). The computation does not need the earlier numbers, so any event loop can compute any
// number at any time.
func RandomAt(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// RandomUnit returns number n of a sequence of random numbers in [0, 1). The seed determines the
// sequence.
func RandomUnit(seed, n uint64) float64 { return float64(RandomAt(seed, n)>>11) / (1 << 53) }

// DeriveSeed returns a seed for the given use. The seeds for different uses are independent.
func DeriveSeed(seed uint64, use string) uint64 {
	for i := 0; i < len(use); i++ {
		seed = RandomAt(seed^uint64(use[i]), uint64(i))
	}
	return RandomAt(seed, uint64(len(use)))
}
