package null

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse parses a script. Statements are separated by semicolons or line ends. A # starts a
// comment, which extends to the end of the line. The parameter `errors` contains the valid names
// for error=NAME, which depend on the protocol. In the list of statements, "..." stands for
// "every 50th operation":
//
//	delay=1ms                  every response is delayed by 1 ms
//	delay=uniform(1ms,5ms)     every response is delayed by a random time; also exponential(MEAN)
//	delay=50ms every 100       only every 100th response is delayed
//	delay=20ms on m2           only responses from the second member are delayed
//	seed=7                     seed for all random numbers
//	stall=1s@4s                from 4 s after the first operation, send no responses for 1 s
//	error=unavailable every 50 ... gets this error
//	reset=refused every 50     ... is canceled: refused, cancel or internal
//	never every 50             ... gets no response
//	lie=lost every 50          ... if it is a write, is acknowledged but not executed
//	wrong=value every 50       ... if it is a read, gets a wrong value; or wrong=key
//	half every 50              ... gets half a response, and the connection is closed
//	huge=frame every 50        ... gets a frame with an impossible length; or huge=message
//	close every 50             ... gets no response, and the connection is closed
//	close@3s                   3 s after the first operation all connections are closed
//	watch=lose every 50        every 50th watch event is not sent
//	watch=duplicate every 50   every 50th watch event is sent two times
//	watch=reorder every 50     every 50th watch event is sent after its watcher's next event
//	watch=invent every 50      after every 50th watch event, an event is sent that no write caused
//	watch=5ms every 50         every 50th watch event is sent 5 ms late
//	goaway every 1000          a connection accepts 1,000 requests and then announces its end
//	chunk=7                    write 7 bytes at a time
//	chunk=7/1ms                write 7 bytes at a time, with a pause of 1 ms between two writes
//	lag=300ms                  local reads at all members except the first are 300 ms behind
//	refuse=local               local reads fail, as if the server did not support them
//	mode=garbage               do not speak the protocol: garbage, http1 or silent
//
// An error is one sentence with the position of the mistake and the words that are valid at that
// position.
func Parse(text string, errors []string) (*Script, error) {
	p := parser{script: &Script{}, errors: errors, text: text}
	for p.at <= len(text) && p.err == nil {
		p.end = len(text)
		if i := strings.IndexAny(text[p.at:], ";\n#"); i >= 0 {
			p.end = p.at + i
		}
		p.statement()
		next := p.end
		if next < len(text) && text[next] == '#' {
			if i := strings.IndexByte(text[next:], '\n'); i >= 0 {
				next += i
			} else {
				next = len(text)
			}
		}
		p.at = next + 1
	}
	if p.err != nil {
		return nil, p.err
	}
	slices.SortStableFunc(p.script.Stalls, func(a, b Stall) int { return cmp.Compare(a.Start, b.Start) })
	slices.Sort(p.script.Closes)
	return p.script, nil
}

// parser parses one statement after another; the current statement is text[at:end]. It keeps the
// first error. After an error, the results of its methods are meaningless.
type parser struct {
	script  *Script
	errors  []string
	text    string
	at, end int
	err     error
}

// statements lists the names of all statements, for error messages.
const statements = "delay, seed, stall, error, reset, never, wrong, lie, half, huge, close, watch, goaway, chunk, lag, refuse, mode"

func (p *parser) statement() {
	p.skipSpaces()
	if p.at == p.end {
		return
	}
	begin := p.at
	p.parseNamed(p.word("=@"), begin)
	if p.skipSpaces(); p.at < p.end {
		p.fail(p.at, "unexpected %q after %q", strings.TrimSpace(p.text[p.at:p.end]), strings.TrimSpace(p.text[begin:p.at]))
	}
}

