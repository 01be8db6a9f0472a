package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The types of JUnit's XML format. The output is valid for the schemas of Jenkins (junit-10.xsd)
// and of Ant's report (JUnit.xsd).
type (
	junitSuites struct {
		XMLName xml.Name      `xml:"testsuites"`
		Suites  []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID         int             `xml:"id,attr"`
		Package    string          `xml:"package,attr"`
		Name       string          `xml:"name,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // UTC, without a time zone
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"` // in seconds
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Skipped *junitOutcome `xml:"skipped"`
		Failure *junitOutcome `xml:"failure"`
		Error   *junitOutcome `xml:"error"`
	}
	junitOutcome struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// attributeText converts text to the value of an attribute. The result is one line and is not
// empty.
func attributeText(words string) string {
	return text.OrDash(strings.TrimSpace(text.Line(words, text.MaxOutput)))
}

// inSeconds formats a duration in seconds in the format of JUnit.
func inSeconds(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// suiteOf returns a suite for a run. The suite has no test cases yet.
func suiteOf(run *record.Run, name string) *junitSuite {
	s := &junitSuite{Package: "quorumbench", Name: attributeText(name), Hostname: "localhost", Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05"), Time: inSeconds(0)}
	if len(run.Machines) > 0 {
		s.Hostname = attributeText(run.Machines[0].Name)
	}
	for _, p := range []junitProperty{{"tool", "quorumbench " + run.Tool.Version}, {"state", string(run.State)}, {"verdict", string(run.Verdict())}, {"seed", strconv.FormatUint(run.Seed, 10)}} {
		s.Properties = append(s.Properties, junitProperty{p.Name, attributeText(p.Value)})
	}
	return s
}

// add adds a test case and updates the counts of the suite.
func (s *junitSuite) add(name string, seconds float64, c junitCase) {
	c.Class, c.Name, c.Time = s.Name, attributeText(name), inSeconds(seconds)
	s.Tests++
	switch {
	case c.Skipped != nil:
		s.Skipped++
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// outcome returns the outcome of a test case that did not pass, with a sentence that explains it.
// kind is empty for a skipped test case.
func outcome(kind, sentence string) *junitOutcome {
	return &junitOutcome{Message: attributeText(sentence), Type: kind, Text: text.Lines(sentence)}
}

// addLines adds a line to the output of the suite.
func (s *junitSuite) addLines(line string) { s.Out += text.Line(line, text.MaxOutput) + "\n" }

func writeJUnit(w io.Writer, suites ...*junitSuite) error {
	b, err := xml.MarshalIndent(junitSuites{Suites: suites}, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the result as XML: %w", err)
	}
	_, err = w.Write([]byte(xml.Header + string(b) + "\n"))
	return err
}

// ThresholdsJUnit writes the results of a run's thresholds in JUnit's XML format: one suite with a
// test case for each threshold of each trial. A missed threshold is a failure with the same
// sentence as in the terminal report. If a threshold's figure does not apply to a trial, the test
// case is skipped. An unknown result is an error. If not all trials ran, an additional test case
// has an error.
func ThresholdsJUnit(w io.Writer, run *record.Run, results []analyze.ThresholdResult) error {
	s := suiteOf(run, run.Name)
	if run.Finished != nil {
		s.Time = inSeconds(run.Finished.Sub(run.Started).Seconds())
	}
	for i := range results {
		h := &results[i]
		var c junitCase
		switch h.ThresholdStatus {
		case analyze.NotMet:
			c.Failure = outcome("threshold", h.String())
		case analyze.Unknown:
			c.Error = outcome("unknown", h.String())
		case analyze.Inapplicable:
			c.Skipped = outcome("", h.String())
		default:
			s.addLines(h.String())
		}
		s.add(analyze.Label(h.TrialRecord)+": "+h.Threshold, h.TrialRecord.Seconds, c)
	}
	if err := analyze.CheckAllRun(run); err != nil {
		s.add("all trials ran", 0, junitCase{Error: outcome("incomplete", err.Error())})
	}
	s.Err = text.Lines(strings.Join(run.Problems, "\n"))
	return writeJUnit(w, s)
}

// ComparisonsJUnit writes comparisons in JUnit's XML format: a suite for each comparison, with a
// test case for each metric of each trial. The test case of a metric is skipped if the change is
// unknown or unclear. The parameter `failing` has two effects: a metric that is worse is a failure,
// and a suite has an error if it contains a trial in which no change could be judged.
func ComparisonsJUnit(w io.Writer, all []*compare.Comparison, failing bool) error {
	var suites []*junitSuite
	for i, c := range all {
		name, of := c.Run.Name, func(r *record.Run) string { return " of " + r.Started.UTC().Format(time.RFC3339) }
		if len(all) > 1 { // suites must have different names
			name += of(c.Run)
		}
		if c.Run == c.Base {
			name += " compared with the baselines in the same run"
		} else {
			name += " compared with " + c.Base.Name + of(c.Base)
		}
		s := suiteOf(c.Run, name)
		s.ID = i
		s.compare(c, failing)
		suites = append(suites, s)
	}
	return writeJUnit(w, suites...)
}

func (s *junitSuite) compare(c *compare.Comparison, failing bool) {
	for i := range c.Pairs {
		for k := range c.Pairs[i].Figures {
			f := &c.Pairs[i].Figures[k]
			name := c.Pairs[i].Name + " " + f.Title
			s.add(name, 0, s.change(name, f, failing))
		}
	}
	for _, name := range c.OnlyNew {
		s.add(name, 0, junitCase{Skipped: outcome("", name+" has no usable repeat in the baseline")})
	}
	for _, name := range c.OnlyBase {
		s.add(name, 0, junitCase{Skipped: outcome("", name+" has no usable repeat in this run")})
	}
	if err := compare.CheckJudgeable([]*compare.Comparison{c}); err != nil && failing {
		s.add("changes could be judged", 0, junitCase{Error: outcome("unjudged", err.Error())})
	}
	for _, line := range append(c.DifferenceSentences(), compareNotes(c)...) {
		s.addLines(line)
	}
}

// change returns the test case for one figure of a pair of trials. If the test case passes, change
// adds the result to the output of the suite.
func (s *junitSuite) change(name string, f *compare.Compared, failing bool) (c junitCase) {
	words := fmt.Sprintf("%s: %s, baseline %s", name, Value(f.Current), Value(f.Base))
	if !f.Change.Known {
		c.Skipped = outcome("", words+": "+judgementText(&f.Change))
		return c
	}
	if words += ", " + text.SignedPercent(f.Change.Share); !f.Change.Interval {
		c.Skipped = outcome("", words+": "+judgementText(&f.Change))
		return c
	}
	words += fmt.Sprintf(" (95 %% CI %s to %s): %s", text.SignedPercent(f.Change.Low), text.SignedPercent(f.Change.High), judgementText(&f.Change))
	switch word := f.Change.Judgement.Word; {
	case word == stats.Worse && failing:
		c.Failure = outcome("worse", words)
	case word == stats.Unclear:
		c.Skipped = outcome("", words)
	default:
		s.addLines(words)
	}
	return c
}
