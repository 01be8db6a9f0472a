package peer

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

type wrk struct{}

// NewWrk returns wrk, which is written in C.
func NewWrk() Peer { return wrk{} }

func (wrk) Name() string     { return Wrk }
func (wrk) Does(c Case) bool { return doesLocalReads(c) }

func (wrk) Available() error {
	if _, err := find("wrk"); err != nil {
		return fmt.Errorf("%w; Debian and Ubuntu have it in the package wrk", err)
	}
	return nil
}

func (wrk) Run(ctx context.Context, w Work) (Figures, error) {
	f := runProcess(ctx, "wrk", w.wrkArguments()...)
	if f.err != nil {
		return Figures{}, f.err
	}
	figures, err := parseWrk(string(f.stdout), w.ValueSize)
	if err == nil {
		figures.CPUPerOp = float64(f.cpu) / float64(figures.Operations)
	}
	return figures, err
}

// wrkArguments give wrk one thread, which costs it the least.
func (w Work) wrkArguments() []string {
	return []string{
		"-t", "1", "-c", strconv.Itoa(w.Connections), "--timeout", "10s",
		"-d", strconv.Itoa(max(int((w.Warmup + w.Window).Seconds()), 1)), w.url(),
	}
}

// WrkVersion is how wrk calls itself, or the empty string.
func WrkVersion() string {
	text, _ := exec.Command("wrk", "--version").Output() // whose status is 1
	version, _, _ := strings.Cut(string(text), " [")
	return strings.TrimSpace(version)
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in [^,]+, ([0-9.]+)([KMGT]?)B read`)
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkRefused  = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkErrors   = regexp.MustCompile(`Socket errors: (.*)`)
)

// parseWrk reads wrk's summary. valueSize is what each answer must at least
// have carried.
func parseWrk(text string, valueSize int) (Figures, error) {
	requests, rate := wrkRequests.FindStringSubmatch(text), wrkRate.FindStringSubmatch(text)
	if requests == nil || rate == nil {
		return Figures{}, fmt.Errorf("wrk printed no summary that is known here: %q", lastLine(text))
	}
	done, err := strconv.ParseUint(requests[1], 10, 64)
	if err != nil || done == 0 {
		return Figures{}, errNothingDone
	}
	if m := wrkErrors.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("requests of wrk failed: %s", m[1])
	}
	if m := wrkRefused.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("%s of wrk's requests were answered with an error's status", m[1])
	}
	read, err := strconv.ParseFloat(requests[2], 64)
	if err != nil {
		return Figures{}, fmt.Errorf("wrk's bytes %q are not a number", requests[2])
	}
	if each := read * binaryUnit(requests[3]) / float64(done); each < float64(valueSize) {
		return Figures{}, fmt.Errorf("the answers to wrk had %.0f bytes each, less than the value's %d", each, valueSize)
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	if err != nil {
		return Figures{}, fmt.Errorf("wrk's rate %q is not a number", rate[1])
	}
	return Figures{Operations: done, PerSecond: perSecond}, nil
}

// binaryUnit is what a unit's letter stands for, in powers of 1024.
func binaryUnit(letter string) float64 {
	unit := 1.0
	for i := strings.Index("KMGT", letter); letter != "" && i >= 0; i-- {
		unit *= 1024
	}
	return unit
}
