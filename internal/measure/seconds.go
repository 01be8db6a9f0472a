package measure

import (
	"fmt"
	"time"
)

// ToDuration converts seconds to a time.Duration. The result is at most 1<<62 ns.
func ToDuration(seconds float64) time.Duration {
	return time.Duration(min(seconds*1e9, float64(1<<62)))
}

// InSeconds returns the figure in seconds, or nil if it is not known.
func (f Figure) InSeconds() *float64 {
	if !f.Known {
		return nil
	}
	return new(f.NS / 1e9)
}

// PercentilesInSeconds returns the known percentiles in seconds, by name, such as p99.
func (s Summary) PercentilesInSeconds() map[string]float64 {
	out := map[string]float64{}
	for i, f := range s.Percentiles {
		if f.Known {
			out[fmt.Sprintf("p%g", Percentiles[i])] = f.NS / 1e9
		}
	}
	return out
}

// PercentilesAndMaxInSeconds returns the known percentiles and the maximum in seconds, by name.
func (s Summary) PercentilesAndMaxInSeconds() map[string]float64 {
	out := s.PercentilesInSeconds()
	if s.Max.Known {
		out["max"] = s.Max.NS / 1e9
	}
	return out
}
