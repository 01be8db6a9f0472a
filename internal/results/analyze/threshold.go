package analyze

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Threshold is a limit for one metric of some trials, such as put-leader:p99.9<50ms.
type Threshold struct {
	Text   string // the threshold as the user wrote it
	Trials string // a pattern for path.Match; empty for all trials
	Metric string
	Op     string // < <= > or >=
	Limit  float64
	// Share is set if the limit is a share, for example an error rate of 1%.
	Share  bool
	Figure figures.Figure
}

// Missed describes a trial that misses a threshold, or for which the result is unknown.
type Missed struct {
	Threshold string `json:"threshold"`
	Trial     string `json:"trial"`
	Repeat    int    `json:"repeat"`
	// Figure is the trial's value as text. It is empty if there is no value.
	Figure string `json:"figure"`
	// UndecidedReason is the reason why the trial has no value that can be compared, or why its
	// value is not conclusive.
	UndecidedReason string `json:"why,omitempty"`
	// Undecided is set if the result is unknown: the trial does not have the value or is invalid,
	// or a disturbance may explain why the value misses the limit.
	Undecided bool `json:"not_known,omitempty"`

	repeated bool
}

// String returns a sentence without the full stop.
func (m Missed) String() string {
	name := m.Trial
	if m.repeated {
		name += fmt.Sprintf(" repeat %d", m.Repeat)
	}
	text := m.Threshold + " is missed by " + name
	if m.Undecided {
		text = m.Threshold + " could not be judged for " + name
	}
	if m.Figure != "" {
		text += " with " + m.Figure
	}
	if m.UndecidedReason != "" {
		text += ": " + m.UndecidedReason
	}
	return text
}

// ParseThreshold parses the format [TRIAL:]METRIC OP VALUE. The text of its error is one sentence.
func ParseThreshold(text string) (Threshold, error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Threshold{}, fmt.Errorf("%q contains no < or >; write a metric, one of < <= > >=, and a limit, as in p99<20ms", text)
	}
	t := Threshold{Text: text, Op: text[at : at+1]}
	left, right := strings.TrimSpace(text[:at]), text[at+1:]
	if rest, ok := strings.CutPrefix(right, "="); ok {
		t.Op, right = t.Op+"=", rest
	}
	t.Metric = left
	if i := strings.LastIndexByte(left, ':'); i >= 0 {
		t.Trials, t.Metric = strings.TrimSpace(left[:i]), strings.TrimSpace(left[i+1:])
		if _, err := path.Match(t.Trials, ""); err != nil {
			return t, fmt.Errorf("%q: the trial pattern %q is invalid; close its brackets", text, t.Trials)
		}
	}
	var err error
	if t.Figure, err = figures.ParseMetric(t.Metric); err != nil {
		return t, fmt.Errorf("%q: %w", text, err)
	}
	t.Metric = t.Figure.Name
	if err := t.limit(strings.TrimSpace(right)); err != nil {
		return t, fmt.Errorf("%q: %w", text, err)
	}
	return t, nil
}

func (t *Threshold) limit(limit string) (err error) {
	share := strings.HasSuffix(limit, "%")
	_, isTime := t.Figure.Unit.Time()
	switch {
	case isTime:
		if t.Limit, err = duration(limit); err != nil {
			return fmt.Errorf("%s is a time, but %q is not; write a time such as 20ms", t.Metric, limit)
		}
		return nil
	case share && t.Figure.Unit != measure.Share && t.Figure.Total == nil:
		return fmt.Errorf("%s is not a share, so its limit cannot be a percentage such as %q; write a number", t.Metric, limit)
	case share:
		t.Share = true
		t.Limit, err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(limit, "%")), 64)
		t.Limit /= 100
	case t.Figure.Unit == measure.Bytes:
		var n int
		n, err = text.ParseSize(limit)
		t.Limit = float64(n)
	default:
		t.Limit, err = text.ParseNumber(limit)
	}
	if err != nil || math.IsNaN(t.Limit) || math.IsInf(t.Limit, 0) || t.Limit < 0 {
		return fmt.Errorf("%q is not a limit for %s; write a number", limit, t.Metric)
	}
	return nil
}

func duration(text string) (float64, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err == nil && d < 0 {
		err = fmt.Errorf("the time is negative")
	}
	return float64(d), err
}

