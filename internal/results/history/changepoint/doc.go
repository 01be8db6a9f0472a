// Package changepoint finds the places at which the level of a series changed. It works on numbers
// only; internal/results/history gives them their meaning.
//
// The result for a series is decided point by point: Find reads the points in order, and a change
// that it has confirmed is final. So the changes of a series are also changes of every longer
// series that begins with it, with the same position and confidence. Methods that segment the whole
// series anew after each run (E-divisive, PELT) cannot promise this: another run moves or withdraws
// the changes of yesterday's report.
//
// The price is a delay: a change is confirmed when at least minAfter points follow every place in its
// 95 % range. The method handles the known difficulties of such series:
//
//   - A single outlier, or two, is no change: a point counts at most with clip standard deviations,
//     and fewer than minAfter points are never a level.
//   - A slow drift is reported as one Drift, not as a staircase of steps: a step must explain the
//     points better than a level followed by a slope does.
//   - A growing variance is no change: both sides have their own variance (Welch's test), moderated
//     by that of the series (Smyth, "Linear Models and Empirical Bayes Methods", 2004).
//   - Correlated points count less, by their correlation of lag 1.
//   - A point with a wide interval, or one that a disturbance may have moved, counts less, and the
//     weight does not depend on its value.
//
// The search keeps at most window points of a segment, so that its time is linear in the number of
// points.
package changepoint
