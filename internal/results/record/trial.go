package record

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Trial is a trial's result with its conditions: what --format json prints and
// what run.json has for each trial. Counts and times are those of the measured
// window.
type Trial struct {
	Schema  string `json:"schema"`
	State   State  `json:"state"`
	Failure string `json:"failure,omitempty"` // one sentence
	Folder  string `json:"folder"`            // in the run directory; empty when there is none
	Conditions

	Started time.Time  `json:"started"`
	Opened  *time.Time `json:"window_opened"` // null if it never was
	Seconds float64    `json:"seconds"`       // the window's length

	// WarmupRun is how long the warm-up was, in seconds, and WarmupSteady
	// whether throughput was steady at its end; null where nobody waited for it.
	WarmupRun    *float64 `json:"warmup_seconds_run"`
	WarmupSteady *bool    `json:"warmup_steady"`

	Due        uint64 `json:"due"`
	Operations uint64 `json:"operations"` // of those due: completed
	Errors     uint64 `json:"errors"`     // of those due: failed
	Conflicts  uint64 `json:"conflicts"`  // of Operations
	Misses     uint64 `json:"misses"`     // of Operations
	// Stale and Unverifiable are of Operations too: reads of a value that was
	// written before the newest, and of one too short to carry a checksum.
	Stale        uint64            `json:"stale"`
	Unverifiable uint64            `json:"unverifiable"`
	KeysRead     *uint64           `json:"keys_read"` // by gets, ranges and txn-gets that completed; null without any
	WrongAnswers uint64            `json:"wrong_answers"`
	ErrorsByKind map[string]uint64 `json:"errors_by_kind"`
	ErrorTexts   map[string]string `json:"error_texts"`
	Completed    uint64            `json:"completed_in_window"` // successes, whenever due
	PerSecond    float64           `json:"operations_per_second"`
	LongestGap   float64           `json:"longest_gap_seconds"`
	LongestGapAt *float64          `json:"longest_gap_at_seconds"` // of the window; null if it is below 1 ms
	FailedFrom   *float64          `json:"failed_from_percentile"`

	ResponseTime        Times            `json:"response_time_ns"`
	SuccessResponseTime Times            `json:"success_response_time_ns"`
	ServiceTime         Times            `json:"service_time_ns"`
	ErrorTimes          map[string]Times `json:"error_times_ns"`
	Lateness            *Times           `json:"lateness_ns"` // null in a closed loop
	// Of all operations due, in nanoseconds from when one was due until it ended,
	// failed ones included: the slowest, and the standard deviation; null without
	// any.
	Slowest *float64 `json:"slowest_ns,omitempty"`
	Spread  *float64 `json:"spread_ns,omitempty"`

	ByRole      []Served `json:"by_role"`
	ByOperation []Served `json:"by_operation"` // empty unless the trial has a mix
	// ByCall has the calls of an application, by their kinds; absent for any other load.
	ByCall []Calls `json:"by_call,omitempty"`
	// ByMember is each member's part of the load and what happened to its
	// connections.
	ByMember []ByMember `json:"by_member"`
	Roles    Roles      `json:"roles"`
	// ByWorker is what each of several workers did; absent where there was one.
	ByWorker []ByWorker `json:"by_worker,omitempty"`
	// ByHost is what each host was of a trial that uses hosts of the scenario with clocks
	// of their own; absent in any other.
	ByHost []ByHost `json:"by_host,omitempty"`
	// ClockSet is how the clock of the machine was set that conducted the run; absent
	// where it was not.
	ClockSet *ClockSet `json:"clock_set,omitempty"`
	Together
	// ByClient is how evenly the clients of a closed loop were served; absent in an
	// open loop.
	ByClient *ByClient `json:"by_client,omitempty"`

	// Watch is what the watchers got; null without any.
	Watch *Watched `json:"watch,omitempty"`
	// Retries is how often a conflict made stm operations, of those that
	// completed, begin again; null without any.
	Retries *uint64  `json:"retries,omitempty"`
	Hashes  *Hashes  `json:"hashes,omitempty"`  // null unless they were asked for
	Answers *Answers `json:"answers,omitempty"` // null unless they were to be checked
	Cleanup *Cleanup `json:"cleanup,omitempty"` // likewise
	// DataDir is a member's data folder that was looked at after the load; null
	// without one.
	DataDir *DataDir `json:"data_dir,omitempty"`
	// Replay is of a load that was a recording sent again; null for any other.
	Replay *Replay `json:"replay,omitempty"`

	CarriedIn      uint64  `json:"carried_in"`
	CarriedInAgeNS int64   `json:"carried_in_age_ns"`
	HighestFlight  int     `json:"max_in_flight"`
	MeanInFlight   float64 `json:"mean_in_flight"`
	Capped         uint64  `json:"in_flight_capped"`
	NoRoom         uint64  `json:"waited_for_connection"` // open loop: operations that found every connection occupied
	// ConnectionWaitNS is for how long an operation of a closed loop waited on average
	// until its connection, which other clients' operations occupied, took it.
	ConnectionWaitNS float64 `json:"connection_wait_ns"`
	Reconnects       uint64  `json:"reconnects"`
	Expired          uint64  `json:"sessions_expired"`
	measure.Counts
	LostMembers []string `json:"lost_members"`
	TermChanges int      `json:"term_changes"`
	// Faults are those that the scenario asks for, with what became of them. Of the
	// Errors and TermChanges, those in the time of a fault are meant (Caused).
	Faults           []Fault `json:"faults,omitempty"`
	MeantErrors      uint64  `json:"errors_in_faults,omitempty"`
	MeantTermChanges int     `json:"term_changes_in_faults,omitempty"`
	// HeldClients is how many clients of a closed loop waited for a member from
	// which the load had moved away, and HeldLongestNS the longest of that.
	HeldClients   int   `json:"held_clients"`
	HeldLongestNS int64 `json:"held_longest_ns"`

	CPUSeconds  float64  `json:"client_cpu_seconds"`
	CPUPerOp    *float64 `json:"client_cpu_ns_per_operation"` // null without operations
	MaxRSSBytes int64    `json:"client_max_rss_bytes"`
	// SamplingCPUSeconds is what it took to sample processes and machines, on all
	// machines together; null where that is not known.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds,omitempty"`
	// What the members' processes used in the window; null where they do not
	// run on this machine.
	StoreCPUSeconds  *float64 `json:"store_cpu_seconds"`
	StoreCPUPerOp    *float64 `json:"store_cpu_ns_per_operation"` // null without operations, too
	StoreMaxRSSBytes *int64   `json:"store_max_rss_bytes"`        // the sum of each process's most

	StoreCosts

	LoopCPUNS      int64    `json:"loop_cpu_ns"`
	LongestPauseNS int64    `json:"longest_pause_ns"`
	RunDelayNS     int64    `json:"run_delay_ns"`
	RunSlices      int64    `json:"run_slices"`
	ThrottledNS    *int64   `json:"throttled_ns"`
	StolenShare    *float64 `json:"stolen_cpu_share"`
	// Shares of all the machine's processor time: used by anything, and used by
	// other programs than the generator and the members; null where not known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// PausedNS is how long the generator's loops were late for their own
	// wake-ups, all together; Added is what the generator itself added to the
	// times, null where it was not sampled.
	PausedNS    int64              `json:"paused_ns"`
	Overhead    *GeneratorOverhead `json:"generator_added"`
	MeanResting float64            `json:"mean_resting_clients"`

	Verdict verdict.Verdict `json:"verdict"`

	// Dir is the run directory that the trial was read from; empty for one that was
	// not read by Open.
	Dir string `json:"-"`
	// Calibration is the run's, where it is of the machine that generated this load.
	Calibration *Calibration `json:"-"`
	// Events, by their time, Timeline, Machines and Stores are what Run.ReadEvents read.
	Events   []Event      `json:"-"`
	Timeline []Row        `json:"-"`
	Machines []MachineRow `json:"-"`
	Stores   []StoreRow   `json:"-"`
}

