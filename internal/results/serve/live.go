package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	// pollInterval is the interval at which a stream reads the run directory. A run writes to this
	// directory once per second.
	pollInterval = 250 * time.Millisecond
	// maxSeconds and maxEvents are the maximum numbers of timeline rows (one per second) and of
	// events in one update. They limit the first update of a stream that starts late in a trial.
	maxSeconds, maxEvents = 600, 100
	// maxProcesses is the maximum number of processes in one update.
	maxProcesses = 100
	// keepAlive is the time after which an idle stream sends a comment, so that proxies do not
	// close the connection.
	keepAlive = 15 * time.Second
)

// live streams the records of an active run as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) until the run ends. The names of
// the events are "trial", "seconds", "happened", "processes" and, at the end, "end".
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	dir, _, ok := s.find(w, r)
	if !ok {
		return
	}
	if s.viewers.Add(1) > maxViewers {
		s.viewers.Add(-1)
		s.refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages already follow active runs. Close one of them.", maxViewers))
		return
	}
	defer s.viewers.Add(-1)
	tail, err := record.NewTail(dir)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "The run cannot be followed: "+err.Error()+".")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	st := &stream{response: w, control: http.NewResponseController(w)}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		active := record.Active(dir, s.options.Now()) // before reading, so that the last records are not missed
		for {
			u, err := tail.Next()
			if err != nil {
				st.send("end", endEvent{Text: text.Line("The run can no longer be followed: "+err.Error()+".", text.MaxOutput)})
				return
			}
			st.update(u)
			if u.Empty() {
				break
			}
		}
		if !active {
			st.send("end", endEvent{Text: "The run has ended.", Ended: true})
			return
		}
		if st.sendComment(); st.err != nil {
			return // the browser has closed the connection
		}
		select {
		case <-ticker.C:
		case <-s.closed:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// endEvent is the last event of a stream.
type endEvent struct {
	Text  string `json:"text"`
	Ended bool   `json:"ended"` // the run has ended, and its report can be shown
}

// stream writes server-sent events.
type stream struct {
	response  http.ResponseWriter
	control   *http.ResponseController
	err       error
	lastWrite time.Time // time of the latest write
	trial     string
	errors    uint64 // number of errors in the trial so far
	uses      record.ProcessUses
}

// send writes an event. If the browser does not read for writeLimit, the write fails and the stream
// ends.
func (st *stream) send(event string, data any) {
	b, err := json.Marshal(data)
	if err == nil {
		err = st.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, b))
	}
	if st.err == nil {
		st.err = err
	}
}

const writeLimit = 10 * time.Second

func (st *stream) write(text string) error {
	st.lastWrite = time.Now()
	if err := st.control.SetWriteDeadline(st.lastWrite.Add(writeLimit)); err != nil {
		return err
	}
	if _, err := st.response.Write([]byte(text)); err != nil {
		return err
	}
	return st.control.Flush()
}

// sendComment sends a comment if the stream has sent nothing for keepAlive.
func (st *stream) sendComment() {
	if st.err == nil && time.Since(st.lastWrite) > keepAlive {
		st.err = st.write(": idle\n\n")
	}
}

// update sends the new records of a trial.
func (st *stream) update(u *record.Update) {
	if u.Trial == nil {
		return
	}
	if name := u.Trial.Folder; name != st.trial {
		st.trial, st.errors = name, 0
		st.uses = record.ProcessUses{}
		st.send("trial", newTrialHead(u))
	}
	if len(u.Rows) > 0 {
		omitted := max(len(u.Rows)-maxSeconds, 0)
		seconds := make([]second, 0, len(u.Rows)-omitted)
		for i := range u.Rows {
			if st.errors += u.Rows[i].Errors; i >= omitted {
				seconds = append(seconds, newSecond(u.Trial, &u.Rows[i], st.errors))
			}
		}
		st.send("seconds", seconds)
	}
	if len(u.Events) > 0 {
		var happened []liveEvent
		for _, e := range u.Events[max(len(u.Events)-maxEvents, 0):] {
			happened = append(happened, liveEvent{e.Time.UTC().Format("15:04:05"), e.Text})
		}
		st.send("happened", happened)
	}
	if used := st.processUse(u.Machines); len(used) > 0 {
		st.send("processes", used)
	}
}

// trialHead describes the trial that the stream follows.
type trialHead struct {
	Name    string `json:"name"`
	Store   string `json:"store"`
	Number  int    `json:"number"` // position of the trial in the run, from 1
	Planned int    `json:"planned"`
	Open    bool   `json:"open"` // set if the load is an open loop
}

func newTrialHead(u *record.Update) trialHead {
	number := 1 + slices.IndexFunc(u.Run.Trials, func(t record.Trial) bool { return t.Folder == u.Trial.Folder })
	return trialHead{analyze.Label(u.Trial), analyze.Store(u.Trial), number, u.Run.Planned, u.Trial.Arrival != scenario.Closed}
}

// second contains a row of timeline.csv as numbers for the charts and as formatted figures.
type second struct {
	Second   int      `json:"second"`
	Phase    string   `json:"phase"`
	Ops      float64  `json:"ops"`
	OpsText  string   `json:"ops_text"`
	DueText  string   `json:"due_text"`
	P50Text  string   `json:"p50_text"`
	P99      *float64 `json:"p99"` // nanoseconds; null if unknown or failed
	P99Text  string   `json:"p99_text"`
	P999Text string   `json:"p99_9_text"`
	// ErrorsSoFar is the number of errors since the start of the trial, up to this second.
	ErrorsSoFar uint64 `json:"errors_so_far"`
	InFlight    int    `json:"in_flight"`
}

func newSecond(t *record.Trial, r *record.Row, errorsSoFar uint64) second {
	s := second{
		Second: r.Second, Phase: r.Phase, Ops: float64(r.Done), OpsText: text.PerSecond(float64(r.Done)), ErrorsSoFar: errorsSoFar, InFlight: r.InFlight,
		P50Text: r.P50.Text(), P99Text: r.P99.Text(), P999Text: r.P999.Text(), P99: known(r.P99),
	}
	if t.Arrival != scenario.Closed {
		s.DueText = text.PerSecond(float64(r.Due))
	}
	return s
}

func known(f measure.Figure) *float64 {
	if !f.Known || f.Failed || math.IsNaN(f.NS) {
		return nil
	}
	return &f.NS
}

// liveEvent is an event of a run.
type liveEvent struct {
	Time string `json:"time"` // time of day in UTC
	Text string `json:"text"`
}

// process contains the resources that a process used between two samples.
type process struct {
	Name   string `json:"name"`
	CPU    string `json:"cpu"`
	Writes string `json:"writes"`
	RSS    string `json:"rss"`
}

// processUse returns the resources that each process used between its two latest samples.
func (st *stream) processUse(rows []record.MachineRow) (all []process) {
	for i := range rows {
		use, ok := st.uses.Add(&rows[i])
		if !ok || len(all) == maxProcesses {
			continue
		}
		p := process{Name: rows[i].Name, CPU: text.Percent(use.CPU, 0), Writes: text.Dash, RSS: text.Dash}
		if use.Writes >= 0 { // false for NaN, which represents an unknown value
			p.Writes = text.Bytes(uint64(use.Writes)) + "/s"
		}
		if use.RSS > 0 {
			p.RSS = text.Bytes(uint64(use.RSS))
		}
		if index := slices.IndexFunc(all, func(o process) bool { return o.Name == p.Name }); index >= 0 {
			all[index] = p
			continue
		}
		all = append(all, p)
	}
	return all
}
