package null

import (
	"math"
	"time"
)

// Distribution is how a delay varies from operation to operation.
type Distribution uint8

// The distributions.
const (
	Fixed       Distribution = iota // always Low
	Uniform                         // from Low to High, all equally likely
	Exponential                     // with mean Low: most are short and a few are long
)

// Delay is how long after its arrival an operation is answered.
type Delay struct {
	Distribution Distribution
	Low, High    time.Duration // High is for Uniform alone
	Every        uint64        // it applies to every Every-th operation; 1 for all
}

// delay is the delay of operation n.
func (s *Script) delay(n uint64) time.Duration {
	for i := len(s.Delays) - 1; i >= 0; i-- {
		if d := &s.Delays[i]; n%max(d.Every, 1) == 0 {
			return d.of(s.Seed, n)
		}
	}
	return 0
}

// of draws the delay of operation n by the inverse of the distribution
// function, from a number that depends on seed and n alone.
func (d *Delay) of(seed, n uint64) time.Duration {
	switch d.Distribution {
	case Uniform:
		return d.Low + time.Duration(unit(seed, n)*float64(d.High-d.Low))
	case Exponential:
		return time.Duration(-math.Log(1-unit(seed, n)) * float64(d.Low))
	}
	return d.Low
}

// unit is a number from 0 up to but not including 1, uniform over n.
func unit(seed, n uint64) float64 { return float64(mix(seed, n)>>11) / (1 << 53) }

// mix is the n-th output of SplitMix64 (Steele, Lea and Flood 2014) begun at a
// scrambled seed: unlike a generator with state it can be asked for any n.
func mix(seed, n uint64) uint64 {
	return scramble(scramble(seed) + n*0x9e3779b97f4a7c15)
}

func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
