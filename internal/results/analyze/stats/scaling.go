package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Step is the result of one load: its concurrency (number of clients) and its throughput in
// operations per second.
type Step struct{ Concurrency, Throughput float64 }

// Scaling is the Universal Scalability Law, fitted to some steps (Gunther, "A General Theory of
// Computational Scalability Based on Rational Functions", arXiv:0808.1431, 2008). At a concurrency
// N, the throughput is
//
//	X(N) = λN / (1 + σ(N-1) + κN(N-1))
//
// operations per second. σ (contention) describes the time spent waiting for exclusive resources. κ
// (coherency) describes the time for which each of the N clients waits for all others; it makes the
// throughput fall again at a high concurrency.
type Scaling struct {
	Lambda Interval // throughput at a concurrency of 1, in operations per second
	Sigma  Interval // contention; at least 0
	Kappa  Interval // coherency; at least 0
	// Deviation is the standard deviation of the steps from the curve, as a share of the curve's
	// value. Its number of degrees of freedom is the number of steps minus three.
	Deviation float64
	// Explained is R²: the share of the variance of the throughputs' logarithms that the curve
	// explains.
	Explained float64
}

// MinSteps is the minimum number of different concurrencies for a fit. The curve has three
// parameters, so five steps leave two degrees of freedom.
const MinSteps = 5

// Throughput returns the throughput of the curve at the concurrency n.
func (s *Scaling) Throughput(n float64) float64 {
	return s.Lambda.Value * n / slowdown(n, s.Sigma.Value, s.Kappa.Value)
}

// Peak returns the concurrency, at least 1, with the highest throughput, and this throughput. The
// concurrency is 1 if the throughput falls with every additional client. Peak returns false if
// there is no peak, because the throughput never falls.
func (s *Scaling) Peak() (concurrency, throughput float64, ok bool) {
	sigma, kappa := s.Sigma.Value, s.Kappa.Value
	n := 1.0
	switch {
	case kappa <= 0 && sigma <= 1:
		return 0, 0, false
	case sigma < 1: // the derivative of the throughput is proportional to 1 - σ - κN²
		n = math.Max(math.Sqrt((1-sigma)/kappa), 1)
	}
	return n, s.Throughput(n), !math.IsInf(n, 0)
}

// slowdown returns the factor by which the throughput at the concurrency n is lower than with
// linear scaling.
func slowdown(n, sigma, kappa float64) float64 { return 1 + sigma*(n-1) + kappa*n*(n-1) }

// FitScaling fits the law to the steps by non-linear least squares. It uses the logarithms of the
// throughputs, because disturbances are proportional to the throughput. Repeats at the same
// concurrency do not deviate from the law independently of each other. They are therefore combined
// into one step, whose throughput is their geometric mean. σ and κ are at least 0. The confidence
// intervals use the linear approximation at the minimum (Seber and Wild, "Nonlinear Regression",
// 1989, chapter 5) and Student's quantile. FitScaling returns false if there are fewer than
// MinSteps different concurrencies, or if a concurrency or throughput is not above 0.
func FitScaling(steps []Step, level float64) (Scaling, bool) {
	n, logs, ok := mergeSteps(steps)
	if !ok {
		return Scaling{}, false
	}
	// The minimum is either inside the bounds, or on a bound, where σ, κ or both are 0. Compute all
	// four cases and choose the best one.
	best := approximate(n, logs, 0, 0)
	for _, free := range [][2]float64{{1, 1}, {1, 0}, {0, 1}} {
		if found := descend(n, logs, free); found.sum < best.sum {
			best = found
		}
	}
	freedom := float64(len(n) - 3)
	out := Scaling{Deviation: math.Sqrt(best.sum / freedom), Explained: 1}
	if variance := stat.PopVariance(logs) * float64(len(n)); variance > 0 {
		out.Explained = 1 - best.sum/variance
	}
	reach := student(level, freedom) * out.Deviation
	lambda, sigma, kappa := best.standardErrors(float64(len(n)))
	out.Lambda = Interval{Value: math.Exp(best.logLambda), Low: math.Exp(best.logLambda - reach*lambda), High: math.Exp(best.logLambda + reach*lambda), Level: level}
	notNegative := func(v, half float64) Interval {
		return Interval{Value: v, Low: math.Max(v-half, 0), High: v + half, Level: level}
	}
	out.Sigma, out.Kappa = notNegative(best.sigma, reach*sigma), notNegative(best.kappa, reach*kappa)
	return out, finite([]float64{out.Lambda.High, out.Sigma.High, out.Kappa.High})
}

