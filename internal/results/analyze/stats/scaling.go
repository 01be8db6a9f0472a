package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// Step is a load's concurrency, as the number of clients, and what came of it, in
// operations a second.
type Step struct{ Concurrency, Throughput float64 }

// Scaling is the Universal Scalability Law of some steps (Gunther, "A General
// Theory of Computational Scalability Based on Rational Functions",
// arXiv:0808.1431, 2008): a concurrency N makes
//
//	X(N) = λN / (1 + σ(N-1) + κN(N-1))
//
// operations a second. With σ, N waits for what only one can have at a time; with
// κ, each of N waits for all others, so that throughput falls again.
type Scaling struct {
	Lambda Interval // operations a second of one alone
	Sigma  Interval // contention, from 0
	Kappa  Interval // coherency, from 0
	// Deviation is how far the steps are from the curve, as a share of it: their
	// standard deviation, with three degrees of freedom less than steps.
	Deviation float64
	// Explained is the share of the variance of the throughputs' logarithms that
	// the curve explains (R²).
	Explained float64
}

// LeastSteps is how few different concurrencies are fitted: three parameters
// leave two degrees of freedom.
const LeastSteps = 5

// At is the curve's throughput at a concurrency.
func (s *Scaling) At(n float64) float64 {
	return s.Lambda.Value * n / slowing(n, s.Sigma.Value, s.Kappa.Value)
}

// Peak is the concurrency with the most throughput; false if that never falls.
func (s *Scaling) Peak() (concurrency, throughput float64, ok bool) {
	if s.Kappa.Value <= 0 || s.Sigma.Value >= 1 {
		return 0, 0, false
	}
	n := math.Sqrt((1 - s.Sigma.Value) / s.Kappa.Value)
	return n, s.At(n), !math.IsInf(n, 0)
}

// slowing is by how much N are slower than N times one.
func slowing(n, sigma, kappa float64) float64 { return 1 + sigma*(n-1) + kappa*n*(n-1) }

// FitScaling finds the law by non-linear least squares of the throughputs'
// logarithms, because what disturbs a throughput does so in proportion to it.
// Repeats of a concurrency are one step, their geometric mean: what the law does
// not describe they share. σ and κ are not below 0. The intervals are those of
// the linear approximation at the minimum (Seber and Wild, "Nonlinear
// Regression", 1989, chapter 5), with Student's quantile. It is not known for
// fewer than LeastSteps concurrencies, or if one or its throughput is not above 0.
func FitScaling(steps []Step, level float64) (Scaling, bool) {
	n, logs, ok := merged(steps)
	if !ok {
		return Scaling{}, false
	}
	most := n[len(n)-1]
	// The minimum is sought over roots, so that neither is below 0, and κ as a
	// share of what N at most could make of it, so that both have one size.
	sigma := func(x []float64) float64 { return x[0] * x[0] }
	kappa := func(x []float64) float64 { return x[1] * x[1] / (most * most) }
	problem := optimize.Problem{Func: func(x []float64) float64 {
		_, sum := residuals(n, logs, sigma(x), kappa(x))
		return sum
	}}
	best, at := math.Inf(1), []float64(nil)
	settings := &optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-10, Iterations: 30}}
	for _, start := range [][]float64{{0.1, 0.1}, {0.7, 0.1}, {0.1, 3}, {0.5, 10}} {
		r, err := optimize.Minimize(problem, start, settings, &optimize.NelderMead{})
		if err == nil && r.F < best {
			best, at = r.F, r.X
		}
	}
	if at == nil {
		return Scaling{}, false
	}
	for i, x := range at {
		if math.Abs(x) < 1e-4 { // as good as none
			at[i] = 0
		}
	}
	logLambda, sum := residuals(n, logs, sigma(at), kappa(at))
	freedom := float64(len(n) - 3)
	out := Scaling{Deviation: math.Sqrt(sum / freedom), Explained: 1}
	if variance := stat.PopVariance(logs, nil) * float64(len(n)); variance > 0 {
		out.Explained = 1 - sum/variance
	}
	errors, ok := standardErrors(n, sigma(at), kappa(at))
	if !ok {
		return Scaling{}, false
	}
	reach := student(level, freedom) * out.Deviation
	out.Lambda = Interval{Value: math.Exp(logLambda), Low: math.Exp(logLambda - reach*errors[0]), High: math.Exp(logLambda + reach*errors[0]), Level: level}
	notNegative := func(v, half float64) Interval {
		return Interval{Value: v, Low: math.Max(v-half, 0), High: v + half, Level: level}
	}
	out.Sigma, out.Kappa = notNegative(sigma(at), reach*errors[1]), notNegative(kappa(at), reach*errors[2])
	return out, finite([]float64{out.Lambda.High, out.Sigma.High, out.Kappa.High})
}

// merged are the different concurrencies, in rising order, and the mean
// logarithms of their throughputs.
func merged(steps []Step) (n, logs []float64, ok bool) {
	steps = slices.SortedStableFunc(slices.Values(steps), func(a, b Step) int { return cmp.Compare(a.Concurrency, b.Concurrency) })
	var of []float64
	for i, s := range steps {
		if !(s.Concurrency > 0) || !(s.Throughput > 0) || math.IsInf(s.Concurrency, 0) || math.IsInf(s.Throughput, 0) {
			return nil, nil, false
		}
		of = append(of, math.Log(s.Throughput))
		if i+1 == len(steps) || steps[i+1].Concurrency != s.Concurrency {
			n, logs, of = append(n, s.Concurrency), append(logs, stat.Mean(of, nil)), nil
		}
	}
	return n, logs, len(n) >= LeastSteps
}

// residuals is the best λ's logarithm for a σ and κ, and the sum of the squares
// that it leaves.
func residuals(n, logs []float64, sigma, kappa float64) (logLambda, sum float64) {
	left := make([]float64, len(n))
	for i := range n {
		left[i] = logs[i] - math.Log(n[i]/slowing(n[i], sigma, kappa))
	}
	logLambda = stat.Mean(left, nil)
	for _, x := range left {
		sum += (x - logLambda) * (x - logLambda)
	}
	return logLambda, sum
}

// standardErrors are those of λ's logarithm, σ and κ for a standard deviation of
// 1: the roots of the diagonal of (JᵀJ)⁻¹. Its columns are brought to one size
// before, because κ's is larger than the others by N squared.
func standardErrors(n []float64, sigma, kappa float64) (errors [3]float64, ok bool) {
	j := mat.NewDense(len(n), 3, nil)
	for i, x := range n {
		d := slowing(x, sigma, kappa)
		j.SetRow(i, []float64{1, -(x - 1) / d, -x * (x - 1) / d})
	}
	var size [3]float64
	for c := range size {
		column := j.ColView(c)
		size[c] = mat.Norm(column, 2)
		for i := range n {
			j.Set(i, c, column.AtVec(i)/size[c])
		}
	}
	var square, inverse mat.Dense
	square.Mul(j.T(), j)
	if err := inverse.Inverse(&square); err != nil {
		return errors, false
	}
	for c := range errors {
		errors[c] = math.Sqrt(inverse.At(c, c)) / size[c]
	}
	return errors, true
}