// CheckThresholds returns an error if a threshold does not apply to any of a run's trials.
func CheckThresholds(all []Threshold, trials []record.Conditions) error {
	var names []string
	for i := range trials {
		names = AppendNew(names, trials[i].Name)
	}
	for _, t := range all {
		var named []string
		applies := false
		for i := range trials {
			if name := trials[i].Name; t.names(name) {
				applies = applies || t.Figure.Applies(&trials[i])
				named = AppendNew(named, name)
			}
		}
		switch {
		case len(named) == 0 && len(names) > 0:
			return fmt.Errorf("%q: there is no trial %q; %s", t.Text, t.Trials, nearest(t.Trials, names))
		case len(named) > 0 && !applies:
			return fmt.Errorf("%q: %s", t.Text, t.Figure.RefusalReason(named))
		}
	}
	return nil
}

func nearest(name string, names []string) string {
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	for _, n := range names {
		if strings.HasPrefix(n, name) && name != "" {
			return fmt.Sprintf("did you mean %q?", name+"*")
		}
	}
	return "the first trial is " + strconv.Quote(names[0])
}

func (t *Threshold) names(trial string) bool {
	if t.Trials == "" {
		return true
	}
	ok, _ := path.Match(t.Trials, trial) // ParseThreshold has checked the pattern
	return ok
}

// ThresholdStatus is the result of comparing a trial with a threshold.
type ThresholdStatus uint8

// The values of ThresholdStatus. Inapplicable means that this kind of trial cannot have the metric.
// Unknown means that the trial could have the metric but does not, or that its value is not
// conclusive.
const (
	Met ThresholdStatus = iota
	NotMet
	Inapplicable
	Unknown
)

// ThresholdResult is the result of comparing a trial with a threshold that applies to the trial's
// name.
type ThresholdResult struct {
	Missed // Figure is also set if the threshold is met
	ThresholdStatus
	TrialRecord *record.Trial
}

// String returns a sentence without the full stop.
func (h *ThresholdResult) String() string {
	switch h.ThresholdStatus {
	case Met:
		return fmt.Sprintf("%s is met by %s with %s", h.Threshold, Label(h.TrialRecord), h.Figure)
	case Inapplicable:
		return h.Threshold + ": " + h.UndecidedReason
	}
	return h.Missed.String()
}

// EvaluateThresholds compares each trial in a run with each threshold that applies to the trial's
// name. The trials are in the scenario's order. Planned trials that did not run are not included;
// CheckAllRun reports them.
func EvaluateThresholds(all []Threshold, run *record.Run) ([]ThresholdResult, error) {
	var held []ThresholdResult
	for _, t := range all {
		for _, trial := range TrialsInOrder(run) {
			if !t.names(trial.Name) {
				continue
			}
			h := ThresholdResult{TrialRecord: trial, ThresholdStatus: Inapplicable}
			if t.Figure.Applies(&trial.Conditions) {
				var err error
				if h.Missed, h.ThresholdStatus, err = t.check(trial); err != nil {
					return held, err
				}
				h.Undecided = h.ThresholdStatus == Unknown
			} else {
				h.UndecidedReason = t.Figure.RefusalReason([]string{Label(trial)})
			}
			h.Threshold, h.Trial, h.Repeat, h.repeated = t.Text, trial.Name, trial.Repeat, trial.Repeated()
			held = append(held, h)
		}
	}
	return held, nil
}

// CheckRun returns the results of EvaluateThresholds for the trials that miss a threshold, or for
// which the result is unknown.
func CheckRun(all []Threshold, run *record.Run) ([]Missed, error) {
	missed := []Missed{}
	held, err := EvaluateThresholds(all, run)
	for i := range held {
		if s := held[i].ThresholdStatus; s == NotMet || s == Unknown {
			missed = append(missed, held[i].Missed)
		}
	}
	return missed, err
}

// CheckAllRun returns an error if some planned trials did not run, because such trials cannot meet
// a threshold. It returns nil if all trials ran.
func CheckAllRun(run *record.Run) error {
	if len(run.Trials) >= run.Planned {
		return nil
	}
	return fmt.Errorf("thresholds cannot be met because not all trials ran: %d of %d began; complete the run with run --resume", len(run.Trials), run.Planned)
}

