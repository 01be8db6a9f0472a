package web

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// capacitySectionOf returns the part of the page about searches for a capacity.
func capacitySectionOf(found *size.CapacityFindings) (s capacitySection) {
	for _, f := range found.All {
		of := searched(found, f)
		for _, text := range report.CapacitySentences(f) {
			s.Answers = append(s.Answers, said{of, text})
			of = ""
		}
		if curve := report.CapacityCurve(f); curve != nil {
			s.Sheets = append(s.Sheets, cut(curve))
		}
		if c, ok := chart.CapacityCurve(capacityChart, f); ok {
			s.Pictures = append(s.Pictures, pictureOf(&c, "", "capacity"))
		}
	}
	if table := report.CapacitiesTable(found); table != nil {
		s.Sheets = append(s.Sheets, cut(table))
	}
	if c, ok := chart.Capacities(capacityChart, found); ok {
		s.Pictures = append(s.Pictures, pictureOf(&c, "", "capacity"))
	}
	return s
}

// searched names one of several searches by its value; empty for the only one.
func searched(found *size.CapacityFindings, f *size.CapacityFinding) string {
	if found.Parameter == "" {
		return ""
	}
	return found.Parameter + "=" + f.Value
}

// capacityChart names the chart of capacities over a parameter.
const capacityChart = "capacity"

// capacitySection holds the results of searches for a capacity.
type capacitySection struct {
	Answers  []said // one for each search
	Sheets   []sheet
	Pictures []picture
}