func (p *parser) parseNamed(name string, begin int) {
	s := p.script
	switch name {
	case "delay":
		p.delay()
	case "seed":
		s.Seed = p.number("", "seed=7", 0, 64, "not a seed; write a whole number of at least 0")
	case "stall":
		p.stall()
	case "error":
		p.rule(Rule{Kind: Error, Name: p.oneOf("error", p.errors...)})
	case "reset":
		p.rule(Rule{Kind: Reset, Name: p.oneOf("reset", "refused", "cancel", "internal")})
	case "never":
		p.rule(Rule{Kind: Never})
	case "half":
		p.rule(Rule{Kind: Half})
	case "wrong":
		p.rule(Rule{Kind: map[string]Kind{"value": WrongValue, "key": WrongKey}[p.oneOf("wrong", "value", "key")]})
	case "lie":
		p.rule(Rule{Kind: map[string]Kind{"lost": LieLost, "twice": LieTwice, "absent": LieAbsent, "behind": LieLowRevision, "cas": LieCAS, "lease": LieLease, "outlive": LieOutlive}[p.oneOf("lie", "lost", "twice", "absent", "behind", "cas", "lease", "outlive")]})
	case "huge":
		p.rule(Rule{Kind: map[string]Kind{"frame": HugeFrame, "message": HugeMessage}[p.oneOf("huge", "frame", "message")]})
	case "close":
		if p.acceptSymbol('@') {
			s.Closes = append(s.Closes, p.duration(""))
		} else {
			p.rule(Rule{Kind: Close})
		}
	case "watch":
		p.event()
	case "goaway":
		s.GoAway = p.parseEvery()
	case "chunk":
		s.Chunk = int(p.number("/", "chunk=7 or chunk=7/1ms", 1, 31, "not a number of bytes; write a whole number of at least 1"))
		if p.acceptSymbol('/') {
			s.Pause = p.duration("")
		}
	case "lag":
		p.expectSymbol('=', "lag=300ms")
		s.Lag = p.duration("")
	case "refuse":
		p.oneOf("refuse", "local")
		s.NoLocal = true
	case "mode":
		s.Mode = map[string]Mode{"garbage": Garbage, "http1": HTTP1, "silent": Silent}[p.oneOf("mode", "garbage", "http1", "silent")]
	default:
		p.fail(begin, "unknown statement %q; use one of %s", name, statements)
	}
}

func (p *parser) delay() {
	const uniform, exponential = "delay=uniform(1ms,5ms)", "delay=exponential(2ms)"
	d := Delay{Every: 1}
	p.expectSymbol('=', "delay=1ms, "+uniform+" or "+exponential)
	switch begin, rest := p.at, p.text[p.at:p.end]; {
	case strings.HasPrefix(rest, "uniform("):
		p.at += len("uniform(")
		d.Distribution, d.Low = Uniform, p.duration(",")
		p.expectSymbol(',', uniform)
		p.skipSpaces()
		if d.High = p.duration(")"); d.High < d.Low {
			p.fail(begin, "the bounds in uniform(%s,%s) are swapped; write the lower bound first", d.Low, d.High)
		}
		p.expectSymbol(')', uniform)
	case strings.HasPrefix(rest, "exponential("):
		p.at += len("exponential(")
		d.Distribution, d.Low = Exponential, p.duration(")")
		p.expectSymbol(')', exponential)
	default:
		d.Low = p.duration("")
	}
	if p.skipSpaces(); p.at < p.end && !strings.HasPrefix(p.text[p.at:p.end], "on ") {
		d.Every = p.parseEvery()
	}
	if p.skipSpaces(); strings.HasPrefix(p.text[p.at:p.end], "on ") {
		d.Member = p.member()
	}
	p.script.Delays = append(p.script.Delays, d)
}

func (p *parser) stall() {
	const form = "stall=1s@4s"
	p.expectSymbol('=', form)
	begin := p.at
	s := Stall{Length: p.duration("@")}
	if s.Length == 0 {
		p.fail(begin, "a stall must be longer than 0")
	}
	p.expectSymbol('@', form)
	s.Start = p.duration("")
	p.script.Stalls = append(p.script.Stalls, s)
}