// NewTrial makes a trial's result of what was measured: every figure that
// anybody prints has its source here. warmup may be nil. It changes nothing
// that it is given, and keeps no pointer into the totals, which have a whole generator.
func NewTrial(c Conditions, o Observed, measured, warmup *measure.Totals, roles Roles) Trial {
	all := &sums{}
	for _, cell := range measured.Cells {
		all.add(cell)
	}
	t := pending(c, o.Started)
	t.State, t.Failure = cmp.Or(o.State, Complete), o.Failure
	if !o.Opened.IsZero() {
		t.Opened = new(o.Opened.UTC())
	}
	t.count(measured)
	t.setTimes(all, measured)
	t.ByRole = byRole(measured.Cells, roles)
	if len(c.Mix) > 1 {
		t.ByOperation = byOperation(measured.Cells)
	}
	t.ByMember = byMember(measured, o.Members, o.Answered)
	t.Roles = append(t.Roles, roles...)
	t.ByClient = byClient(measured.Connections)
	t.ByWorker = byWorker(measured.Parts)
	t.ByHost, t.ClockSet = o.Hosts, o.ClockSet
	t.Together = together(t.ByWorker, measured)
	if t.Watch = newWatched(c.Watch, measured); t.Watch != nil {
		w, each := t.Watch, t.EventsPerWrite()
		w.FromDue, w.FromSent = Times{w.FromDue.Grouped(each)}, Times{w.FromSent.Grouped(each)}
	}
	t.Hashes, t.Answers, t.DataDir = o.Hashes.named(o.Members), o.Answers.Named(o.Members), o.DataDir
	t.Replay, t.ByCall = o.Replay, callsOf(measured)
	if c.STM != nil {
		t.Retries = new(measured.Retries)
	}
	t.observe(o, measured)
	t.Answers.setDiskShare(t.Due, t.Written)
	t.Overhead = newOverhead(all, measured, c.Open(), t.ConnectionWaitNS, waitsOf(o.RanForLoad, orZero(t.ThrottledNS), t.RunDelayNS, t.Loops, t.Seconds))
	f := t.figures(all, measured, warmup, o.RanForLoad)
	f.Halves = halves(o.Answered, measured.Seconds)
	t.Verdict = verdict.Judge(f)
	return t
}

