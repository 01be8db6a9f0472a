package null

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule reads =NAME every N, where NAME becomes the rule's.
func (p *parser) rule(kind Kind, what string, names []string) error {
	i, err := p.oneOf(what, names)
	if err != nil {
		return err
	}
	return p.every(Rule{Kind: kind, Name: names[i]})
}

// choice reads =NAME every N, where NAME says which kind the rule is.
func (p *parser) choice(what string, names []string, kinds ...Kind) error {
	i, err := p.oneOf(what, names)
	if err != nil {
		return err
	}
	return p.every(Rule{Kind: kinds[i]})
}

func (p *parser) every(r Rule) (err error) {
	if r.Every, err = p.count(); err == nil {
		p.script.Rules = append(p.script.Rules, r)
	}
	return err
}

// count reads every N.
func (p *parser) count() (uint64, error) {
	p.space()
	begin := p.at
	if word := p.word(""); word != "every" {
		return 0, p.fail(begin, "here must stand how often, as in every 1000")
	}
	p.space()
	begin = p.at
	word := p.word("")
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n == 0 {
		return 0, p.fail(begin, "every %q makes no sense; write a whole number from 1, as in every 1000", word)
	}
	return n, nil
}

// oneOf reads =NAME and returns the name's place in names.
func (p *parser) oneOf(what string, names []string) (int, error) {
	if err := p.symbol('=', what+"="+strings.Join(names, ", "+what+"=")); err != nil {
		return 0, err
	}
	begin := p.at
	word := p.word("")
	i := slices.Index(names, word)
	if i < 0 {
		return 0, p.fail(begin, "there is no %s %q; known are %s", what, word, strings.Join(names, ", "))
	}
	return i, nil
}

// duration reads a duration up to a space or one of stop.
func (p *parser) duration(stop string) (time.Duration, error) {
	begin := p.at
	word := p.word(stop)
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return 0, p.fail(begin, "%q is no duration; write it as 250us, 1ms or 1.5s", word)
	case d < 0 || d > longest:
		return 0, p.fail(begin, "%s is out of range; durations go from 0 to %s", word, longest)
	}
	return d, nil
}

// longest keeps sums of durations far from overflow.
const longest = 1000 * time.Hour

// word reads up to a space or one of stop.
func (p *parser) word(stop string) string {
	begin := p.at
	for p.at < p.end && !isSpace(p.text[p.at]) && strings.IndexByte(stop, p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[begin:p.at]
}

func (p *parser) prefix(s string) bool {
	found := strings.HasPrefix(p.text[p.at:p.end], s)
	if found {
		p.at += len(s)
	}
	return found
}

func (p *parser) symbol(c byte, form string) error {
	if p.at == p.end || p.text[p.at] != c {
		return p.fail(p.at, "here %q is missing; write %s", string(c), form)
	}
	p.at++
	return nil
}

func (p *parser) space() {
	for p.at < p.end && isSpace(p.text[p.at]) {
		p.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func (p *parser) fail(at int, format string, args ...any) error {
	line := 1 + strings.Count(p.text[:at], "\n")
	column := at - strings.LastIndexByte(p.text[:at], '\n')
	return fmt.Errorf("script, line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}