// check compares one trial with the threshold.
func (t *Threshold) check(trial *record.Trial) (m Missed, s ThresholdStatus, err error) {
	if !HasFigures(trial) {
		m.UndecidedReason = "the trial has no result"
		if trial.Failure != "" {
			m.UndecidedReason += ": " + trial.Failure
		}
		return m, Unknown, nil
	}
	v, reason, err := t.value(trial)
	switch m.UndecidedReason = reason; {
	case err != nil || reason != "" && !v.Failed:
		return m, Unknown, err
	case v.Failed: // a failed operation is slower than any limit
		return m, NotMet, nil
	}
	m.Figure = v.Unit.Text(v.Number)
	if trial.Verdict.State == verdict.Invalid {
		m.UndecidedReason = "the result is invalid"
		if len(trial.Verdict.Reasons) > 0 {
			m.UndecidedReason += ": " + trial.Verdict.Reasons[0].Text
		}
		return m, Unknown, nil
	}
	if t.holds(v) {
		return m, Met, nil
	}
	if m.UndecidedReason = t.disturbanceReason(trial, v); m.UndecidedReason != "" {
		return m, Unknown, nil
	}
	return m, NotMet, nil
}

// disturbanceReason returns a reason if disturbances of the trial may explain why a value misses
// the limit: without their largest possible effect, the value would meet the limit. Otherwise it
// returns an empty string.
func (t *Threshold) disturbanceReason(trial *record.Trial, v figures.Value) string {
	effect, direction := trial.Verdict.Effect.ForFigure(t.Metric), "raised"
	if t.Figure.Direction == figures.HigherIsBetter {
		v.Number /= max(1-effect, 0)
		direction = "lowered"
	} else {
		v.Number /= 1 + effect
	}
	if effect < verdict.NotedEffect || !t.holds(v) { // the verdict does not name smaller effects
		return ""
	}
	return fmt.Sprintf("a disturbance may have %s it by %s, which may explain the miss; remove the disturbance that the verdict names, and repeat the run", direction, trial.Verdict.Effect.BoundText(t.Metric))
}

// value returns the trial's value of the metric, or the reason why it is unknown.
func (t *Threshold) value(trial *record.Trial) (v figures.Value, reason string, err error) {
	switch {
	case t.Figure.Times != nil:
		return t.time(trial)
	case t.Share && t.Figure.Total != nil && t.Figure.Unit != measure.Share:
		v, reason = t.Figure.Share(trial)
		return v, reason, nil
	}
	if v = t.Figure.Value(trial); !v.Known {
		reason = t.Figure.MissingReason
	}
	return v, reason, nil
}

// time returns the value of a metric that is a time. If the trial's result does not contain the
// percentile, time computes it from the trial's histograms.
func (t *Threshold) time(trial *record.Trial) (v figures.Value, reason string, err error) {
	times, failed := t.Figure.Times.Extract(trial)
	if t.Figure.Recorded() {
		v = t.Figure.Value(trial)
	} else if v, err = t.percentile(trial, times.Count, failed); err != nil {
		return v, "", err
	}
	if !v.Known {
		reason = t.Figure.Times.Samples.UnknownReason(v, times.Count)
	}
	return v, reason, nil
}

// percentile computes a percentile from the trial's histograms. The parameter `count` is the number
// of operations, including failed operations.
func (t *Threshold) percentile(trial *record.Trial, count, failed uint64) (figures.Value, error) {
	whole := measure.NewHistogram()
	of := t.Figure.Times.Log(trial)
	keep := func(tag record.Tag) bool { return belongsTo(tag, of) }
	err := record.ReadIntervals(trial.Dir, trial.Folder, keep, func(i *record.Interval) error {
		whole = i.AddTo(whole)
		return nil
	})
	if err != nil {
		return figures.Value{}, err
	}
	if got := uint64(whole.TotalCount()) + failed; got != count {
		return figures.Value{}, fmt.Errorf("the histograms of %s contain %d %s, but the trial's result contains %d, so %s is unknown; the record is damaged", trial.Folder, got, t.Figure.Times.Samples.Plural, count, t.Metric)
	}
	p, each := t.Figure.Percentile, uint64(1)
	if of == record.WatchDue || of == record.WatchSent {
		each = trial.EventsPerWrite()
	}
	return figures.TimeValue(measure.DropUnsupported([]measure.Figure{measure.Percentile(whole, failed, p)}, count, each, p)[0]), nil
}

// belongsTo reports whether a histogram in latency.hlog is part of the distribution of the times of
// the kind `timeKind`. The histogram must belong to the measurement window, unless it is about the
// creation of watchers.
func belongsTo(tag record.Tag, timeKind record.Time) bool {
	return tag.Time == timeKind && (tag.Phase == measure.Measured || timeKind == record.WatchCreation)
}

// holds reports whether a value meets the limit.
func (t *Threshold) holds(v figures.Value) bool {
	x := v.Number
	if ns, ok := v.Unit.Time(); ok {
		x *= ns // the limit is in nanoseconds, too
	}
	c := cmp.Compare(x, t.Limit)
	switch t.Op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}
