// Package changepoint finds the points at which the level of a series changed. It works on numbers
// only; internal/results/analyze/history interprets them.
//
// Find reads the points in order, and a change that it has confirmed is final. So if points are
// appended to a series, its earlier changes keep their position and confidence. Methods that
// segment the whole series again after each run (E-divisive, PELT) cannot guarantee this: a new run
// may move or withdraw changes that yesterday's report contained.
//
// The price is a delay: Find confirms a change only when at least minAfter points follow the 95 %
// range of its position. The method handles the known difficulties of such series:
//
//   - One or two outliers are no change: the deviation of a point counts as at most clip standard
//     deviations, and fewer than minAfter points never form a level.
//   - A slow drift is reported as one Drift, not as a staircase of steps: a change is a step only
//     if a step explains the points better than a level followed by a slope.
//   - A growing variance is no change: each side has its own variance (Welch's test), which is
//     moderated by the variance of the series (Smyth, "Linear Models and Empirical Bayes Methods",
//     2004).
//   - Correlated points count less, depending on their correlation at lag 1.
//   - A point counts less if its interval is wide or if a disturbance may have moved it. The weight
//     of a point does not depend on its value.
//
// The search uses at most `window` points of a segment, so its time is linear in the number of
// points.
package changepoint
