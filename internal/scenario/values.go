package scenario

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// ParseArrival parses a name that Arrival.String returns.
func ParseArrival(s string) (Arrival, error) {
	for a := range numArrivals {
		if a.String() == s {
			return a, nil
		}
	}
	return 0, fmt.Errorf("there is no arrival %q; choose closed, constant or poisson", s)
}

var percentageOfTrial = regexp.MustCompile(`^([^%]*)%\s*of\s+(\S+)$`)

// parseRate parses a number of operations per second, such as 5000, or a percentage of an earlier
// trial's throughput, such as "50% of put-leader".
func parseRate(s string) (Rate, error) {
	if m := percentageOfTrial.FindStringSubmatch(s); m != nil {
		percent, err := text.ParseNumber(strings.TrimSpace(m[1]))
		return Rate{Percent: percent, SourceTrial: m[2]}, err
	}
	n, err := text.ParseNumber(s)
	if err != nil {
		return Rate{}, fmt.Errorf("%q is not a rate; write operations per second, for example 5000, or a percentage of a trial's throughput, for example 50%% of TRIAL", s)
	}
	return Rate{PerSecond: n}, nil
}

// String returns the rate in the form that parseRate accepts.
func (r Rate) String() string {
	if r.SourceTrial != "" {
		return text.FormatNumber(r.Percent) + "% of " + r.SourceTrial
	}
	return text.FormatNumber(r.PerSecond)
}
