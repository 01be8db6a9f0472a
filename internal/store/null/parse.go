package null

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a script: statements separated by semicolons or line ends, where
// # begins a comment that runs to the end of its line. errors are the names
// that error=NAME may have, which depend on the protocol. The statements:
//
//	delay=1ms                  answer after a delay
//	delay=uniform(1ms,5ms)     ... of random length; also exponential(MEAN)
//	delay=50ms every 100       ... every 100th operation only
//	seed=7                     of what is random
//	stall=1s@4s                for 1 s, from 4 s after the first operation, answer nothing
//	error=unavailable every 50 every 50th operation gets this error
//	reset=refused every 50     ... is cancelled: refused, cancel or internal
//	never every 50             ... is never answered
//	wrong=value every 50       ... if a read, gets a wrong value; or wrong=key
//	half every 50              ... gets half an answer, and the connection is closed
//	huge=frame every 50        ... gets a frame of impossible length; or huge=message
//	close every 50             ... closes its connection instead of being answered
//	close@3s                   3 s after the first operation all connections are closed
//	watch=lose every 50        every 50th watch event is not sent
//	watch=duplicate every 50   ... is sent twice
//	watch=reorder every 50     ... is sent behind its watcher's next one
//	watch=5ms every 50         ... is sent 5 ms late
//	goaway every 1000          a connection takes 1,000 requests, then says so and ends
//	chunk=7                    write 7 bytes at a time
//	chunk=7/1ms                ... with a pause of 1 ms between
//	lag=300ms                  local reads of all members but the first are so far behind
//	refuse=local               local reads are refused, as a feature that is not there
//	mode=garbage               speak no protocol: garbage, http1 or silent
//
// An error is one sentence that says where, and what is known there.
func Parse(text string, errors []string) (*Script, error) {
	s := &Script{}
	for at := 0; at <= len(text); {
		end := len(text)
		if i := strings.IndexAny(text[at:], ";\n#"); i >= 0 {
			end = at + i
		}
		p := parser{script: s, errors: errors, text: text, at: at, end: end}
		if err := p.statement(); err != nil {
			return nil, err
		}
		if end < len(text) && text[end] == '#' {
			if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
				end += i
			} else {
				end = len(text)
			}
		}
		at = end + 1
	}
	slices.SortStableFunc(s.Stalls, func(a, b Stall) int { return cmp.Compare(a.Start, b.Start) })
	slices.Sort(s.Closes)
	return s, nil
}

// parser reads one statement, text[at:end].
type parser struct {
	script  *Script
	errors  []string
	text    string
	at, end int
}

// statements is what is known, in the order in which errors list it.
var statements = [...]string{
	"delay", "seed", "stall", "error", "reset", "never", "wrong", "half", "huge",
	"close", "watch", "goaway", "chunk", "lag", "refuse", "mode",
}

func (p *parser) statement() error {
	p.space()
	if p.at == p.end {
		return nil
	}
	begin := p.at
	name := p.word("=@")
	err := p.named(name, begin)
	if err != nil {
		return err
	}
	if p.space(); p.at < p.end {
		return p.fail(p.at, "%q is too much after %q", strings.TrimSpace(p.text[p.at:p.end]),
			strings.TrimSpace(p.text[begin:p.at]))
	}
	return nil
}

func (p *parser) named(name string, begin int) (err error) {
	s := p.script
	switch name {
	case "delay":
		return p.delay()
	case "seed":
		s.Seed, err = p.seed()
	case "stall":
		return p.stall()
	case "error":
		return p.rule(Error, "error", p.errors)
	case "reset":
		return p.rule(Reset, "reset", []string{"refused", "cancel", "internal"})
	case "never":
		return p.every(Rule{Kind: Never})
	case "half":
		return p.every(Rule{Kind: Half})
	case "wrong":
		return p.choice("wrong", []string{"value", "key"}, WrongValue, WrongKey)
	case "huge":
		return p.choice("huge", []string{"frame", "message"}, HugeFrame, HugeMessage)
	case "close":
		return p.close()
	case "watch":
		return p.event()
	case "goaway":
		s.GoAway, err = p.count()
	case "chunk":
		return p.chunk()
	case "lag":
		if err = p.symbol('=', "lag=300ms"); err == nil {
			s.Lag, err = p.duration("")
		}
	case "refuse":
		_, err = p.oneOf("refuse", []string{"local"})
		s.NoLocal = true
	case "mode":
		i, err := p.oneOf("mode", []string{"garbage", "http1", "silent"})
		s.Mode = Garbage + Mode(i)
		return err
	default:
		return p.fail(begin, "there is no %q; known are %s", name, strings.Join(statements[:], ", "))
	}
	return err
}

func (p *parser) delay() (err error) {
	d := Delay{Every: 1}
	if err = p.symbol('=', "delay=1ms, delay=uniform(1ms,5ms) or delay=exponential(2ms)"); err != nil {
		return err
	}
	switch begin := p.at; {
	case p.prefix("uniform("):
		d.Distribution = Uniform
		if d.Low, err = p.duration(","); err != nil {
			return err
		}
		if err = p.symbol(',', "delay=uniform(1ms,5ms)"); err != nil {
			return err
		}
		p.space()
		if d.High, err = p.duration(")"); err != nil {
			return err
		}
		if d.High < d.Low {
			return p.fail(begin, "uniform(%s,%s) has its bounds the wrong way round; the shorter comes first", d.Low, d.High)
		}
		err = p.symbol(')', "delay=uniform(1ms,5ms)")
	case p.prefix("exponential("):
		d.Distribution = Exponential
		if d.Low, err = p.duration(")"); err == nil {
			err = p.symbol(')', "delay=exponential(2ms)")
		}
	default:
		d.Low, err = p.duration("")
	}
	if err != nil {
		return err
	}
	if p.space(); p.at < p.end {
		if d.Every, err = p.count(); err != nil {
			return err
		}
	}
	p.script.Delays = append(p.script.Delays, d)
	return nil
}

func (p *parser) stall() error {
	const form = "stall=1s@4s"
	if err := p.symbol('=', form); err != nil {
		return err
	}
	begin := p.at
	length, err := p.duration("@")
	if err != nil {
		return err
	}
	if length == 0 {
		return p.fail(begin, "a stall must take longer than nothing")
	}
	if err := p.symbol('@', form); err != nil {
		return err
	}
	start, err := p.duration("")
	p.script.Stalls = append(p.script.Stalls, Stall{Start: start, Length: length})
	return err
}

func (p *parser) close() error {
	if p.at < p.end && p.text[p.at] == '@' {
		p.at++
		at, err := p.duration("")
		p.script.Closes = append(p.script.Closes, at)
		return err
	}
	return p.every(Rule{Kind: Close})
}

func (p *parser) chunk() error {
	if err := p.symbol('=', "chunk=7 or chunk=7/1ms"); err != nil {
		return err
	}
	begin := p.at
	word := p.word("/")
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return p.fail(begin, "%q is no number of bytes; write a whole number from 1", word)
	}
	p.script.Chunk = n
	if p.at < p.end && p.text[p.at] == '/' {
		p.at++
		p.script.Pause, err = p.duration("")
	}
	return err
}

func (p *parser) seed() (uint64, error) {
	if err := p.symbol('=', "seed=7"); err != nil {
		return 0, err
	}
	begin := p.at
	word := p.word("")
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return 0, p.fail(begin, "%q is no seed; write a whole number from 0", word)
	}
	return n, nil
}