// mergeSteps returns the different concurrencies in ascending order. For each concurrency, it also
// returns the mean logarithm of the throughputs measured at it.
func mergeSteps(steps []Step) (n, logs []float64, ok bool) {
	steps = slices.SortedStableFunc(slices.Values(steps), func(a, b Step) int { return cmp.Compare(a.Concurrency, b.Concurrency) })
	var of []float64
	for i, s := range steps {
		if !(s.Concurrency > 0) || !(s.Throughput > 0) || math.IsInf(s.Concurrency, 0) || math.IsInf(s.Throughput, 0) {
			return nil, nil, false
		}
		of = append(of, math.Log(s.Throughput))
		if i+1 == len(steps) || steps[i+1].Concurrency != s.Concurrency {
			n, logs, of = append(n, s.Concurrency), append(logs, stat.Mean(of)), nil
		}
	}
	return n, logs, len(n) >= MinSteps
}

// approximation is the law for given values of σ and κ and the best value of λ, with the law's
// linear approximation at this point.
type approximation struct {
	sigma, kappa, logLambda float64
	// sum is the sum of the squared residuals.
	sum float64
	// meanS is the mean derivative of the law's logarithm with respect to σ, over all steps. meanK
	// is the mean derivative with respect to κ. The fields ss, sk and kk are sums of products of
	// the centered derivatives. The fields sr and kr are sums of products of the centered
	// derivatives and the residuals.
	meanS, meanK, ss, sk, kk, sr, kr float64
}

// approximate returns the approximation for given values of σ and κ.
func approximate(n, logs []float64, sigma, kappa float64) approximation {
	a := approximation{sigma: sigma, kappa: kappa}
	steps := float64(len(n))
	derivatives := func(x float64) (s, k float64) {
		d := slowdown(x, sigma, kappa)
		return -(x - 1) / d, -x * (x - 1) / d
	}
	left := func(i int) float64 { return logs[i] - math.Log(n[i]/slowdown(n[i], sigma, kappa)) }
	for i, x := range n {
		s, k := derivatives(x)
		a.logLambda += left(i) / steps
		a.meanS += s / steps
		a.meanK += k / steps
	}
	for i, x := range n {
		s, k := derivatives(x)
		s, k, r := s-a.meanS, k-a.meanK, left(i)-a.logLambda
		a.sum += r * r
		a.ss, a.sk, a.kk = a.ss+s*s, a.sk+s*k, a.kk+k*k
		a.sr, a.kr = a.sr+s*r, a.kr+k*r
	}
	return a
}

// descend minimizes the sum of squares with the Levenberg-Marquardt method, starting at σ = κ = 0.
// free[0] belongs to σ and free[1] to κ: if the element is 0, the parameter is fixed at 0.
func descend(n, logs []float64, free [2]float64) approximation {
	at := approximate(n, logs, 0, 0)
	damping := 1e-3
	for tries := 0; tries < 1000 && damping < 1e12; tries++ {
		ss, kk, sk := at.ss*(1+damping), at.kk*(1+damping), at.sk*free[0]*free[1]
		determinant := ss*kk - sk*sk
		next := approximate(n, logs, math.Max(at.sigma+free[0]*(kk*at.sr-sk*at.kr)/determinant, 0), math.Max(at.kappa+free[1]*(ss*at.kr-sk*at.sr)/determinant, 0))
		if !(next.sum < at.sum) {
			damping *= 10
			continue
		}
		at, damping = next, math.Max(damping/10, 1e-12)
	}
	return at
}

// standardErrors returns the standard errors of log(λ), σ and κ for n steps whose standard
// deviation from the curve is 1. They are the square roots of the diagonal of (JᵀJ)⁻¹.
func (a *approximation) standardErrors(n float64) (lambda, sigma, kappa float64) {
	determinant := a.ss*a.kk - a.sk*a.sk
	of := (a.meanS*a.meanS*a.kk - 2*a.meanS*a.meanK*a.sk + a.meanK*a.meanK*a.ss) / determinant
	return math.Sqrt(1/n + of), math.Sqrt(a.kk / determinant), math.Sqrt(a.ss / determinant)
}
