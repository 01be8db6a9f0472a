package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readPerfdash reads perfdash JSON, which the performance jobs of Kubernetes and etcd write. The
// labels of an item form the name of a trial, and each number in the item is a metric of this
// trial.
func (s *Source) readPerfdash(b []byte) error {
	var file struct {
		Version   string `json:"version"`
		DataItems []struct {
			Data   map[string]*float64 `json:"data"`
			Unit   string              `json:"unit"`
			Labels map[string]string   `json:"labels"`
		} `json:"dataItems"`
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return fmt.Errorf("the file is not perfdash JSON: %w", err)
	}
	if len(file.DataItems) == 0 {
		return errors.New(`the file is not perfdash JSON, because it has no "dataItems"; give a run directory, perfdash JSON or output of go test -bench`)
	}
	for _, item := range file.DataItems {
		trial := labels(item.Labels)
		for _, name := range slices.Sorted(maps.Keys(item.Data)) {
			x := item.Data[name]
			if x == nil {
				continue
			}
			metric, factor := metricOf(percentileName(name), item.Unit)
			p := Point{Value: *x * factor, Repeats: 1, Label: file.Labels["commit"]}
			if *x <= 0 {
				p.ExclusionReason = "0"
			}
			s.samples = append(s.samples, sample{trial, metric, p})
		}
	}
	return nil
}

// percentileName converts the name of a percentile, for example Perc99 to p99. It returns other
// names unchanged.
func percentileName(name string) string {
	if digits, ok := strings.CutPrefix(name, "Perc"); ok && len(digits) >= 2 && strings.Trim(digits, "0123456789") == "" {
		if len(digits) > 2 {
			digits = digits[:2] + "." + digits[2:]
		}
		return "p" + digits
	}
	return name
}

// labels joins the values of the labels in the order of the labels' names. If all values are empty,
// it returns "all".
func labels(values map[string]string) string {
	words := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] != "" {
			words = append(words, values[name])
		}
	}
	if len(words) == 0 {
		return "all"
	}
	return strings.Join(words, " ")
}