// pending is a trial that has conditions and no result.
func pending(c Conditions, started time.Time) Trial {
	c.Endpoints, c.Notes = orEmpty(c.Endpoints), orEmpty(c.Notes)
	return Trial{
		Schema: TrialSchema, State: Incomplete, Conditions: c, Started: started.UTC(),
		ErrorsByKind: map[string]uint64{}, ErrorTexts: map[string]string{}, ErrorTimes: map[string]Times{},
		ByRole: []Served{}, ByOperation: []Served{}, ByMember: []ByMember{}, Roles: Roles{}, LostMembers: []string{},
		Verdict: verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{}, Notes: []string{}},
	}
}

func orZero[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (t *Trial) count(m *measure.Totals) {
	t.Seconds = m.Seconds
	t.Due, t.Completed = m.Due, m.Done
	t.addOutcomes(&m.Outcomes)
	t.Conflicts, t.Misses, t.WrongAnswers = m.Outcomes[kv.Conflict], m.Outcomes[kv.Miss], m.Outcomes[kv.WrongAnswer]
	t.Stale, t.Unverifiable = m.Outcomes[kv.Stale], m.Outcomes[kv.Unverifiable]
	if t.has(kv.Kind.Reads) {
		t.KeysRead = new(m.Keys)
	}
	for o, text := range m.ErrorTexts {
		if m.Outcomes[o] > 0 { // the first may have been in the warm-up, and the only one
			t.ErrorTexts[o.String()] = text
		}
	}
	if m.Seconds > 0 {
		t.PerSecond = float64(m.Done) / m.Seconds
	}
	t.LongestGap = m.LongestGap
	if m.LongestGap > 0 {
		t.LongestGapAt = new(m.LongestGapAt)
	}
	if p, ok := measure.FailedFrom(t.Operations, t.Errors); ok {
		t.FailedFrom = &p
	}
}

// addOutcomes counts what completed and what failed.
func (t *Trial) addOutcomes(outcomes *[kv.NumOutcomes]uint64) {
	for o, n := range outcomes {
		switch o := kv.Outcome(o); {
		case !o.Failed():
			t.Operations += n
		case n > 0:
			t.Errors += n
			t.ErrorsByKind[o.String()] += n
		}
	}
}

func (t *Trial) setTimes(all *sums, m *measure.Totals) {
	t.ResponseTime = Times{measure.Summarize(all.response, t.Errors)}
	t.SuccessResponseTime = Times{measure.Summarize(all.response, 0)}
	t.ServiceTime = Times{measure.Summarize(all.service, t.Errors)}
	for i, h := range all.errors {
		if count(h) > 0 {
			t.ErrorTimes[(kv.NotSent + kv.Outcome(i)).String()] = Times{measure.Summarize(h, 0)}
		}
	}
	every := measure.NewHistogram()
	for _, h := range append(all.errors[:], all.response) {
		measure.Add(every, h)
	}
	if every.TotalCount() > 0 {
		t.Slowest, t.Spread = new(float64(every.Max())), new(every.StdDev())
	}
	if t.Open() {
		t.Lateness = &Times{measure.Summarize(m.Lateness, 0)}
	} else if n := count(all.response); n > 0 && !t.NewConnection { // which ends the session before
		t.ConnectionWaitNS = math.Round(max(all.response.Mean()-all.service.Mean()-float64(m.Disturbed.Idle)/float64(n), 0))
	}
}

func (t *Trial) observe(o Observed, m *measure.Totals) {
	t.CarriedIn, t.CarriedInAgeNS = m.CarriedIn, m.CarriedInAge
	t.HighestFlight, t.MeanInFlight, t.Capped, t.NoRoom = m.MaxInFlight, m.MeanInFlight, m.Capped, m.NoRoom
	t.Counts, t.Reconnects, t.Expired = m.Counts, m.Reconnects, m.Expired
	t.LoopCPUNS, t.LongestPauseNS, t.RunDelayNS, t.RunSlices = m.LoopCPU, m.LongestPause, m.RunDelay, m.Slices
	t.CPUSeconds, t.MaxRSSBytes = o.CPUSeconds, o.MaxRSSBytes
	t.ThrottledNS, t.StolenShare, t.BusyShare, t.ForeignShare = o.ThrottledNS, o.StolenShare, o.BusyShare, o.ForeignShare
	t.PausedNS, t.MeanResting = m.Paused, m.MeanResting
	t.WarmupRun, t.WarmupSteady = o.WarmupSeconds, o.Steady
	t.LostMembers = append(t.LostMembers, o.LostMembers...)
	t.TermChanges = o.TermChanges
	t.Faults, t.MeantErrors, t.MeantTermChanges = o.Faults, min(o.MeantErrors, t.Errors), o.MeantTermChanges
	t.HeldClients, t.HeldLongestNS = m.Held, m.HeldLongest
	t.SamplingCPUSeconds = o.SamplingCPUSeconds
	t.CPUPerOp = perOperation(o.CPUSeconds, m.Done)
	t.StoreCosts = t.storeCosts(&o, m)
	if s := o.Store; s != nil {
		t.StoreCPUSeconds, t.StoreMaxRSSBytes, t.StoreCPUPerOp = new(s.CPUSeconds), new(s.MaxRSSBytes), perOperation(s.CPUSeconds, m.Done)
	}
}

// perOperation is processor time, given in seconds, in nanoseconds for each of
// so many operations; nil without any.
func perOperation(cpuSeconds float64, done uint64) *float64 {
	if done == 0 {
		return nil
	}
	return new(math.Round(1e9 * cpuSeconds / float64(done)))
}

// MarshalJSON writes the trial with its load.
func (t Trial) MarshalJSON() ([]byte, error) {
	load, err := t.Encode()
	if err != nil {
		return nil, err
	}
	type plain Trial
	return json.Marshal(struct {
		plain
		Seed uint64          `json:"seed"` // of this trial
		Sent json.RawMessage `json:"load"`
	}{plain(t), t.Seed, load})
}

// UnmarshalJSON reads a trial and distinguishes the figures that failed from those
// that the sample does not support.
func (t *Trial) UnmarshalJSON(b []byte) error {
	type plain Trial
	read := struct {
		*plain
		Seed uint64          `json:"seed"`
		Load json.RawMessage `json:"load"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	if len(read.Load) > 0 {
		if err := t.Decode(read.Load); err != nil {
			return err
		}
	}
	t.Seed, t.ByMember = read.Seed, orEmpty(t.ByMember)
	t.ResponseTime.restore(t.Errors)
	t.ServiceTime.restore(t.Errors)
	if w := t.Watch; w != nil {
		w.FromDue.restore(w.Lost)
		if w.ToLast != nil {
			w.ToLast.restore(w.Lost)
		}
		w.FromSent.restore(w.Lost)
	}
	for i := range t.ByRole {
		t.ByRole[i].restore()
	}
	for i := range t.ByWorker {
		t.ByWorker[i].ResponseTime.restore(t.ByWorker[i].Errors)
	}
	for i := range t.ByOperation {
		t.ByOperation[i].restore()
	}
	for i := range t.ByCall {
		t.ByCall[i].restore()
	}
	return nil
}
