// Package analyze turns records into findings: comparisons with a baseline,
// distributions, thresholds. It sees nothing but the record, and formats
// nothing.
package analyze
