package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// perfdash reads perfdash JSON, as Kubernetes' and etcd's performance jobs write it. A series is the
// labels of an item, and each of its numbers is a metric.
func (s *Source) perfdash(b []byte) error {
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
		return fmt.Errorf("it is no perfdash JSON: %w", err)
	}
	if len(file.DataItems) == 0 {
		return errors.New(`it is no perfdash JSON, because it has no "dataItems"; give a run directory, perfdash JSON or output of go test -bench`)
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
				p.LeftOut = "0"
			}
			s.samples = append(s.samples, sample{trial, metric, p})
		}
	}
	return nil
}

// percentileName returns the name of a percentile, such as p99 for Perc99; other names stay.
func percentileName(name string) string {
	if digits, ok := strings.CutPrefix(name, "Perc"); ok && len(digits) >= 2 && strings.Trim(digits, "0123456789") == "" {
		if len(digits) > 2 {
			digits = digits[:2] + "." + digits[2:]
		}
		return "p" + digits
	}
	return name
}

// labels returns the values of labels in the order of their names.
func labels(of map[string]string) string {
	words := make([]string, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] != "" {
			words = append(words, of[name])
		}
	}
	if len(words) == 0 {
		return "all"
	}
	return strings.Join(words, " ")
}
