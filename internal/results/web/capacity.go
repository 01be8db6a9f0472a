package web

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// capacitySectionOf returns the section of the page about capacity searches.
func capacitySectionOf(found *size.CapacityFindings) (s capacitySection) {
	for _, f := range found.All {
		of := searchName(found, f)
		for _, text := range report.CapacitySentences(f) {
			s.Sentences = append(s.Sentences, trialSentence{of, text})
			of = ""
		}
		if curve := report.CapacityCurve(f); curve != nil {
			s.Sheets = append(s.Sheets, limitRows(curve))
		}
		if c, ok := chart.CapacityCurve(capacityChart, f); ok {
			s.Pictures = append(s.Pictures, newPicture(&c, "", "capacity"))
		}
	}
	if table := report.CapacitiesTable(found); table != nil {
		s.Sheets = append(s.Sheets, limitRows(table))
	}
	if c, ok := chart.Capacities(capacityChart, found); ok {
		s.Pictures = append(s.Pictures, newPicture(&c, "", "capacity"))
	}
	return s
}

// searchName returns a search's name, such as nodes=3, if the run contains one search for each
// value of a parameter. If the run contains only one search, it returns an empty string.
func searchName(found *size.CapacityFindings, f *size.CapacityFinding) string {
	if found.Parameter == "" {
		return ""
	}
	return found.Parameter + "=" + f.Value
}

// capacityChart is the name of the charts of capacity searches.
const capacityChart = "capacity"

// capacitySection holds the results of capacity searches.
type capacitySection struct {
	Sentences []trialSentence // one for each search
	Sheets    []sheet
	Pictures  []picture
}