// event parses the rest of a watch statement: =lose, =duplicate, =reorder, =invent or =DURATION,
// and then every N.
func (p *parser) event() {
	p.expectSymbol('=', "watch=lose, watch=duplicate, watch=reorder, watch=invent or watch=5ms")
	begin, r := p.at, EventRule{}
	word := p.word("")
	switch word {
	case "lose":
		r.Fault = Lose
	case "duplicate":
		r.Fault = Duplicate
	case "reorder":
		r.Fault = Reorder
	case "invent":
		r.Fault = Invent
	default:
		var err error
		r.Fault = Postpone
		if r.Delay, err = duration(word); err != nil {
			p.fail(begin, "%q is not a fault of a watch event; the faults are: lose, duplicate, reorder, invent, or a duration such as 5ms", word)
		}
	}
	r.Every = p.parseEvery()
	p.script.Events = append(p.script.Events, r)
}

// rule parses "every N" and adds r with this N to the script.
func (p *parser) rule(r Rule) {
	r.Every = p.parseEvery()
	p.script.Rules = append(p.script.Rules, r)
}

// parseEvery parses "every N" and returns N.
func (p *parser) parseEvery() uint64 {
	p.skipSpaces()
	if begin := p.at; p.word("") != "every" {
		p.fail(begin, "the frequency is missing; write for example \"every 1000\"")
	}
	p.skipSpaces()
	begin := p.at
	word := p.word("")
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n == 0 {
		p.fail(begin, "invalid number %q after \"every\"; write a whole number of at least 1, as in \"every 1000\"", word)
	}
	return n
}

// member parses "on mN" and returns N.
func (p *parser) member() int {
	p.word("")
	p.skipSpaces()
	begin := p.at
	word := p.word("")
	number, named := strings.CutPrefix(word, "m")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || n == 0 || !named {
		p.fail(begin, "invalid member %q after \"on\"; write a member as in \"on m2\"", word)
	}
	return int(n)
}

// number parses the character = and the whole number after it. The number must be at least
// `minimum` and must fit into the given number of bits. It ends at a space or at a character in
// `stop`. The parameter `hint` is the end of the error for an invalid number.
func (p *parser) number(stop, form string, minimum uint64, bits int, hint string) uint64 {
	p.expectSymbol('=', form)
	begin := p.at
	word := p.word(stop)
	n, err := strconv.ParseUint(word, 10, bits)
	if err != nil || n < minimum {
		p.fail(begin, "%q is %s", word, hint)
	}
	return n
}

// oneOf parses =NAME, where NAME must be one of names.
func (p *parser) oneOf(description string, names ...string) string {
	p.expectSymbol('=', description+"="+strings.Join(names, ", "+description+"="))
	begin := p.at
	word := p.word("")
	if !slices.Contains(names, word) {
		p.fail(begin, "unknown value of %s: %q; use one of %s", description, word, strings.Join(names, ", "))
	}
	return word
}

// duration parses a duration, which ends at a space or at a character in `stop`.
func (p *parser) duration(stop string) time.Duration {
	begin := p.at
	d, err := duration(p.word(stop))
	if err != nil {
		p.fail(begin, "%w", err)
	}
	return d
}

// maxDuration is the maximum duration. The limit prevents overflow when durations are added.
const maxDuration = 1000 * time.Hour

func duration(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration; write for example 250us, 1ms or 1.5s", word)
	case d < 0 || d > maxDuration:
		return 0, fmt.Errorf("%s is out of range; a duration must be between 0 and %s", word, maxDuration)
	}
	return d, nil
}

// word returns the text up to the next space or the next character in `stop`.
func (p *parser) word(stop string) string {
	begin := p.at
	for p.at < p.end && strings.IndexByte(spaces+stop, p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[begin:p.at]
}

// expectSymbol parses the character c. If c is missing, the error shows the form of the whole
// statement.
func (p *parser) expectSymbol(c byte, form string) {
	if !p.acceptSymbol(c) {
		p.fail(p.at, "%q is missing here; write %s", string(c), form)
	}
}

// acceptSymbol reports whether the next character is c. If so, it skips the character.
func (p *parser) acceptSymbol(c byte) bool {
	if p.at == p.end || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

const spaces = " \t\r"

func (p *parser) skipSpaces() {
	for p.at < p.end && strings.IndexByte(spaces, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		line := 1 + strings.Count(p.text[:at], "\n")
		column := at - strings.LastIndexByte(p.text[:at], '\n')
		p.err = fmt.Errorf("script, line %d, column %d: %w", line, column, fmt.Errorf(format, args...))
	}
}
