package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// runsEnv is the environment variable that sets the number of simulated runs from which each rate
// is computed. `make test-long` sets it.
const runsEnv = "QUORUMBENCH_STATS_RUNS"

const sampleRuns = 2000

// simulated returns the number of simulated runs from which each rate is computed.
func simulated(t testing.TB) int {
	t.Helper()
	runs := sampleRuns
	if text := os.Getenv(runsEnv); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 100 {
			t.Fatalf("%s is %q, and not a number of at least 100", runsEnv, text)
		}
	}
	return runs
}

// population is a kind of store. It describes how the store's seconds vary within a repeat.
type population struct {
	name string
	// seconds returns n values with mean 0 and variance 1.
	seconds func(r *rand.Rand, n int) []float64
	// sdOfMean is the standard deviation of the mean over `length` seconds.
	sdOfMean float64
	// between is the share of the variance that comes from differences between repeats. The rest
	// comes from differences between the seconds of a repeat.
	between float64
	// apart returns a random deviation of one repeat from the others, with mean 0 and variance 1.
	apart func(r *rand.Rand) float64
}

// length is the length of a repeat in seconds.
const length = 60

// populations returns the populations for which intervals must keep their guarantees.
func populations() []population {
	return []population{
		autoregressive("normal", 0),
		autoregressive("correlated, 0.5", 0.5),
		autoregressive("correlated, 0.9", 0.9),
		// Slow for 4 s on average, every 20 s: compactions.
		bursty("bursty", 1.0/16, 1.0/4),
	}
}

// harder returns more difficult populations. docs/reference/statistics.md shows their rates, but
// the tests do not limit them.
func harder() []population {
	modes := autoregressive("rare mode", 0)
	modes.between = 0.9
	// a quarter of the values is √3, and the others are -1/√3
	modes.apart = func(r *rand.Rand) float64 {
		if r.Float64() < 0.25 {
			return math.Sqrt(3)
		}
		return -1 / math.Sqrt(3)
	}
	return []population{bursty("stalls", 1.0/57, 1.0/3), modes}
}

func autoregressive(name string, rho float64) population {
	return population{
		name:     name,
		sdOfMean: sdOfMean(1, rho),
		between:  0.25,
		apart:    (*rand.Rand).NormFloat64,
		seconds: func(r *rand.Rand, n int) []float64 {
			values := make([]float64, n)
			now, fresh := r.NormFloat64(), math.Sqrt(1-rho*rho)
			for i := range values {
				values[i] = now
				now = rho*now + fresh*r.NormFloat64()
			}
			return values
		},
	}
}

// bursty returns a store with slow periods. In each second, a fast store becomes slow with the
// probability `slows`, and a slow store becomes fast with the probability `recovers`. A tenth of
// the variance is noise.
func bursty(name string, slows, recovers float64) population {
	slow := slows / (slows + recovers)
	sd := math.Sqrt(slow * (1 - slow))
	p := autoregressive(name, 0)
	p.sdOfMean = sdOfMean(0.9, 1-slows-recovers)
	p.seconds = func(r *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		isSlow := r.Float64() < slow
		for i := range values {
			mode, change := slow/sd, slows
			if isSlow {
				mode, change = (slow-1)/sd, recovers
			}
			values[i] = math.Sqrt(0.9)*mode + math.Sqrt(0.1)*r.NormFloat64()
			if r.Float64() < change {
				isSlow = !isSlow
			}
		}
		return values
	}
	return p
}

// sdOfMean returns the standard deviation of the mean over `length` values that have the variance
// 1. The correlation between two values that are k positions apart is share × rho^k.
func sdOfMean(share, rho float64) float64 {
	sum := float64(length)
	for lag := 1; lag < length; lag++ {
		sum += 2 * float64(length-lag) * share * math.Pow(rho, float64(lag))
	}
	return math.Sqrt(sum) / length
}

// run returns n seconds of one repeat. Their long-term mean is 1. The parameter `sd` is the
// standard deviation between repeats of `length` seconds. If `within` is set, the differences
// between repeats are excluded.
func (p population) run(r *rand.Rand, n int, sd float64, within bool) []float64 {
	values := p.seconds(r, n)
	scale, level := sd*math.Sqrt(1-p.between)/p.sdOfMean, 1.0
	if !within {
		level += sd * math.Sqrt(p.between) * p.apart(r)
	}
	for i := range values {
		values[i] = level + scale*values[i]
	}
	return values
}

// repeats returns the figures of n repeats. Each figure is the mean over the seconds of a repeat.
func (p population) repeats(r *rand.Rand, n int, sd float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = stat.Mean(p.run(r, length, sd, false), nil)
	}
	return values
}

func times(values []float64, factor float64) []float64 {
	scaled := slices.Clone(values)
	for i := range scaled {
		scaled[i] *= factor
	}
	return scaled
}

// The repeats of a population have the mean and the standard deviation that all measured rates
// assume.
func TestPopulations(t *testing.T) {
	for _, p := range append(populations(), harder()...) {
		t.Run(p.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			mean, sd := stat.MeanStdDev(p.repeats(r, 20000, 0.02), nil)
			if math.Abs(mean-1) > 0.001 || math.Abs(sd-0.02) > 0.001 {
				t.Errorf("repeats have mean %.4f and standard deviation %.4f, not 1 and 0.02", mean, sd)
			}
		})
	}
}
